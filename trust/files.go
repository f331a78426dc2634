package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/item"
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
	if err := keeps(dir, name, d); err != nil {
		return "", err
	}
	return write(dir, name, b)
}

// AddToProject writes one document into a project's trust folder, for everybody
// who works on it, and returns its path. A grant is the user's own affair and
// has no place there.
func AddToProject(dir, name string, b []byte) (string, error) {
	d, fs := ParseDocument(name, b)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return "", err
	}
	if d.Kind == KindGrant {
		return "", diag.New(diag.ConfigError, "adding a trust document: %q is a grant, which counts in your own folder only", name).
			WithHint("rye trust endorse vouches for a key in a project")
	}
	for _, at := range []string{filepath.Dir(dir), dir} { // a link would lead the document to where it counts for more
		if fi, err := os.Lstat(at); err == nil && !fi.IsDir() {
			return "", diag.New(diag.PathEscape, "adding a trust document: %q is no folder but a link or file", at).
				WithHint("replace it by a folder")
		}
	}
	if err := keeps(dir, name, d); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", diag.New(diag.FileSystemError, "adding a trust document: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(name))
	return path, atomicfile.Write(path, b, 0o644)
}

// keeps refuses to put a weaker revocation, or another rotation, in the place
// of one that holds.
func keeps(dir, name string, d *Document) error {
	old, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
	if err != nil || dir == "" || item.DigestOf(old) == d.Digest {
		return nil
	}
	was, _ := ParseDocument(name, old)
	switch {
	case was == nil:
		return nil
	case d.Kind == KindRotation:
		return diag.New(diag.ConfigError, "adding a trust document: key %s has named another successor already, in %q", d.Fingerprint.Short(), name).
			WithHint("two successors cancel each other out; rotate the successor instead")
	case d.Kind == KindRevocation && weaker(d, was):
		return diag.New(diag.ConfigError, "adding a trust document: key %s is revoked already, as %s from %s on", d.Fingerprint.Short(), was.Reason, stamp(was.CutOff)).
			WithHint("a revocation can be made stricter, not weaker")
	}
	return nil
}

// weaker reports whether some signature that was void would count again.
func weaker(d, was *Document) bool {
	if was.Reason == ReasonCompromised {
		return d.Reason != ReasonCompromised
	}
	return d.Reason != ReasonCompromised && d.CutOff.After(was.CutOff)
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
