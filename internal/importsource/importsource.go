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

	maxEntries = 200_000 // of all folders below a path
)

// Link is a link that was not followed.
type Link struct {
	Path string // as shown to people
	To   string // its target as written
}

// Call names what is read.
type Call struct {
	Paths   []string                 // absolute
	Shown   func(path string) string // a path as people read it
	Project string                   // the directory of the project, which can be imported from; "" for none
	Format  interop.Format           // "" for the files that a program is known to have
}

// Read reads the files and folders. Of a folder that is not a skill it reads the files that
// interop.Known knows, or, with a format, the files with its extensions. Links in
// such a folder are returned, because the rest of it can be imported; a path that is a link,
// and one in the folder of a skill, is a PATH_ESCAPE error.
func Read(call Call) (sources []interop.Source, links []Link, err error) {
	for _, p := range call.Paths {
		r := &reader{Call: call}
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
	Call
	base    string // the folder that is opened
	prefix  string // of names that begin at base, where the folder of a program can be above it
	origin  string // the project, repository or folder in which the paths of rules begin
	dir     *openat.Dir
	seen    int // entries of folders
	sources []interop.Source
	links   []Link
}

func (r *reader) read(p string) (err error) {
	inRepository := false
	r.base, inRepository = baseOf(p)
	rel, err := filepath.Rel(r.base, p)
	if err != nil {
		return diag.Doing("importing "+r.Shown(p), err)
	}
	rel = filepath.ToSlash(rel)
	if !inRepository {
		r.prefix = path.Join(
			filepath.Base(filepath.Dir(r.base)),
			filepath.Base(r.base),
		) + "/"
	}
	if r.dir, err = openat.Open(r.base); err != nil {
		return r.failed(rel, err)
	}
	defer func() {
		err = errors.Join(err, r.dir.Close())
	}()
	fi, statErr := os.Lstat(r.at(rel))
	isDir := statErr == nil && fi.IsDir()
	switch {
	case inRepository && !within(r.base, r.Project):
		r.origin = r.base
	case r.Project != "" && within(r.Project, p):
		r.origin = r.Project
	case inRepository:
		r.origin = r.base
	case isDir && !interop.LeadsToKnown(filepath.ToSlash(p)):
		r.origin = p
	default:
		r.origin = r.base
	}
	if !isDir || r.isSkill(rel) {
		return r.one(rel, false)
	}
	if _, err := os.Lstat(filepath.Join(p, space.Dir)); err == nil &&
		filepath.Clean(r.Project) != p {
		return diag.New(diag.Usage, "importing %s: it is a project, with a directory %s", r.Shown(p), space.Dir).WithReason("import_from")
	}
	parts, err := r.parts(rel)
	if err != nil {
		return err
	}
	if len(parts) == 0 && len(r.links) > 0 {
		l := r.links[0]
		return diag.New(
			diag.PathEscape,
			"importing %s: %s is a link to %s, and links are not followed; import %s itself if you want it",
			r.Shown(p),
			l.Path,
			l.To,
			l.To,
		)
	}
	if len(parts) == 0 {
		return diag.New(diag.Usage, "importing %s: no file in it is one that rye knows", r.Shown(p)).WithReason("import_format")
	}
	for _, part := range parts {
		if err := r.one(part, true); err != nil { // keeps no other from being imported
			r.sources = append(r.sources, interop.Source{Path: filepath.ToSlash(r.Shown(r.at(part))), Found: true, Fault: err})
		}
	}
	return nil
}

func (r *reader) isSkill(rel string) bool {
	_, err := os.Lstat(filepath.Join(r.at(rel), interop.SkillFile))
	return err == nil && (r.Format == "" || r.Format == interop.Skill)
}

// baseOf returns the root of the git repository that p is in, or else its folder. A link in a
// repository can lead into a second repository: then the outer root is returned, below which
// the link is refused.
func baseOf(p string) (base string, repository bool) {
	linked := false // a link leads from dir to p
	for dir := p; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil &&
			(base == "" || linked) &&
			(dir != p || !isLink(p)) {
			base = dir
			linked = false
		}
		if filepath.Dir(dir) == dir {
			break
		}
		linked = linked || base != "" && isLink(dir)
	}
	if base == "" {
		return filepath.Dir(p), false
	}
	return base, true
}

