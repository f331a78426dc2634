package keychain

import (
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// LegacyDir returns the folder of the keys that the user trusted in the Python
// original, "" when there is no user space.
func LegacyDir(userDir string) string {
	if userDir == "" {
		return ""
	}
	return filepath.Join(userDir, space.Dir, "trusted_keys")
}

// LegacyKeys returns the keys that check signatures of the original: the keys in the user's
// own space, and the given files.
func (kc *Keychain) LegacyKeys(files []string) (legacy.Keys, error) {
	keys := kc.Trust.LegacyKeys()
	for _, file := range files {
		k, err := readLegacyKey(kc.Path(file))
		if err != nil {
			return nil, diag.New(diag.CodeOf(err), "reading --legacy-key %q: %w", file, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func readLegacyKey(path string) (legacy.Key, error) {
	b, err := openat.ReadRegular(path, openat.MaxText)
	if err != nil {
		return legacy.Key{}, diag.New(diag.FileSystemError, "%w", err)
	}
	if len(b) > doc.MaxDocument {
		return legacy.Key{}, diag.New(diag.TooLarge, "it has %d bytes, at most %d are read", len(b), doc.MaxDocument)
	}
	k, err := legacy.ParseKey(path, b)
	if err != nil {
		return legacy.Key{}, err
	}
	return k, sign.CheckKey(k.Public)
}
