package fs

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/glob"
)

// maxEntries is the number of directory entries that one call reads.
const maxEntries = 200_000

// skippedDirs are the directories that are searched only if a pattern names
// them.
func skippedDirs() []string {
	return []string{".git", "node_modules", "__pycache__", ".venv"}
}

// tree walks the directories below an entry. It follows no links, so it ends,
// and opens everything through its handle, so it cannot leave the project.
type tree struct {
	project *files.Project
	start   *files.Entry
	dir     *os.Root // start, if it is a directory
	base    string   // the start, below the project
	pattern glob.Pattern
	ignore  []glob.Pattern
	seen    int
	cut     bool // maxEntries was reached
}

// pending is a directory that is not read yet.
type pending struct {
	rel string // below the start, "." for the start itself
	at  glob.States
}

// open opens the directory to start from. The caller closes the tree in any case.
func (t *tree) open(p wire.Params, start string) error {
	if err := t.find(p, start); err != nil {
		return err
	}
	return t.openDir()
}

// find finds the start: a directory, or the only file to search.
func (t *tree) find(p wire.Params, start string) (err error) {
	if t.project, err = files.Open(p); err == nil {
		t.start, err = t.project.Find(start)
	}
	return err
}

func (t *tree) openDir() (err error) {
	if t.start.Info != nil && !t.start.Info.IsDir() {
		return diag.New(diag.NotRegular, "listing %q: it is not a directory", t.start.Given)
	}
	t.base = t.start.Rel
	t.dir, err = t.start.OpenDir()
	return err
}

func (t *tree) close() {
	if t.dir != nil {
		t.dir.Close()
	}
	if t.start != nil {
		t.start.Close()
	}
	if t.project != nil {
		t.project.Close()
	}
}

// matching returns the sorted paths of the matching files, joined to base.
func (t *tree) matching(ctx context.Context, base string) ([]string, error) {
	found := []string{}
	err := t.walk(ctx, func(rel string, d fs.DirEntry) {
		if t.isFile(rel, d) {
			found = append(found, wire.Valid(path.Join(base, rel)))
		}
	})
	slices.Sort(found)
	return found, err
}

// note states that the tree was too large to read all of it.
func (t *tree) note() string {
	if !t.cut {
		return ""
	}
	return "only the first 200,000 directory entries were read; path selects a directory to start from"
}

// walk calls found with the path below the start of each entry that matches and
// is not a directory.
func (t *tree) walk(ctx context.Context, found func(rel string, d fs.DirEntry)) error {
	todo := []pending{{".", t.pattern.Start()}}
	for len(todo) > 0 && !t.cut {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := ctx.Err(); err != nil {
			return wire.Cancelled("listing files", err)
		}
		todo = append(todo, t.list(next, found)...)
	}
	return nil
}

// list reads one directory and returns those in it. One that cannot be read is
// skipped.
func (t *tree) list(p pending, found func(string, fs.DirEntry)) (below []pending) {
	h, err := t.dir.OpenFile(p.rel, os.O_RDONLY|files.OpenFlags, 0)
	if err != nil {
		return nil
	}
	defer h.Close()
	for {
		entries, err := h.ReadDir(1000)
		for _, d := range entries {
			if t.seen++; t.seen > maxEntries {
				t.cut = true
				return below
			}
			if sub, ok := t.visit(p, d, found); ok {
				below = append(below, sub)
			}
		}
		if err != nil || len(entries) == 0 {
			return below
		}
	}
}

// visit reports a matching file, or returns the directory that d is.
func (t *tree) visit(
	p pending,
	d fs.DirEntry,
	found func(string, fs.DirEntry),
) (pending, bool) {
	name := d.Name()
	rel := path.Join(p.rel, name)
	if slices.ContainsFunc(t.ignore, func(i glob.Pattern) bool { return i.Match(rel) }) {
		return pending{}, false
	}
	at := t.pattern.Step(p.at, name)
	if !d.IsDir() {
		if t.pattern.Accepts(at) {
			found(rel, d)
		}
		return pending{}, false
	}
	named := t.pattern.Names(p.at, name)
	if slices.Contains(skippedDirs(), name) && !named ||
		t.isRyes(rel) && !named ||
		t.start.CheckRead(rel) != nil {
		return pending{}, false
	}
	return pending{rel, at}, t.pattern.Alive(at)
}

// isRyes reports whether a directory of the project contains what rye keeps for
// itself: complete results and transcripts, which would repeat what was found.
func (t *tree) isRyes(rel string) bool {
	switch path.Join(t.base, rel) {
	case ".ai/cache", ".ai/threads":
		return true
	}
	return false
}

// isFile reports whether an entry is a regular file, or a link to one inside
// the start that tools may read.
func (t *tree) isFile(rel string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := t.dir.Stat(rel)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	target, err := t.project.Find(path.Join(t.base, rel))
	if err != nil {
		return false
	}
	target.Close()
	return true
}
