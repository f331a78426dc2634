package release

import (
	"os"
	"path"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// KeyDocument returns the path, relative to the directory of a bundle, of the document
// about a signer. A user who does not have the key yet compares its fingerprint and
// trusts this document; without it no user can add the bundle.
func KeyDocument(key sign.Fingerprint) string {
	return path.Join(space.Dir, "trust", "key-"+key.String()+".toml")
}

// HasKeyDocument reports whether the directory of a bundle has the document of a signer.
func HasKeyDocument(dir string, key sign.Fingerprint) bool {
	_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(KeyDocument(key))))
	return err == nil
}

// BringKeyDocument copies the document of a signer from the trust store into the
// directory of a bundle. It returns the path of the new file relative to dir, and "" if
// the file exists or the store has no document of the key.
func BringKeyDocument(store *trust.Store, dir string, key sign.Fingerprint) (string, error) {
	if HasKeyDocument(dir, key) {
		return "", nil
	}
	documents := store.Documents(key)
	if len(documents) == 0 {
		return "", nil
	}
	text, err := openat.ReadRegular(documents[0].Path, doc.MaxDocument)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "reading the document of key %s: %w", key.Short(), err)
	}
	_, err = trust.AddToProject(
		filepath.Join(dir, space.Dir, "trust"),
		path.Base(KeyDocument(key)),
		text,
	)
	return KeyDocument(key), err
}
