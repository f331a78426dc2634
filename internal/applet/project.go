package applet

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// maxFile is the largest file that is read, edited, written or searched.
const maxFile = 10 << 20

// maxLinks bounds the links followed in one path.
const maxLinks = 40

// project is an open handle on the project's folder: the door through which
// every file applet goes.
type project struct {
	root *os.Root
	dir  string // as it was named, absolute
	real string // with links resolved
}

// openProject opens p.Dir, else $RYE_PROJECT, else the current directory.
func openProject(p Params) (*project, error) {
	dir, err := projectDir(p)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening project: %w", cause(err))
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening project: %w", cause(err))
	}
	return &project{root: root, dir: dir, real: real}, nil
}

func projectDir(p Params) (string, error) {
	dir := p.Dir
	if dir == "" {
		dir = p.Getenv("RYE_PROJECT")
	}
	abs, err := filepath.Abs(dir) // "" is the current directory
	if err != nil {
		return "", diag.New(diag.FileSystemError, "opening project: %w", err)
	}
	return abs, nil
}

func (pr *project) close() { pr.root.Close() }

// spot is one place in the project: an open handle on the real folder that
// holds it, and its name there.
type spot struct {
	dir     *os.Root
	base    string      // "." for the project itself
	rel     string      // real path below the project, with slashes
	info    fs.FileInfo // nil when nothing is there
	missing []string    // folders that do not exist yet, between dir and base
	given   string      // what the user typed
}

func (s *spot) close() { s.dir.Close() }

// find resolves a path, relative to the project or absolute and inside it.
func (pr *project) find(given string) (*spot, error) {
	todo, err := pr.split(given)
	if err != nil {
		return nil, err
	}
	w := walk{pr: pr, given: given, todo: todo}
	defer w.close()
	return w.run()
}

// split turns a path into its components below the project.
func (pr *project) split(given string) ([]string, error) {
	if strings.ContainsRune(given, 0) {
		return nil, diag.New(diag.ValidationFailed, "reading path %q: it holds a NUL byte", given)
	}
	name := given
	if filepath.IsAbs(name) {
		rel, ok := pr.inside(name)
		if !ok {
			return nil, escape(given)
		}
		name = rel
	}
	return strings.Split(filepath.ToSlash(name), "/"), nil
}

// inside makes an absolute path relative to the project, component by
// component: "/p-evil" is not inside "/p".
func (pr *project) inside(abs string) (string, bool) {
	for _, base := range []string{pr.dir, pr.real} {
		if rest, ok := strings.CutPrefix(abs, base); ok {
			if rest == "" || os.IsPathSeparator(rest[0]) {
				return rest, true
			}
			if os.IsPathSeparator(base[len(base)-1]) {
				return rest, true
			}
		}
	}
	return "", false
}

func escape(given string) error {
	return diag.New(diag.PathEscape, "opening %q: the path leaves the project", given).
		WithHint("name a path inside the project; links must stay inside it too")
}

// walk is the state of one resolution: the handles of the real folders from
// the project down, so that ".." is the real parent.
type walk struct {
	pr    *project
	given string
	todo  []string
	dirs  []*os.Root // dirs[i] is the folder names[:i+1]; the project's own handle is not in it
	names []string
	links int
}

func (w *walk) close() {
	for _, d := range w.dirs {
		d.Close()
	}
}

func (w *walk) top() *os.Root {
	if len(w.dirs) == 0 {
		return w.pr.root
	}
	return w.dirs[len(w.dirs)-1]
}

func (w *walk) run() (*spot, error) {
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		s, err := w.step(name)
		if s != nil || err != nil {
			return s, err
		}
	}
	return w.atFolder()
}

// step goes one component on; it returns a spot when the path ends there.
func (w *walk) step(name string) (*spot, error) {
	switch {
	case name == "" || name == ".":
		return nil, nil
	case name == "..":
		return nil, w.up()
	case !plainName(name):
		return nil, diag.New(diag.ValidationFailed, "opening %q: %q is no file name on this system", w.given, name)
	}
	info, err := w.top().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.absent(name)
	case err != nil:
		return nil, pathError("opening", w.given, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, w.follow(name)
	case info.IsDir():
		return nil, w.enter(name, info)
	case !endsHere(w.todo):
		return nil, diag.New(diag.FileSystemError, "opening %q: %q is not a folder", w.given, path.Join(append(w.names, name)...))
	}
	return w.spot(name, info)
}

func endsHere(todo []string) bool { return len(todo) == 0 }

func (w *walk) up() error {
	if len(w.dirs) == 0 {
		return escape(w.given)
	}
	w.top().Close()
	w.dirs, w.names = w.dirs[:len(w.dirs)-1], w.names[:len(w.names)-1]
	return nil
}

