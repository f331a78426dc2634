// Package scan finds the components of a source that was not made for rye: skills,
// agents, commands, rules, sets of hooks and MCP servers in a repository, and the plugins
// that list them.
//
// It follows no link, opens no other source, and decides nothing about trust.
package scan

import (
	"cmp"
	"github.com/ryeos/rye/lock/treehash"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/frontmatter"
)

// The kinds of components.
const (
	Skill   = "skill"
	Agent   = "agent"
	Command = "command"
	Rule    = "rule"
	Hooks   = "hook"
	Server  = "mcp"
)

// Bounds of a source.
const (
	MaxPaths      = 200_000
	MaxComponents = 4_000
	maxDepth      = 6 // names in the path of the folder of a skill
)

// Source is the files of one commit.
type Source interface {
	// Files returns every path, sorted. Links and submodules have their mode of git.
	Files() []treehash.File
	// Read returns the bytes of one file.
	Read(path string) ([]byte, error)
}

// Component is one part of a source that a user can select.
type Component struct {
	Kind string
	Name string
	Dir  string // of its files, "" for the top of the source
	Main string // the file that describes it, relative to Dir

	// Files are its files with paths relative to Dir, sorted.
	Files []treehash.File

	Description string
	Text        *frontmatter.Text // Main with its front matter; nil for JSON
	Plugins     []string          // the plugins that it belongs to
	Notes       []string          // deviations from the format that other programs accept
}

// Ref returns KIND:NAME.
func (c *Component) Ref() string {
	return c.Kind + ":" + c.Name
}

// Path returns the path in the source of one of its files.
func (c *Component) Path(file string) string {
	return path.Join(c.Dir, file)
}

// Executed reports whether other programs execute the component. Patterns never select
// such components.
func (c *Component) Executed() bool {
	return c.Kind == Hooks || c.Kind == Server
}

// Left is a component that cannot be used.
type Left struct {
	Ref     string // KIND:NAME, "" if it has no name
	Finding diag.Finding
}

// Plugin is a plugin that a source lists.
type Plugin struct {
	Name        string
	Dir         string
	Description string
	Elsewhere   string // its address, if it is in another source; it is not followed
}

// Result is the content of a source.
type Result struct {
	Found   []*Component // sorted by kind and name
	Left    []Left
	Plugins []Plugin
}

// Find returns the component with a ref, and the reason why it is left out if it is not
// found.
func (r *Result) Find(ref string) (*Component, *Left) {
	for _, c := range r.Found {
		if c.Ref() == ref {
			return c, nil
		}
	}
	for i := range r.Left {
		if r.Left[i].Ref == ref {
			return nil, &r.Left[i]
		}
	}
	return nil, nil
}

// Components returns the components of a source. A component that cannot be used is left
// out with its reason. The error is about the whole source: it has too many paths or
// components.
func Components(s Source) (*Result, error) {
	files := s.Files()
	if len(files) > MaxPaths {
		return nil, diag.New(diag.LimitExceeded, "reading the source: it has %d paths, at most %d are allowed", len(files), MaxPaths)
	}
	f := &finder{source: s, files: files, skillDirs: map[string]bool{}}
	// plugins name folders of skills, and no other component is in the folder of a skill
	f.plugins()
	f.skills()
	for _, root := range f.roots() {
		f.below(root)
	}
	f.rules()
	if f.full() {
		return nil, diag.New(diag.LimitExceeded, "reading the source: it has more than %d components", MaxComponents)
	}
	// a copy that cannot be used must not make the other one ambiguous
	f.check()
	f.distinct()
	slices.SortFunc(f.found, func(a, b *Component) int {
		return cmp.Or(
			cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	slices.SortStableFunc(f.left, func(a, b Left) int {
		return cmp.Compare(a.Finding.Path, b.Finding.Path)
	})
	return &Result{Found: f.found, Left: f.left, Plugins: f.listed}, nil
}

func kindOrder(kind string) int {
	return slices.Index([]string{Skill, Agent, Command, Rule, Hooks, Server}, kind)
}

// finder collects the components of one source.
type finder struct {
	source Source
	files  []treehash.File
	found  []*Component
	left   []Left
	listed []Plugin

	skillDirs    map[string]bool   // folders of skills, outermost ones and those that plugins list
	listedSkills map[string]bool   // folders of skills that plugins name
	pluginNames  map[string]string // by directory
}

// leave records that a component is not usable.
func (f *finder) leave(ref string, finding diag.Finding) {
	f.left = append(f.left, Left{Ref: ref, Finding: finding})
}

// full reports whether the source has too many components to read more of them.
func (f *finder) full() bool {
	return len(f.found)+len(f.left) > MaxComponents
}

// at returns the index of the first file that is not before a path.
func (f *finder) at(p string) int {
	i, _ := slices.BinarySearchFunc(f.files, p, func(a treehash.File, p string) int {
		return strings.Compare(a.Path, p)
	})
	return i
}

// has reports whether the source has a file with a path.
func (f *finder) has(p string) bool {
	i := f.at(p)
	return i < len(f.files) && f.files[i].Path == p
}

// under returns the files below a directory, with paths relative to it.
func (f *finder) under(dir string) (out []treehash.File) {
	if dir == "" {
		return slices.Clone(f.files)
	}
	for i := f.at(dir + "/"); i < len(f.files); i++ {
		rel, ok := strings.CutPrefix(f.files[i].Path, dir+"/")
		if !ok {
			// the files of a directory follow each other
			break
		}
		one := f.files[i]
		one.Path = rel
		out = append(out, one)
	}
	return out
}

// inSkill reports whether a path is in the folder of a skill.
func (f *finder) inSkill(p string) bool {
	// skills can be thousands: the directories above are few
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if f.skillDirs[dir] {
			return true
		}
	}
	return f.skillDirs[""]
}

// within reports whether a path is below a directory; "" is the top.
func within(p, dir string) bool {
	return dir == "" || strings.HasPrefix(p, dir+"/")
}

// ignored reports whether a path is in a directory that has copies and tests, or in the
// directory of rye.
func ignored(p string) bool {
	for elem := range strings.SplitSeq(path.Dir(p), "/") {
		switch elem {
		case "node_modules", "tests", ".git", ".ai":
			return true
		}
	}
	return false
}
