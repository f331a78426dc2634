package bundle

import (
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Opened is a bundle whose manifest is trusted and whose files are exactly those
// that the manifest lists.
type Opened struct {
	Manifest *Manifest
	Digest   item.Digest // of the manifest, signature line included
	FS       fs.FS
}

// Open verifies an embedded bundle. It parses the manifest after check has accepted
// its signature, and compares the hash of every file. The signatures of the files
// are verified when the files are used.
func Open(fsys fs.FS, id string, check func(manifest []byte) error) (*Opened, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	t := FS(fsys)
	b, _, err := t.Read(ManifestPath(id), MaxManifest)
	if err != nil {
		return nil, diag.New(diag.BundleFileMissing, "opening bundle %q: %w", id, err)
	}
	if err := check(b); err != nil {
		return nil, err
	}
	m, bad := Parse(b)
	if m == nil {
		return nil, diag.FromFindings("opening bundle "+id, diag.WithPath(bad, ManifestPath(id)))
	}
	if m.ID != id {
		return nil, diag.New(diag.ValidationFailed, "opening bundle %q: its manifest names %q", id, m.ID)
	}
	r := &Report{Manifest: m}
	if err := r.hash(t); err != nil {
		return nil, err
	}
	if err := r.Err(id); err != nil {
		return nil, err
	}
	return &Opened{Manifest: m, Digest: item.DigestOf(b), FS: fsys}, nil
}

// hash compares every file and no signature. Paths need no check: Parse accepted
// those in the manifest, and any other file is extra.
func (r *Report) hash(t Tree) error {
	err := t.Walk(excluded, func(p string, fault error) {
		switch {
		case fault != nil:
			r.Findings = append(r.Findings, finding(p, fault))
		case !listed(r.Manifest, p):
			r.add(diag.BundleFileExtra, p, "the manifest does not list it")
		}
	})
	if err != nil {
		return err
	}
	for _, f := range r.Manifest.Files {
		b, _, err := t.Read(f.Path, MaxFile)
		if err != nil {
			r.add(diag.BundleFileMissing, f.Path, "%s", err)
		} else if why := f.differs(int64(len(b)), item.DigestOf(b), false, false, "the manifest"); why != "" {
			r.add(diag.HashMismatch, f.Path, "%s", why)
		}
	}
	return nil
}
