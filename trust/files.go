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
	"github.com/ryeos/rye/trust/doc"
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
	d, fs := doc.Parse(name, b)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return "", err
	}
	if g, ok := d.(*doc.Grant); ok && g.Signer == g.Fingerprint {
		return "", diag.New(diag.ConfigError, "adding a trust document: %q would make key %s your own", name, g.Fingerprint.Short()).
			WithHint("rye key new makes keys of your own; rye trust add trusts those of others")
	}
	if err := checkReplaced(dir, name, d); err != nil {
		return "", err
	}
	return write(dir, name, b)
}

// AddToProject writes one document into a project's trust folder, for everybody
// who works on it, and returns its path. A grant is the user's own affair and
// has no place there.
func AddToProject(dir, name string, b []byte) (string, error) {
	d, fs := doc.Parse(name, b)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return "", err
	}
	if _, ok := d.(*doc.Grant); ok {
		return "", diag.New(diag.ConfigError, "adding a trust document: %q is a grant, which counts in your own folder only", name).
			WithHint("rye trust endorse vouches for a key in a project")
	}
	for _, at := range []string{filepath.Dir(dir), dir} { // a link would lead the document to where it counts for more
		if fi, err := os.Lstat(at); err == nil && !fi.IsDir() {
			return "", diag.New(diag.PathEscape, "adding a trust document: %q is no folder but a link or file", at).
				WithHint("replace it by a folder")
		}
	}
	if err := checkReplaced(dir, name, d); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", diag.New(diag.FileSystemError, "adding a trust document: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(name))
	return path, atomicfile.Write(path, b, 0o644)
}

// checkReplaced refuses to replace a revocation by a weaker one, or a rotation by
// another one.
func checkReplaced(dir, name string, d doc.Document) error {
	old, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
	if err != nil || dir == "" || item.DigestOf(old) == d.Head().Digest {
		return nil
	}
	was, _ := doc.Parse(name, old)
	if was == nil {
		return nil
	}
	switch d := d.(type) {
	case *doc.Rotation:
		return diag.New(diag.ConfigError, "adding a trust document: key %s has named another successor already, in %q", d.Fingerprint.Short(), name).
			WithHint("two successors cancel each other out; rotate the successor instead")
	case *doc.Revocation:
		if was, ok := was.(*doc.Revocation); ok && weaker(d, was) {
			return diag.New(diag.ConfigError, "adding a trust document: key %s is revoked already, as %s from %s on", d.Fingerprint.Short(), was.Reason, stamp(was.CutOff)).
				WithHint("a revocation can be made stricter, not weaker")
		}
	}
	return nil
}

// weaker reports whether d leaves a signature valid that was makes void.
func weaker(d, was *doc.Revocation) bool {
	if was.Reason == doc.ReasonCompromised {
		return d.Reason != doc.ReasonCompromised
	}
	return d.Reason != doc.ReasonCompromised && d.CutOff.After(was.CutOff)
}

// AddOwnKey writes the document of a key that was just made and the grant it
// signed for itself, document first: without its grant it counts for nothing.
func AddOwnKey(dir string, document, grant File) error {
	keyDoc, fs := doc.Parse(document.Name, document.Data)
	grantDoc, more := doc.Parse(grant.Name, grant.Data)
	if err := diag.FromFindings("adding a key of your own", append(fs, more...)); err != nil {
		return err
	}
	d, isKey := keyDoc.(*doc.Key)
	g, isGrant := grantDoc.(*doc.Grant)
	if !isKey || !isGrant || g.Fingerprint != d.Fingerprint || g.Document != d.Digest {
		return diag.New(diag.ConfigError, "adding a key of your own: %q is not a grant over %q", grant.Name, document.Name)
	}
	if err := g.SignedBy(d.Public); err != nil {
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
	for _, kind := range []string{doc.KindGrant, doc.KindKey} {
		path := filepath.Join(dir, doc.FileName(kind, key))
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