// within reports whether p is dir or below it.
func within(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

func isLink(p string) bool {
	fi, err := os.Lstat(p)
	return err == nil && fi.Mode()&fs.ModeSymlink != 0
}

// skippedFolders have files of other people, or none that a person wrote.
var skippedFolders = []string{".git", space.Dir, "node_modules", "vendor", ".venv", "venv", "__pycache__"}

// parts returns the files and the folders of skills below a folder that are imported.
func (r *reader) parts(rel string) ([]string, error) {
	var out []string
	err := r.dir.Walk(rel, func(name string, e openat.Entry) error {
		if r.seen++; r.seen > maxEntries {
			return diag.New(diag.TooLarge, "importing %s: it has more than %d files and folders", r.Shown(r.at(rel)), maxEntries)
		}
		known := r.known(name)
		switch {
		case e.Type&fs.ModeSymlink != 0:
			if known || interop.LeadsToKnown(r.prefix+name) {
				r.links = append(r.links, Link{Path: r.Shown(r.at(name)), To: r.target(name)})
			}
			return nil
		case e.IsDir() && slices.Contains(skippedFolders, path.Base(name)):
			return fs.SkipDir
		case e.IsDir() && e.Err == nil && r.isSkill(name):
			out = append(out, name)
			return fs.SkipDir
		case e.IsDir() && e.Err == nil, !known:
			return nil
		case e.Err != nil:
			return e.Err
		}
		out = append(out, name)
		return nil
	})
	if err != nil && diag.CodeOf(err) == diag.TooLarge {
		return nil, err
	}
	if err != nil {
		return nil, r.failed(rel, err)
	}
	if len(out) > maxFiles {
		return nil, diag.New(
			diag.TooLarge,
			"importing %s: %d files and skills in it can be imported, at most %d at once",
			r.Shown(r.at(rel)),
			len(out),
			maxFiles,
		)
	}
	return out, nil
}

// known reports whether a file of a folder is imported.
func (r *reader) known(name string) bool {
	if strings.EqualFold(path.Base(name), "README.md") {
		return false // it describes the folder
	}
	switch r.Format {
	case "":
		f := interop.Known(r.prefix + name)
		return f != "" && f != interop.Skill
	case interop.Rules:
		return slices.Contains([]string{".md", ".mdc"}, path.Ext(name)) ||
			interop.Known(r.prefix+name) == interop.Rules
	case interop.Agent, interop.Command:
		return path.Ext(name) == ".md"
	case interop.Recipe:
		return slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(name))
	}
	return interop.Known(r.prefix+name) == r.Format && r.Format != interop.Skill
}

func (r *reader) at(rel string) string {
	return filepath.Join(r.base, filepath.FromSlash(rel))
}

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
	shown := r.Shown(r.at(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return diag.New(diag.ItemNotFound, "importing %s: it does not exist", shown).WithReason("import_missing")
	case diag.CodeOf(err) == diag.PathEscape:
		for at := rel; at != "." && at != "/"; at = path.Dir(at) {
			fi, lstat := os.Lstat(r.at(at))
			if lstat == nil && fi.Mode()&fs.ModeSymlink != 0 {
				return diag.New(diag.PathEscape, "importing %s: %s is a link to %s, and links are not followed; import what it leads to if you want it",
					shown, r.Shown(r.at(at)), r.target(at))
			}
		}
	}
	return diag.Doing("importing "+shown, err)
}

// one reads one file or folder; the main file of a skill means its folder.
func (r *reader) one(rel string, found bool) error {
	if path.Base(rel) == interop.SkillFile {
		rel = path.Dir(rel)
	}
	s := interop.Source{Path: filepath.ToSlash(r.Shown(r.at(rel))), Name: path.Base(rel), Found: found}
	at, err := filepath.Rel(r.origin, r.at(rel))
	if err == nil && filepath.IsLocal(at) {
		s.At = filepath.ToSlash(at)
	}
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
		return diag.New(
			diag.Usage,
			"importing %s: it is a project, with a directory %s",
			r.Shown(r.at(rel)),
			space.Dir,
		).
			WithReason("import_from")
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
			return diag.New(
				diag.TooLarge,
				"importing %s: the folder has more than %d files or %d MiB",
				r.Shown(r.at(rel)),
				maxFiles,
				maxBytes>>20,
			)
		}
		out = append(out, interop.File{Path: inner, Bytes: b, Executable: info.Mode.Perm()&0o100 != 0})
		return nil
	})
	if err != nil && diag.CodeOf(err) == "" {
		return nil, r.failed(rel, err)
	}
	return out, err
}