// enter opens a folder and makes sure that what was opened is what was seen:
// a link put in its place meanwhile is caught here.
func (w *walk) enter(name string, seen fs.FileInfo) error {
	child, err := w.top().OpenRoot(name)
	if err != nil {
		return pathError("opening", w.given, err)
	}
	now, err := child.Stat(".")
	if err != nil || !os.SameFile(seen, now) {
		child.Close()
		return diag.New(diag.PathEscape, "opening %q: %q was replaced while it was opened", w.given, name)
	}
	w.dirs, w.names = append(w.dirs, child), append(w.names, name)
	return nil
}

// follow puts a link's target in front of what is left of the path.
func (w *walk) follow(name string) error {
	if w.links++; w.links > maxLinks {
		return diag.New(diag.FileSystemError, "opening %q: more than %d links", w.given, maxLinks)
	}
	target, err := w.top().Readlink(name)
	if err != nil {
		return pathError("opening", w.given, err)
	}
	if filepath.IsAbs(target) {
		rel, ok := w.pr.inside(target)
		if !ok {
			return escape(w.given)
		}
		for len(w.dirs) > 0 {
			_ = w.up() // cannot fail while folders are open
		}
		target = rel
	}
	w.todo = append(strings.Split(filepath.ToSlash(target), "/"), w.todo...)
	return nil
}

// absent ends the path at a name that does not exist; what follows must be
// plain names.
func (w *walk) absent(name string) (*spot, error) {
	rest := []string{name}
	for _, n := range w.todo {
		if n == ".." || n != "" && n != "." && !plainName(n) {
			return nil, pathError("opening", w.given, fs.ErrNotExist)
		}
		if n != "" && n != "." {
			rest = append(rest, n)
		}
	}
	w.todo = nil
	base := rest[len(rest)-1]
	s, err := w.spot(base, nil)
	if err == nil {
		s.missing = rest[:len(rest)-1]
		s.rel = path.Join(path.Join(w.names...), path.Join(rest...))
	}
	return s, err
}

// spot hands the last handle to the caller.
func (w *walk) spot(base string, info fs.FileInfo) (*spot, error) {
	dir, err := w.top().OpenRoot(".")
	if err != nil {
		return nil, pathError("opening", w.given, err)
	}
	return &spot{dir: dir, base: base, info: info, rel: path.Join(path.Join(w.names...), base), given: w.given}, nil
}

func (w *walk) atFolder() (*spot, error) {
	s, err := w.spot(".", nil)
	if err != nil {
		return nil, err
	}
	if s.info, err = s.dir.Stat("."); err != nil {
		s.close()
		return nil, pathError("opening", w.given, err)
	}
	s.rel = path.Clean("./" + strings.Join(w.names, "/"))
	return s, nil
}

// read returns the bytes of a regular file.
func (s *spot) read() ([]byte, error) {
	switch {
	case s.info == nil:
		return nil, pathError("reading", s.given, fs.ErrNotExist)
	case s.info.IsDir():
		return nil, diag.New(diag.NotRegular, "reading %q: it is a folder", s.given).WithHint("the ls tool lists a folder")
	case !s.info.Mode().IsRegular():
		return nil, notRegular("reading", s.given)
	}
	f, err := s.dir.OpenFile(s.base, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, pathError("reading", s.given, err)
	}
	defer f.Close()
	return readRegular(f, s.given)
}

// readRegular reads an open file whole, when it is regular and not too large.
func readRegular(f fs.File, given string) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, pathError("reading", given, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular("reading", given)
	}
	if info.Size() > maxFile {
		return nil, tooLarge("reading", given, info.Size())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, pathError("reading", given, err)
	}
	if len(data) > maxFile {
		return nil, tooLarge("reading", given, int64(len(data)))
	}
	return data, nil
}

func notRegular(doing, given string) error {
	return diag.New(diag.NotRegular, "%s %q: it is neither a file nor a folder", doing, given).
		WithHint("devices, sockets and pipes are left alone")
}

func tooLarge(doing, given string, size int64) error {
	return diag.New(diag.TooLarge, "%s %q: %d bytes, more than %d", doing, given, size, maxFile).
		WithHint("use grep to find the part you need, or bash to cut it out")
}

// pathError words an operating system's error without its absolute paths.
func pathError(doing, given string, err error) error {
	if strings.Contains(err.Error(), "path escapes from parent") {
		return escape(given) // os does not export this error
	}
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.FileSystemError, "%s %q: nothing is there: %w", doing, given, fs.ErrNotExist).
			WithHint("the glob and ls tools show what there is")
	}
	return diag.New(diag.FileSystemError, "%s %q: %w", doing, given, cause(err))
}

// cause strips the operation and path that package os puts around an error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
