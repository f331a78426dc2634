// Package files opens the files of a project for applets: it resolves paths
// without leaving the project and divides texts into lines.
//
// It never follows a link out of the project. Package policy decides which files
// of the project tools may read and write; Find and the
// entries that it returns ask it about the path without links.
package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/policy"
)

// Project is an open handle on the directory of the project. Every file applet
// opens its files through it.
type Project struct {
	root   *os.Root
	dir    string // as given, absolute
	real   string // without links
	within policy.Boundary
}

// Open opens the project: p.Dir, else $RYE_PROJECT, else the current directory.
// It is an error if rye found no project there.
func Open(p wire.Params) (*Project, error) {
	project, err := OpenDir(p)
	if err != nil {
		return nil, err
	}
	if err := project.within.CheckProject(); err != nil {
		project.Close()
		return nil, err
	}
	return project, nil
}

// OpenDir is Open for applets that also work in a directory without a project.
func OpenDir(p wire.Params) (*Project, error) {
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
	within, err := boundary(p, real)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Project{
		root:   root,
		dir:    dir,
		real:   real,
		within: within,
	}, nil
}

// boundary returns the boundary that rye passed to this process. A process that
// rye did not start has the table of protected paths only.
func boundary(p wire.Params, real string) (policy.Boundary, error) {
	b := policy.Boundary{Project: real}
	text := p.Getenv(policy.BoundaryVar)
	if text == "" {
		return b, nil
	}
	err := json.Unmarshal([]byte(text), &b)
	if err != nil {
		return b, diag.New(diag.Internal, "reading %s: %w", policy.BoundaryVar, err)
	}
	if b.Project != "" {
		b.Project = real
	}
	return b, nil
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
func (p *Project) Close() {
	p.root.Close()
}

// Path returns the absolute path, without links, of a slash path below the
// project.
func (p *Project) Path(rel string) string {
	return filepath.Join(p.real, filepath.FromSlash(rel))
}

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
		if ok &&
			(rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(base[len(base)-1])) {
			return rest, true
		}
	}
	return "", false
}

// Find resolves a path, relative to the project or absolute and inside it. A
// path whose last parts do not exist is found; its entry has no Info. A path that
// tools do not read is an error.
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
	e, err := w.run()
	if err != nil {
		return nil, err
	}
	e.within = p.within
	if err := e.CheckRead("."); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func escape(given string) error {
	return diag.New(diag.PathEscape, "opening %q: the path or one of its links leaves the project", given)
}
