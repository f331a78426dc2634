// Package importsource reads the files that people import from other programs.
//
// A repository of a stranger can have links to private files of the person who imports from
// it. So no link within a repository is followed: a path is opened from the root of its git
// repository, or, outside of one, from the folder that it is in.
package importsource

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/resolve/space"
)

// Bounds of what one path names.
const (
	MaxFile  = 16 << 20 // bytes
	maxBytes = 64 << 20
	maxFiles = 1000
)

// settingsFolders are the folders of other programs whose parts are imported one by one.
var settingsFolders = []string{".claude", ".codex"}

// settingsParts are the patterns of these parts.
var settingsParts = []string{"agents/*.md", "agents/*/*.md", "commands/*.md", "commands/*/*.md", "prompts/*.md", "skills/*/" + interop.SkillFile, "settings.json", "settings.local.json"}

// Link is a link that was not followed.
type Link struct {
	Path string // as shown to people
	To   string // its target as written
}

// Read reads what absolute paths name. shown returns a path as people read it. Links in a
// folder such as .claude are returned, because the rest of the folder can be imported; a
// path that is a link, and one in the folder of a skill, is a PATH_ESCAPE error.
func Read(paths []string, shown func(string) string) (sources []interop.Source, links []Link, err error) {
	for _, p := range paths {
		r := &reader{shown: shown}
		if err := r.read(filepath.Clean(p)); err != nil {
			return nil, nil, err
		}
		sources = append(sources, r.sources...)
		links = append(links, r.links...)
	}
	return sources, links, nil
}

// reader reads one path.
type reader struct {
	shown   func(string) string
	base    string // the folder that is opened
	dir     *openat.Dir
	sources []interop.Source
	links   []Link
}

func (r *reader) read(p string) (err error) {
	r.base = baseOf(p)
	rel, err := filepath.Rel(r.base, p)
	if err != nil {
		return diag.Doing("importing "+r.shown(p), err)
	}
	rel = filepath.ToSlash(rel)
	if r.dir, err = openat.Open(r.base); err != nil {
		return r.failed(rel, err)
	}
	defer func() { err = errors.Join(err, r.dir.Close()) }()
	if !slices.Contains(settingsFolders, path.Base(rel)) {
		return r.one(rel)
	}
	parts, err := r.settings(rel)
	if err != nil {
		return err
	}
	if len(parts) == 0 && len(r.links) > 0 {
		l := r.links[0]
		return diag.New(diag.PathEscape, "importing %s: %s is a link to %s, and links are not followed; import %s itself if you want it", r.shown(p), l.Path, l.To, l.To)
	}
	if len(parts) == 0 {
		return diag.New(diag.ItemNotFound, "importing %s: it has no agents, commands, prompts or skills", r.shown(p))
	}
	for _, part := range parts {
		if err := r.one(part); err != nil {
			return err
		}
	}
	return nil
}

// baseOf returns the root of the git repository that p is in, or else its folder.
func baseOf(p string) string {
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return filepath.Dir(p)
		}
	}
}

// settings returns the parts of a folder such as .claude.
func (r *reader) settings(rel string) ([]string, error) {
	var parts []string
	err := r.dir.Walk(rel, func(name string, e openat.Entry) error {
		inner := strings.TrimPrefix(name, rel+"/")
		switch {
		case e.Type&fs.ModeSymlink != 0:
			if leadsToPart(inner) {
				r.links = append(r.links, Link{Path: r.shown(r.at(name)), To: r.target(name)})
			}
			return nil
		case e.IsDir() && !leadsToPart(inner):
			return fs.SkipDir
		case e.IsDir() && e.Err == nil, !isPart(inner):
			return nil
		case e.Err != nil:
			return e.Err
		}
		parts = append(parts, name)
		return nil
	})
	if err != nil {
		return nil, r.failed(rel, err)
	}
	return parts, nil
}

