// Package files opens the files of a project for applets: it resolves paths
// without leaving the project and divides texts into lines.
//
// It does not decide which files may be written (see fs) and never follows a
// link out of the project.
package files

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Project is an open handle on the directory of the project. Every file applet
// opens its files through it.
type Project struct {
	root *os.Root
	dir  string // as given, absolute
	real string // without links
}

// Open opens p.Dir, else $RYE_PROJECT, else the current directory.
func Open(p wire.Params) (*Project, error) {
	dir, err := Dir(p)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening project: %w", wire.Cause(err))
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening project: %w", wire.Cause(err))
	}
	return &Project{root: root, dir: dir, real: real}, nil
}

// Dir returns the absolute path of the project's directory as it was given.
func Dir(p wire.Params) (string, error) {
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

// Close closes the handle.
func (p *Project) Close() { p.root.Close() }

// Path returns the absolute path, without links, of a slash path below the
// project.
func (p *Project) Path(rel string) string { return filepath.Join(p.real, filepath.FromSlash(rel)) }

// Exists reports whether a slash path below the project names something that is
// in the project, links followed.
func (p *Project) Exists(rel string) bool {
	_, err := p.root.Stat(rel)
	return err == nil
}

// Rel returns an absolute path below the project as a relative one. It compares
// component by component: "/p-evil" is not inside "/p".
func (p *Project) Rel(abs string) (string, bool) {
	for _, base := range []string{p.dir, p.real} {
		rest, ok := strings.CutPrefix(abs, base)
		if ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(base[len(base)-1])) {
			return rest, true
		}
	}
	return "", false
}

// Find resolves a path, relative to the project or absolute and inside it. A
// path whose last parts do not exist is found; its entry has no Info.
func (p *Project) Find(given string) (*Entry, error) {
	if strings.ContainsRune(given, 0) {
		return nil, diag.New(diag.ValidationFailed, "reading path %q: it contains a NUL byte", given)
	}
	name := given
	if filepath.IsAbs(name) {
		rel, ok := p.Rel(name)
		if !ok {
			return nil, escape(given)
		}
		name = rel
	}
	w := walk{project: p, given: given, todo: strings.Split(filepath.ToSlash(name), "/")}
	defer w.close()
	return w.run()
}

func escape(given string) error {
	return diag.New(diag.PathEscape, "opening %q: the path or one of its links leaves the project", given)
}
