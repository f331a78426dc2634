package fs

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// maxListed is the number of entries of one directory that ls returns.
const maxListed = 1000

type lsResult struct {
	Success   bool    `json:"success"`
	Path      string  `json:"path"`
	Count     int     `json:"count"`
	Truncated bool    `json:"truncated"`
	Entries   []entry `json:"entries"`
}

type entry struct {
	Name string `json:"name"`
	Type string `json:"type"` // dir, file, link or other
	Size int64  `json:"size"` // 0 except for files
}

// runLS lists one directory: directories first, each group sorted by name.
func runLS(_ context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "path")
	name := a.String("path", ".")
	if err := a.Err(); err != nil {
		return nil, err
	}
	var t tree
	defer t.close()
	if err := t.open(p, name); err != nil {
		return nil, err
	}
	h, err := t.dir.Open(".")
	if err != nil {
		return nil, files.PathError("listing", name, err)
	}
	defer h.Close()
	all, more, err := readEntries(h, maxEntries)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "listing %q: %w", name, wire.Cause(err))
	}
	r := lsResult{Success: true, Path: t.base, Entries: sortedEntries(all)}
	r.Truncated = more || len(r.Entries) > maxListed
	r.Entries = r.Entries[:min(maxListed, len(r.Entries))]
	r.Count = len(r.Entries)
	return r, nil
}

func sortedEntries(all []fs.DirEntry) []entry {
	out := make([]entry, 0, len(all))
	for _, d := range all {
		e := entry{Name: wire.Valid(d.Name()), Type: entryType(d.Type())}
		if e.Type == "file" {
			info, err := d.Info()
			if err != nil {
				continue // removed since it was listed
			}
			e.Size = info.Size()
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int {
		if (a.Type == "dir") != (b.Type == "dir") {
			if a.Type == "dir" {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out
}

func entryType(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m.IsRegular():
		return "file"
	}
	return "other"
}
