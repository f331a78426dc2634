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

// NewDir returns a root on disk. followAI permits the .ai directory itself to be
// a symbolic link, which only the user space may.
func NewDir(name Name, layer, base string, followAI bool) *Root {
	d := &diskFiles{base: base, dir: filepath.Join(base, Dir), followAI: followAI}
	d.open = onceFound(d.openDir)
	return &Root{
		Space: name,
		Layer: layer,
		Base:  base,
		disk:  d,
		files: d,
	}
}

// onceFound returns a function that calls open until its result is not a missing
// directory: a command may create the first item of a project.
func onceFound(open func() (*openat.Dir, error)) func() (*openat.Dir, error) {
	var mu sync.Mutex
	var dir *openat.Dir
	err := fs.ErrNotExist
	return func() (*openat.Dir, error) {
		mu.Lock()
		defer mu.Unlock()
		if dir == nil && IsMissing(err) {
			dir, err = open()
		}
		return dir, err
	}
}

// diskFiles are files on disk, under the open rules of package openat.
type diskFiles struct {
	base     string // directory that contains .ai, absolute
	dir      string // the .ai directory
	followAI bool
	check    func() error // refuses the base before it is opened; nil accepts
	open     func() (*openat.Dir, error)
}

func (d *diskFiles) openDir() (*openat.Dir, error) {
	if d.check != nil {
		if err := d.check(); err != nil {
			return nil, err
		}
	}
	fi, err := os.Lstat(d.dir)
	if err != nil {
		return nil, err
	}
	if fi.Mode()&fs.ModeSymlink != 0 && !d.followAI {
		return nil, diag.New(diag.PathEscape, "opening %s: it is a symbolic link", d.dir)
	}
	if !openat.Spelled(d.base, Dir) {
		return nil, diag.New(diag.AmbiguousItem, "opening %s: its name on the disk has another spelling, with which other systems do not find its items", d.dir).
			WithReason("dir_spelling")
	}
	return openat.Open(d.dir)
}

func (d *diskFiles) path(rel string) string {
	return filepath.Join(d.dir, filepath.FromSlash(rel))
}

// Read implements Files.
func (d *diskFiles) Read(rel string, limit int64) ([]byte, error) {
	return d.readInto(nil, rel, limit)
}

func (d *diskFiles) readInto(buf []byte, rel string, limit int64) ([]byte, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	b, _, err := dir.ReadInto(buf, rel, limit)
	return b, err
}

// Exists implements Files.
func (d *diskFiles) Exists(rel string) bool {
	dir, err := d.open()
	if IsMissing(err) {
		return false
	}
	if _, err := os.Lstat(d.path(rel)); err != nil {
		return !nothingThere(err)
	}
	return err != nil || dir.Spelled(rel)
}

// Executable implements Files.
func (d *diskFiles) Executable(string) bool {
	return false
}

// Walk implements Files. It does not descend into installed bundles, unless rel
// is in one: they can have many more files than the space.
func (d *diskFiles) Walk(rel string, fn func(Entry) error) error {
	dir, err := d.open()
	if IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	inside := Installed(rel)
	err = dir.Walk(rel, func(p string, e openat.Entry) error {
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

// ReadSibling implements siblings.
func (d *diskFiles) ReadSibling(name string, limit int64) ([]byte, bool, error) {
	b, info, err := openat.Read(d.base, path.Clean(name), limit)
	return b, info.Mode&0o111 != 0, err
}

// installs is Root.Installs: Walk leaves installed bundles out.
func (d *diskFiles) installs() []string {
	dir, err := d.open()
	if err != nil {
		return nil
	}
	var out []string
	// A directory that cannot be listed is an error of the caller that needs it.
	_ = dir.Walk(BundlesFolder, func(p string, e openat.Entry) error {
		if !e.IsDir() ||
			!strings.Contains(e.Name, "@") ||
			!d.Exists(path.Join(p, Dir)) {
			return nil
		}
		out = append(out, strings.TrimPrefix(p, BundlesFolder+"/"))
		return fs.SkipDir
	})
	return out
}

func (d *diskFiles) tree(limit int64, fn func(rel string, b []byte, executable bool) error) error {
	// The base is opened below without the checks of open.
	if _, err := d.open(); err != nil {
		return err
	}
	dir, err := openat.Open(d.base)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Walk(".", func(p string, e openat.Entry) error {
		switch {
		case e.Err != nil:
			return e.Err
		case e.IsDir():
			return nil
		}
		b, info, err := dir.Read(p, limit)
		if err != nil {
			return err
		}
		return fn(p, b, info.Mode&0o111 != 0)
	})
}

// linkless returns an error if a part of the path rel is a link.
func (d *diskFiles) linkless(rel string, display func(rel string) string) error {
	if err := openat.CheckRel(rel); err != nil {
		return err
	}
	_, err := d.open()
	if err != nil && !IsMissing(err) {
		return err
	}
	for at := rel; at != "."; at = path.Dir(at) {
		fi, err := os.Lstat(d.path(at))
		if err == nil && fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return diag.New(diag.PathEscape, "%s is a link", display(at))
		}
	}
	return nil
}
