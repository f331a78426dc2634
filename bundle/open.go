package bundle

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Opened is a bundle whose manifest is trusted.
type Opened struct {
	Manifest *Manifest
	Digest   item.Digest // of the manifest, signature line included
	FS       fs.FS       // returns exactly the files that the manifest lists
}

// Open opens an embedded bundle. It parses the manifest after check has accepted its
// signature. The hash of each file is compared when the file is read, since every start
// of the program opens the bundle and few read more than some files.
func Open(fsys fs.FS, id string, check func(manifest []byte) error) (*Opened, error) {
	return openKnown(fsys, id, item.Digest{}, check)
}

func openKnown(
	fsys fs.FS,
	id string,
	known item.Digest,
	check func(manifest []byte) error,
) (*Opened, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	b, _, err := FS(fsys).Read(ManifestPath(id), MaxManifest)
	if err != nil {
		return nil, diag.New(diag.BundleFileMissing, "opening bundle %q: %w", id, err)
	}
	if err := check(b); err != nil {
		return nil, err
	}
	digest := item.DigestOf(b)
	m, bad := parse(b, digest == known)
	if m == nil {
		return nil, diag.FromFindings("opening bundle "+id, diag.WithPath(bad, ManifestPath(id)))
	}
	if m.ID != id {
		return nil, diag.New(diag.ValidationFailed, "opening bundle %q: its manifest names %q", id, m.ID)
	}
	o := &checked{fsys: fsys, m: m, manifest: b}
	sp, err := sign.SplitFile(b, sign.Hash())
	if err == nil && sp.Signed {
		o.signer = sp.Line.Key
	}
	return &Opened{Manifest: m, Digest: digest, FS: o}, nil
}

// checked are the files of a bundle. It returns no byte that differs from the manifest,
// and an error for a file that the manifest lists and that does not exist.
type checked struct {
	fsys     fs.FS
	m        *Manifest
	manifest []byte // as it was judged
	signer   sign.Fingerprint
}

// Covered returns the signer of the manifest if it lists these bytes with a signature
// line of their own, else zero.
func (c *checked) Covered(name string, d item.Digest) sign.Fingerprint {
	f := c.file(name)
	if f != nil && f.Signed && f.Digest == d {
		return c.signer
	}
	return sign.Fingerprint{}
}

// file returns the line of the manifest about a file, or nil.
func (c *checked) file(name string) *File {
	i, ok := slices.BinarySearchFunc(c.m.Files, name, func(f File, name string) int {
		return strings.Compare(f.Path, name)
	})
	if !ok {
		return nil
	}
	return &c.m.Files[i]
}

// ReadFile implements fs.ReadFileFS.
func (c *checked) ReadFile(name string) ([]byte, error) {
	if name == ManifestPath(c.m.ID) {
		return bytes.Clone(c.manifest), nil
	}
	fail := func(code diag.Code, format string, args ...any) ([]byte, error) {
		return nil, diag.New(
			code,
			"reading "+name+" of bundle "+c.m.ID+": "+format,
			args...,
		)
	}
	f := c.file(name)
	b, err := fs.ReadFile(c.fsys, name)
	switch {
	case f == nil && err != nil: // neither the manifest nor the bundle has it
		return nil, err
	case f == nil:
		return fail(diag.BundleFileExtra, "the manifest does not list it")
	case err != nil:
		return fail(diag.BundleFileMissing, "the manifest lists it: %v", err)
	}
	why := f.differs(int64(len(b)), item.DigestOf(b), false, false, "the manifest")
	if why != "" {
		return fail(diag.HashMismatch, "%s", why)
	}
	return b, nil
}

// Open implements fs.FS.
func (c *checked) Open(name string) (fs.File, error) {
	f, err := c.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return f, err
	}
	defer f.Close()
	b, err := c.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &checkedFile{f, bytes.NewReader(b)}, nil
}

// Stat implements fs.StatFS. It reads nothing.
func (c *checked) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(c.fsys, name)
}

// checkedFile is an open file whose bytes were compared.
type checkedFile struct {
	fs.File
	r *bytes.Reader
}

// Read implements fs.File.
func (f *checkedFile) Read(p []byte) (int, error) {
	return f.r.Read(p)
}
