package trust

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// File is a document ready to write.
type File struct {
	Name string
	Data []byte
}

// AddDocument writes one document into the user's trust directory and returns its
// path, if CheckDocument permits it.
func AddDocument(dir, name string, b []byte) (string, error) {
	if err := CheckDocument(dir, File{name, b}); err != nil {
		return "", err
	}
	return write(dir, name, b)
}

// CheckDocument returns an error for a document that may not be written into the
// user's trust directory: one that Load would not read, one that makes another
// weaker, and a grant that a key signed for itself (see CheckOwnKey).
func CheckDocument(dir string, f File) error {
	d, fs := doc.Parse(f.Name, f.Data)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return err
	}
	g, ok := d.(*doc.Grant)
	if ok && g.Signer == g.Fingerprint {
		return diag.New(diag.ConfigError, "adding a trust document: %q would make key %s your own", f.Name, g.Fingerprint.Short()).
			WithReason("own_grant")
	}
	return checkReplaced(dir, f.Name, d)
}

// AddToProject writes one document into a project's trust directory, for all users
// of the project, and returns its path. It refuses a grant, which applies to one
// user only.
func AddToProject(dir, name string, b []byte) (string, error) {
	d, fs := doc.Parse(name, b)
	if err := diag.FromFindings("adding a trust document", fs); err != nil {
		return "", err
	}
	if _, ok := d.(*doc.Grant); ok {
		return "", diag.New(diag.ConfigError, "adding a trust document: %q is a grant, which is only used in your own directory", name).
			WithReason("grant_in_project")
	}
	for _, at := range []string{filepath.Dir(dir), dir} { // a link could write the document into a directory where it grants more
		fi, err := os.Lstat(at)
		if err == nil && !fi.IsDir() {
			return "", diag.New(diag.PathEscape, "adding a trust document: %q is a link or a file, not a directory", at).
				WithReason("trust_directory")
		}
	}
	if err := checkReplaced(dir, name, d); err != nil {
		return "", err
	}
	base := atomicfile.Project(filepath.Dir(filepath.Dir(dir)))
	rel := path.Join(
		filepath.Base(filepath.Dir(dir)),
		filepath.Base(dir),
		filepath.Base(name),
	)
	return base.Path(rel), base.Write(rel, b, 0o644)
}

// checkReplaced refuses to replace a revocation by a weaker one, or a rotation by a
// different one.
func checkReplaced(dir, name string, d doc.Document) error {
	old, err := openat.ReadRegular(filepath.Join(dir, filepath.Base(name)), doc.MaxDocument)
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
			WithReason("second_successor")
	case *doc.Registry:
		was, ok := was.(*doc.Registry)
		if ok && was.LogKey != d.LogKey {
			return diag.New(diag.KeyUnknown, "adding a trust document: %s is pinned already, with another log key", d.Host).
				WithReason("registry_pinned").
				WithDetail("host", d.Host).
				WithDetail("expected", was.LogKey).
				WithDetail("found", d.LogKey)
		}
	case *doc.Revocation:
		was, ok := was.(*doc.Revocation)
		if ok && weaker(d, was) {
			return diag.New(
				diag.ConfigError,
				"adding a trust document: key %s is revoked already, as %s from %s on, and a revocation cannot be made weaker",
				d.Fingerprint.Short(),
				was.Reason,
				stamp(was.CutOff),
			)
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

// CheckOwnKey returns an error unless the files are the document of a key and the
// grant that the key signed for itself, which together make a key the user's own.
func CheckOwnKey(document, grant File) error {
	keyDoc, fs := doc.Parse(document.Name, document.Data)
	grantDoc, more := doc.Parse(grant.Name, grant.Data)
	err := diag.FromFindings("adding a key of your own", append(fs, more...))
	if err != nil {
		return err
	}
	d, isKey := keyDoc.(*doc.Key)
	g, isGrant := grantDoc.(*doc.Grant)
	if !isKey || !isGrant || g.Fingerprint != d.Fingerprint || g.Document != d.Digest {
		return diag.New(diag.ConfigError, "adding a key of your own: %q is not a grant over %q", grant.Name, document.Name)
	}
	return g.SignedBy(d.Public)
}

func write(dir, name string, b []byte) (string, error) {
	if dir == "" {
		return "", diag.New(diag.FileSystemError, "adding a trust document: no directory for trust documents is known").
			WithReason("no_config_directory")
	}
	base := atomicfile.Private(dir)
	rel := filepath.Base(name)
	return base.Path(rel), base.Write(rel, b, 0o600)
}

// RemoveKey removes the grant and the key document of one key from the user's
// trust directory and returns the paths of the removed files. The grant is first:
// without it the document has no effect. A revocation is kept.
func RemoveKey(dir string, key sign.Fingerprint) ([]string, error) {
	var removed []string
	for _, kind := range []string{doc.KindGrant, doc.KindKey} {
		name := doc.FileName(kind, key)
		err := atomicfile.Private(dir).Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return removed, diag.New(diag.FileSystemError, "removing key %s: %w", key.Short(), err)
		}
		removed = append(removed, filepath.Join(dir, name))
	}
	if len(removed) == 0 {
		return nil, diag.New(diag.KeyUnknown, "removing key %s: it is not in your trust directory", key.Short()).
			WithReason("not_in_trust_directory")
	}
	return removed, nil
}
