package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Lineage returns the documents in a trust directory by which a key has replaced
// earlier ones: rotations, revocations of the earlier keys, and the key documents of
// all but the first.
func Lineage(dir string, key sign.Fingerprint) ([]File, error) {
	rotations, err := rotationsIn(dir)
	if err != nil {
		return nil, err
	}
	var out []File
	for range MaxHops {
		old, ok := rotations[key]
		if !ok {
			break
		}
		for _, name := range []string{
			doc.FileName(doc.KindKey, key), doc.FileName(doc.KindRotation, old), doc.FileName(doc.KindRevocation, old),
		} {
			b, err := openat.ReadRegular(filepath.Join(dir, name), doc.MaxDocument)
			switch {
			case err == nil:
				out = append(out, File{name, b})
			case !errors.Is(err, fs.ErrNotExist):
				return nil, diag.New(diag.FileSystemError, "reading %s: %w", filepath.Join(dir, name), err)
			}
		}
		key = old
	}
	return out, nil
}

// rotationsIn returns the key that each successor replaced, by the rotations in a
// directory.
func rotationsIn(dir string) (map[sign.Fingerprint]sign.Fingerprint, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the trust directory: %w", err)
	}
	out := map[sign.Fingerprint]sign.Fingerprint{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), doc.KindRotation+"-") {
			continue
		}
		b, err := openat.ReadRegular(filepath.Join(dir, e.Name()), doc.MaxDocument)
		if err != nil {
			return nil, diag.New(
				diag.FileSystemError,
				"reading %s: %w",
				filepath.Join(dir, e.Name()),
				err,
			)
		}
		d := doc.As[*doc.Rotation](doc.Parse(e.Name(), b))
		if d != nil {
			out[sign.FingerprintOf(d.Successor)] = d.Fingerprint
		}
	}
	return out, nil
}
