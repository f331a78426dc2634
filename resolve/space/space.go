// Package space says where items live: the ordered roots project > user >
// system, how they are found, and how a file below them is read and written.
//
// It reads and writes bytes under the open rules (no links, regular files, one
// link, bounded size). It does not know what an item is, checks no signature
// and grants no trust.
package space

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Name is the name of a space.
type Name string

// The spaces, highest precedence first.
const (
	Project Name = "project"
	User    Name = "user"
	System  Name = "system"
)

// Dir is the folder of a space below its base.
const Dir = ".ai"

// Rank orders spaces: 0 is the highest precedence.
func (n Name) Rank() int {
	switch n {
	case Project:
		return 0
	case User:
		return 1
	}
	return 2
}

// Entry is one name found by Walk.
type Entry struct {
	Rel  string      // below the root's .ai folder, slash-separated
	Type fs.FileMode // type bits only; fs.ModeDir for a folder that cannot be listed
	Err  error       // what is wrong with it, a *diag.Error; nil for plain files
}

// Root is one place that holds items: the own items of a space or one bundle
// layer of it.
type Root struct {
	Space Name
	Layer string // bundle id, "" for the space's own items
	Base  string // absolute folder that holds .ai; "" when embedded

	embedded fs.FS // rooted at the base: paths begin with .ai/
	files    Files // of a root that is neither embedded nor on a disk
	aiDir    string
	open     func() (*openat.Dir, error)

	layer   *Layer       // of a bundle below a space's own items
	show    string       // of a bundle: its folder in messages
	allowed func() error // of a bundle: what rules say of it, nil when there are none
}

// NewDir returns a root on disk. followAI allows the .ai folder itself to be a
// symbolic link, which only the user space may.
func NewDir(name Name, layer, base string, followAI bool) *Root {
	r := &Root{Space: name, Layer: layer, Base: base, aiDir: filepath.Join(base, Dir)}
	r.open = sync.OnceValues(func() (*openat.Dir, error) {
		fi, err := os.Lstat(r.aiDir)
		if err != nil {
			return nil, err
		}
		if fi.Mode()&fs.ModeSymlink != 0 && !followAI {
			return nil, diag.New(diag.PathEscape, "opening %s: it is a symbolic link", r.aiDir).
				WithHint("replace the link by the folder itself")
		}
		return openat.Open(r.aiDir)
	})
	return r
}

// NewEmbedded returns a root whose files are compiled in. fsys holds .ai.
func NewEmbedded(layer string, fsys fs.FS) *Root {
	return &Root{Space: System, Layer: layer, embedded: fsys}
}

// Embedded reports whether the root is compiled into the binary.
func (r *Root) Embedded() bool { return r.embedded != nil }

// Label names the root in messages: "project", "system:rye-core",
// "project:github.com/acme/core@v1.8.2".
func (r *Root) Label() string {
	switch {
	case r.Layer == "":
		return string(r.Space)
	case r.Version() != "":
		return string(r.Space) + ":" + r.Layer + "@" + r.Version()
	}
	return string(r.Space) + ":" + r.Layer
}

// Path returns the absolute path of rel, or "" when the root is not on disk.
func (r *Root) Path(rel string) string {
	if !r.OnDisk() {
		return ""
	}
	return filepath.Join(r.aiDir, filepath.FromSlash(rel))
}

// Display returns a short path for messages: relative to the base in the
// project, with the root's label elsewhere.
func (r *Root) Display(rel string) string {
	p := path.Join(Dir, rel)
	if r.layer != nil {
		return path.Join(r.show, p)
	}
	if r.Space == Project && r.Layer == "" {
		return p
	}
	if r.Space == User && r.Layer == "" {
		return "~/" + p
	}
	return r.Label() + "/" + p
}

// Read returns the bytes of rel in one read under the open rules. A missing
// file or root satisfies errors.Is(err, fs.ErrNotExist).
func (r *Root) Read(rel string, limit int64) ([]byte, error) {
	if r.Embedded() {
		return r.readEmbedded(rel, limit)
	}
	if r.files != nil {
		return r.files.Read(rel, limit)
	}
	d, err := r.open()
	if err != nil {
		return nil, err
	}
	b, _, err := d.Read(rel, limit)
	return b, err
}

func (r *Root) readEmbedded(rel string, limit int64) ([]byte, error) {
	b, err := fs.ReadFile(r.embedded, path.Join(Dir, rel))
	if err == nil && int64(len(b)) > limit {
		return nil, diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", r.Display(rel), len(b), limit)
	}
	return b, err
}

// Exists reports whether anything stands at rel: a link and what cannot be
// looked at included, so that nothing of lower precedence takes its place.
func (r *Root) Exists(rel string) bool {
	if r.Embedded() {
		fi, err := fs.Stat(r.embedded, path.Join(Dir, rel))
		return err == nil && !fi.IsDir()
	}
	if r.files != nil {
		return r.files.Exists(rel)
	}
	if _, err := r.open(); IsMissing(err) {
		return false
	}
	_, err := os.Lstat(r.Path(rel))
	return err == nil || !nothingThere(err)
}

// Walk calls fn for everything below rel that is not a directory, sorted by
// path, never following a link, and for folders that cannot be listed. A
// missing folder is empty. Installed bundles are roots of their own and stay
// out, unless rel lies in one.
func (r *Root) Walk(rel string, fn func(Entry) error) error {
	if !Installed(rel) && r.files != nil {
		inner := fn
		fn = func(e Entry) error {
			if Installed(e.Rel) {
				return nil
			}
			return inner(e)
		}
	}
	if r.Embedded() {
		return r.walkEmbedded(rel, fn)
	}
	if r.files != nil {
		return r.files.Walk(rel, fn)
	}
	d, err := r.open()
	if IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	inside := Installed(rel)
	err = d.Walk(rel, func(p string, e openat.Entry) error {
		if e.IsDir() && e.Err == nil {
			if !inside && Installed(p) {
				return fs.SkipDir
			}
			return nil
		}
		return fn(Entry{Rel: p, Type: e.Type, Err: e.Err})
	})
	if IsMissing(err) {
		return nil
	}
	return err
}

func (r *Root) walkEmbedded(rel string, fn func(Entry) error) error {
	err := fs.WalkDir(r.embedded, path.Join(Dir, rel), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return fn(Entry{Rel: strings.TrimPrefix(p, Dir+"/"), Type: d.Type()})
	})
	if IsMissing(err) {
		return nil
	}
	return err
}
