// Package space finds the roots that contain items, in the order project, user,
// system, and reads and writes the files below them. A root is the own items of
// a space or one bundle layer of it; its files are on disk, compiled in, or
// supplied by the caller.
//
// Files on disk are read under the open rules: no symbolic links, regular files
// with one hard link, bounded size. The package does not parse items, checks no
// signature and grants no trust.
package space

import (
	"io/fs"
	"path"
)

// Name is the name of a space.
type Name string

// The spaces, highest precedence first.
const (
	Project Name = "project"
	User    Name = "user"
	System  Name = "system"
)

// Dir is the directory of a space below its base.
const Dir = ".ai"

// ProjectFile is the name of the project file, which package lock reads. A
// directory that contains it is a project.
const ProjectFile = "rye.yaml"

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
	Rel  string      // below the root's .ai directory, slash-separated
	Type fs.FileMode // type bits only; fs.ModeDir for a directory that cannot be listed
	Err  error       // why it cannot be read, a *diag.Error; nil for regular files
}

// Root is the own items of a space or one bundle layer of it.
type Root struct {
	Space Name
	Layer string // bundle id, "" for the space's own items
	Base  string // directory that contains .ai, absolute; "" if not on disk

	files    Files
	disk     *diskFiles // files, if the root is on disk; else nil
	embedded bool       // files are compiled in

	layer   *Layer       // of a bundle below a space's own items
	show    string       // of a bundle: its directory in messages
	allowed func() error // of a bundle: the verdict of the rules, nil without rules
}

// Embedded reports whether the root is compiled into the binary.
func (r *Root) Embedded() bool {
	return r.embedded
}

// OnDisk reports whether the root's files have paths.
func (r *Root) OnDisk() bool {
	return r.disk != nil
}

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
	if r.disk == nil {
		return ""
	}
	return r.disk.path(rel)
}

// Display returns a short path for messages: relative to the base in the
// project, with the root's label elsewhere.
func (r *Root) Display(rel string) string {
	p := Dir + "/" + rel
	if rel == "." || !fs.ValidPath(rel) { // else Join changes nothing
		p = path.Join(Dir, rel)
	}
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
