package applet

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// maxEntries is the number of directory entries that one call looks at.
const maxEntries = 200_000

// passedOver are folders that nobody searches unless they are named.
func passedOver(name string) bool {
	return slices.Contains([]string{".git", "node_modules", "__pycache__", ".venv"}, name)
}

// tree walks the folders below a spot. It follows no links, so it ends, and
// opens everything through the handle, so it cannot leave.
type tree struct {
	dir     *os.Root
	base    string // the start, below the project
	pattern pattern
	ignore  []pattern
	seen    int
	cut     bool // maxEntries was reached
}

// folder is a folder still to be read.
type folder struct {
	rel string // below the start, "." for the start itself
	at  states
}

// files calls found with the path below the start of each entry that matches
// and is no folder.
func (t *tree) files(ctx context.Context, found func(rel string, d fs.DirEntry)) error {
	todo := []folder{{".", t.pattern.start()}}
	for len(todo) > 0 && !t.cut {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := ctx.Err(); err != nil {
			return cancelled("listing files", err)
		}
		todo = append(todo, t.list(f, found)...)
	}
	return nil
}

// list reads one folder; one that cannot be read is passed over.
func (t *tree) list(f folder, found func(string, fs.DirEntry)) (below []folder) {
	h, err := t.dir.OpenFile(f.rel, os.O_RDONLY|openFlags, 0)
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
			if sub, ok := t.visit(f, d, found); ok {
				below = append(below, sub)
			}
		}
		if err != nil || len(entries) == 0 {
			return below
		}
	}
}

// visit reports an entry, or returns the folder it is.
func (t *tree) visit(f folder, d fs.DirEntry, found func(string, fs.DirEntry)) (folder, bool) {
	name := d.Name()
	rel := path.Join(f.rel, name)
	for _, p := range t.ignore {
		if p.match(rel) {
			return folder{}, false
		}
	}
	at := t.pattern.step(f.at, name)
	if !d.IsDir() {
		if t.pattern.accepts(at) {
			found(rel, d)
		}
		return folder{}, false
	}
	if passedOver(name) && !t.pattern.names(f.at, name) {
		return folder{}, false
	}
	return folder{rel, at}, t.pattern.alive(at)
}

// isFile reports whether an entry is a regular file, or a link to one inside
// the start.
func (t *tree) isFile(rel string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := t.dir.Stat(rel)
	return err == nil && info.Mode().IsRegular()
}

// readAll reads a file of the tree.
func (t *tree) readAll(rel string) ([]byte, error) {
	f, err := t.dir.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, rel)
}

// folderHandle returns a handle on the folder that the spot is.
func (s *spot) folderHandle() (*os.Root, error) {
	if s.info == nil {
		return nil, pathError("opening", s.given, fs.ErrNotExist)
	}
	root, err := s.dir.OpenRoot(s.base)
	if err != nil {
		return nil, pathError("opening", s.given, err)
	}
	return root, nil
}

// readSome reads at most n entries of a folder and reports whether there are
// more.
func readSome(h *os.File, n int) (entries []fs.DirEntry, more bool, err error) {
	for len(entries) <= n && err == nil {
		var some []fs.DirEntry
		some, err = h.ReadDir(n + 1 - len(entries))
		entries = append(entries, some...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) > n {
		return entries[:n], true, err
	}
	return entries, false, err
}