// leadsToPart reports whether a name is a part or a folder on the way to one.
func leadsToPart(name string) bool {
	depth := strings.Count(name, "/") + 1
	return slices.ContainsFunc(settingsParts, func(pattern string) bool {
		elements := strings.Split(pattern, "/")
		if depth > len(elements) {
			return false
		}
		matched, err := path.Match(strings.Join(elements[:depth], "/"), name)
		return matched && err == nil
	})
}

func isPart(name string) bool {
	if strings.EqualFold(path.Base(name), "README.md") {
		return false // it describes the folder
	}
	return slices.ContainsFunc(settingsParts, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return matched && err == nil
	})
}

func (r *reader) at(rel string) string { return filepath.Join(r.base, filepath.FromSlash(rel)) }

// target returns the text of a link, for people.
func (r *reader) target(rel string) string {
	to, err := os.Readlink(r.at(rel))
	if err != nil {
		return "another path"
	}
	return filepath.ToSlash(to)
}

// failed names the path as people do, and what a link leads to.
func (r *reader) failed(rel string, err error) error {
	shown := r.shown(r.at(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return diag.New(diag.ItemNotFound, "importing %s: it does not exist", shown)
	case diag.CodeOf(err) == diag.PathEscape:
		for at := rel; at != "." && at != "/"; at = path.Dir(at) {
			if fi, lstat := os.Lstat(r.at(at)); lstat == nil && fi.Mode()&fs.ModeSymlink != 0 {
				return diag.New(diag.PathEscape, "importing %s: %s is a link to %s, and links are not followed; import what it leads to if you want it",
					shown, r.shown(r.at(at)), r.target(at))
			}
		}
	}
	return diag.Doing("importing "+shown, err)
}

// one reads one file or folder; the main file of a skill means its folder.
func (r *reader) one(rel string) error {
	if path.Base(rel) == interop.SkillFile {
		rel = path.Dir(rel)
	}
	s := interop.Source{Path: filepath.ToSlash(r.shown(r.at(rel))), Name: path.Base(rel)}
	if rel == "." {
		s.Name = filepath.Base(r.base)
	}
	fi, err := os.Lstat(r.at(rel))
	if err != nil {
		return r.failed(rel, err)
	}
	if s.Dir = fi.IsDir(); !s.Dir {
		b, _, err := r.dir.Read(rel, MaxFile)
		if err != nil {
			return r.failed(rel, err)
		}
		s.Files = []interop.File{{Path: s.Name, Bytes: b}}
		r.sources = append(r.sources, s)
		return nil
	}
	if _, err := os.Lstat(filepath.Join(r.at(rel), space.Dir)); err == nil {
		return diag.New(diag.Usage, "importing %s: it is a project, with a directory %s", r.shown(r.at(rel)), space.Dir).WithReason("import_from")
	}
	if s.Files, err = r.folder(rel); err != nil {
		return err
	}
	r.sources = append(r.sources, s)
	return nil
}

// folder reads the files of a folder. A link is an error: what it leads to is not part of
// the folder.
func (r *reader) folder(rel string) ([]interop.File, error) {
	var out []interop.File
	total := 0
	err := r.dir.Walk(rel, func(name string, e openat.Entry) error {
		inner := name
		if rel != "." {
			inner = strings.TrimPrefix(name, rel+"/")
		}
		switch {
		case e.Err != nil:
			return r.failed(name, e.Err)
		case e.IsDir() && path.Base(name) == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		case strings.HasSuffix(name, extract.DetachedExt): // of another project, made again by a person here
			return nil
		}
		b, info, err := r.dir.Read(name, MaxFile)
		if err != nil {
			return r.failed(name, err)
		}
		total += len(b)
		if total > maxBytes || len(out) == maxFiles {
			return diag.New(diag.TooLarge, "importing %s: the folder has more than %d files or %d MiB", r.shown(r.at(rel)), maxFiles, maxBytes>>20)
		}
		out = append(out, interop.File{Path: inner, Bytes: b, Executable: info.Mode.Perm()&0o100 != 0})
		return nil
	})
	if err != nil && diag.CodeOf(err) == "" {
		return nil, r.failed(rel, err)
	}
	return out, err
}
