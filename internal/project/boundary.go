package project

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
)

// Boundary returns the paths that file tools may reach when they work in the directory dir.
// A directory that is not a project has no files for them.
func (p *Project) Boundary(dir string) *policy.Boundary {
	b := &policy.Boundary{Git: p.gitSettings()}
	seen := links.Seen{}
	if p.Spaces.ProjectDir != "" && space.IsProject(p.Spaces.ProjectDir) {
		b.Project = RealPath(dir, seen)
	}
	for _, d := range p.PrivateDirs(seen) {
		b.Private = append(b.Private, d)
		if real := RealPath(d.Path, seen); real != d.Path {
			d.Path = real
			b.Private = append(b.Private, d)
		}
	}
	return b
}

// PrivateDirs returns the directories of the user and of the machine that file
// tools do not write, also if they are in the project.
func (p *Project) PrivateDirs(seen links.Seen) []policy.Private {
	home := p.Env.Home()
	var out []policy.Private
	add := func(what string, readable bool, dir ...string) {
		path := filepath.Join(dir...)
		if dir[0] != "" && filepath.IsAbs(path) {
			out = append(out, policy.Private{Path: path, What: what, Readable: readable})
		}
	}
	add("rye's settings and trust", false, p.Dirs.Config)
	add("rye's keys", false, p.Dirs.Data)
	add("rye's state", false, p.Dirs.State)
	add("rye's settings of this machine", true, p.Env.MachineDir())
	add("your user space", true, p.Spaces.UserDir, space.Dir)
	add("your user space", true, home, space.Dir)
	add("ssh", false, home, ".ssh")
	add("gpg", false, home, ".gnupg")
	add("gpg", false, p.Env.Getenv("GNUPGHOME"))
	if runtime.GOOS == "windows" {
		add("gpg", false, p.Env.Getenv("AppData"), "gnupg")
	}
	// A cache or a home around the project protects only what is outside of it.
	for _, d := range []struct{ path, what string }{{p.Cache, "rye's cache"}, {home, "your home directory"}} {
		if d.path != "" && !contains(d.path, p.worksAt(), seen) {
			add(d.what, false, d.path)
		}
	}
	return out
}

// worksAt returns the directory of the project, or outside of projects the person's directory.
func (p *Project) worksAt() string {
	if p.SeenDir != nil {
		return p.SeenDir.Dir
	}
	return p.Spaces.ProjectDir
}

// contains reports whether path is dir or below it, with all links followed.
func contains(dir, path string, seen links.Seen) bool {
	rel, err := filepath.Rel(RealPath(dir, seen), RealPath(path, seen))
	return err == nil &&
		rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// RealPath returns a path with the links of its existing part followed.
func RealPath(path string, seen links.Seen) string {
	for rest := "."; ; {
		if real, err := seen.Follow(path); err == nil {
			return filepath.Join(real, rest)
		} else if parent := filepath.Dir(path); parent == path || !os.IsNotExist(err) {
			return filepath.Join(path, rest)
		} else {
			path, rest = parent, filepath.Join(filepath.Base(path), rest)
		}
	}
}

// copyBoundary returns the boundary of tools that work in the copy: the project itself is
// not for them.
func (p *Project) copyBoundary(b *policy.Boundary) *policy.Boundary {
	b.Copy = true
	what := "the project, of which this thread has a working copy"
	b.Private = append(b.Private, policy.Private{Path: b.Project, What: what})
	if dir := p.Spaces.ProjectDir; dir != b.Project {
		b.Private = append(b.Private, policy.Private{Path: dir, What: what})
	}
	b.Project = RealPath(p.Copied.Dir(), links.Seen{})
	return b
}
