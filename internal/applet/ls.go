package applet

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/ryeos/rye/diag"
)

// maxListed is the number of entries of one folder that ls shows.
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
	Size int64  `json:"size"` // 0 but for files
}

// runLS lists one folder, folders first, each group by name.
func runLS(_ context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "path")
	name := a.str("path", ".")
	if err := a.err(); err != nil {
		return nil, err
	}
	var t tree
	if err := t.open(p, name); err != nil {
		return nil, err
	}
	defer t.dir.Close()
	h, err := t.dir.Open(".")
	if err != nil {
		return nil, pathError("listing", name, err)
	}
	defer h.Close()
	all, more, err := readSome(h, maxEntries)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "listing %q: %w", name, cause(err))
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
		e := entry{Name: valid(d.Name()), Type: entryType(d.Type())}
		if e.Type == "file" {
			info, err := d.Info()
			if err != nil {
				continue // gone meanwhile
			}
			e.Size = info.Size()
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(-cmp.Compare(boolToInt(a.Type == "dir"), boolToInt(b.Type == "dir")), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
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
