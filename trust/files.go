package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/sign"
)

// File is a document ready to write.
type File struct {
	Name string
	Data []byte
}

// AddDocument writes one document into the user's trust folder and returns its
// path. It refuses what Load would not read, and a grant that a key gives
// itself: only AddOwnKey makes a key the user's own.
func AddDocument(dir, name string, b []byte) (string, error) {
	d, fs := ParseDocument(name, b)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return "", err
	}
	if d.Kind == KindGrant && d.Signer == d.Fingerprint {
		return "", diag.New(diag.ConfigError, "adding a trust document: %q would make key %s your own", name, d.Fingerprint.Short()).
			WithHint("rye key new makes keys of your own; rye trust add trusts those of others")
	}
	return write(dir, name, b)
}

// AddOwnKey writes the document of a key that was just made and the grant it
// signed for itself, document first: without its grant it counts for nothing.
func AddOwnKey(dir string, document, grant File) error {
	d, fs := ParseDocument(document.Name, document.Data)
	g, more := ParseDocument(grant.Name, grant.Data)
	if err := diag.FromFindings("adding a key of your own", append(fs, more...)); err != nil {
		return err
	}
	if d.Kind != KindKey || g.Kind != KindGrant || g.Fingerprint != d.Fingerprint || g.Granted != d.Digest {
		return diag.New(diag.ConfigError, "adding a key of your own: %q is not a grant over %q", grant.Name, document.Name)
	}
	if err := g.signedBy(d.Public); err != nil {
		return err
	}
	if _, err := write(dir, document.Name, document.Data); err != nil {
		return err
	}
	_, err := write(dir, grant.Name, grant.Data)
	return err
}

func write(dir, name string, b []byte) (string, error) {
	if dir == "" {
		return "", diag.New(diag.FileSystemError, "adding a trust document: no folder for trust documents is known").
			WithHint("set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", diag.New(diag.FileSystemError, "adding a trust document: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(name))
	return path, atomicfile.Write(path, b, 0o600)
}

// RemoveKey removes the grant and the key document of one key from the user's
// trust folder, grant first, and returns the paths of what it removed. A
// revocation stays: what was revoked remains so.
func RemoveKey(dir string, key sign.Fingerprint) ([]string, error) {
	var removed []string
	for _, kind := range []string{KindGrant, KindKey} {
		path := filepath.Join(dir, FileName(kind, key))
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return removed, diag.New(diag.FileSystemError, "removing key %s: %w", key.Short(), err)
		}
		removed = append(removed, path)
	}
	if len(removed) == 0 {
		return nil, diag.New(diag.KeyUnknown, "removing key %s: your trust folder does not hold it", key.Short()).
			WithHint("rye trust list shows what it holds")
	}
	return removed, nil
}
