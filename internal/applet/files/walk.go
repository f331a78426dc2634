package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// maxLinks is the number of links followed in one path.
const maxLinks = 40

// walk is the state of one resolution. It keeps a handle on each real directory
// from the project down, so that ".." is the real parent.
type walk struct {
	project *Project
	given   string
	todo    []string
	dirs    []*os.Root // dirs[i] is the directory names[:i+1]; the project's own handle is not in it
	names   []string
	links   int
}

func (w *walk) close() {
	for _, d := range w.dirs {
		d.Close()
	}
}

func (w *walk) top() *os.Root {
	if len(w.dirs) == 0 {
		return w.project.root
	}
	return w.dirs[len(w.dirs)-1]
}

func (w *walk) run() (*Entry, error) {
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		e, err := w.step(name)
		if e != nil || err != nil {
			return e, err
		}
	}
	return w.directory()
}

// step resolves one component. It returns an entry when the path ends there.
func (w *walk) step(name string) (*Entry, error) {
	switch {
	case name == "" || name == ".":
		return nil, nil
	case name == "..":
		return nil, w.up()
	case !plainName(name):
		return nil, diag.New(diag.ValidationFailed, "opening %q: %q is not a file name on this system", w.given, name)
	}
	info, err := w.top().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(name)
	case err != nil:
		return nil, PathError("opening", w.given, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, w.follow(name)
	case info.IsDir():
		return nil, w.enter(name, info)
	case len(w.todo) > 0:
		return nil, diag.New(
			diag.FileSystemError,
			"opening %q: %q is not a directory",
			w.given,
			path.Join(append(w.names, name)...),
		)
	}
	return w.entry(name, info)
}

func (w *walk) up() error {
	if len(w.dirs) == 0 {
		return escape(w.given)
	}
	w.top().Close()
	w.dirs = w.dirs[:len(w.dirs)-1]
	w.names = w.names[:len(w.names)-1]
	return nil
}

// enter opens a directory. Between Lstat and OpenRoot a link may have replaced
// it, so the opened directory must be the one that Lstat saw.
func (w *walk) enter(name string, seen fs.FileInfo) error {
	child, err := w.top().OpenRoot(name)
	if err != nil {
		return PathError("opening", w.given, err)
	}
	now, err := child.Stat(".")
	if err != nil || !os.SameFile(seen, now) {
		child.Close()
		return diag.New(diag.PathEscape, "opening %q: %q was replaced while it was opened", w.given, name)
	}
	w.dirs = append(w.dirs, child)
	w.names = append(w.names, name)
	return nil
}

// follow puts a link's target in front of the rest of the path.
func (w *walk) follow(name string) error {
	if w.links++; w.links > maxLinks {
		return diag.New(diag.FileSystemError, "opening %q: more than %d links", w.given, maxLinks)
	}
	target, err := w.top().Readlink(name)
	if err != nil {
		return PathError("opening", w.given, err)
	}
	if filepath.IsAbs(target) {
		rel, ok := w.project.Rel(target)
		if !ok {
			return escape(w.given)
		}
		for len(w.dirs) > 0 {
			_ = w.up() // cannot fail while directories are open
		}
		target = rel
	}
	w.todo = append(strings.Split(filepath.ToSlash(target), "/"), w.todo...)
	return nil
}

// missing ends the path at a name that does not exist. The rest must be plain
// names: ".." behind a missing name has no meaning.
func (w *walk) missing(name string) (*Entry, error) {
	rest := []string{name}
	for _, n := range w.todo {
		if n == ".." || n != "" && n != "." && !plainName(n) {
			return nil, PathError("opening", w.given, fs.ErrNotExist)
		}
		if n != "" && n != "." {
			rest = append(rest, n)
		}
	}
	e, err := w.entry(rest[len(rest)-1], nil)
	if err == nil {
		e.missing = rest[:len(rest)-1]
		e.Rel = path.Join(path.Join(w.names...), path.Join(rest...))
	}
	return e, err
}

// entry returns the entry base of the last directory, with its own handle.
func (w *walk) entry(base string, info fs.FileInfo) (*Entry, error) {
	dir, err := w.top().OpenRoot(".")
	if err != nil {
		return nil, PathError("opening", w.given, err)
	}
	return &Entry{
		Dir:   dir,
		Base:  base,
		Info:  info,
		Rel:   path.Join(path.Join(w.names...), base),
		Given: w.given,
		Root:  w.project.real,
	}, nil
}

// directory returns the entry of the last directory itself.
func (w *walk) directory() (*Entry, error) {
	e, err := w.entry(".", nil)
	if err != nil {
		return nil, err
	}
	if e.Info, err = e.Dir.Stat("."); err != nil {
		e.Close()
		return nil, PathError("opening", w.given, err)
	}
	e.Rel = path.Clean("./" + strings.Join(w.names, "/"))
	return e, nil
}
