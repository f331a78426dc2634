package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
)

// Limits of a walk over the directories outside of .ai.
const (
	outsideDepth   = 4
	outsideEntries = 20_000
)

// Outside reports the directories that a walk of .ai does not verify although they
// look like it. paths are relative to the project. A name that some file system
// takes for .ai is an error: on such a system its files are items, and here they
// are not. Other projects in the project are one warning.
func Outside(paths []string) []diag.Finding {
	var alike, nested []string
	for _, p := range paths {
		names := strings.Split(p, "/")
		for i, name := range names {
			if !policy.SameName(name, space.Dir) {
				continue
			}
			at := strings.Join(names[:i+1], "/")
			if name != space.Dir {
				alike = append(alike, at)
			} else if i > 0 {
				nested = append(nested, at)
			}
			break
		}
	}
	var out []diag.Finding
	for _, at := range compact(alike) {
		f := diag.Errorf(diag.AmbiguousItem, 0, 0, "some file systems take this name for %s: there its files would be items, here they are not verified", space.Dir)
		f.Path = at
		out = append(out, f.WithReason("alike_dir"))
	}
	if nested = compact(nested); len(nested) > 0 {
		out = append(out, nestedFinding(nested))
	}
	return out
}

func compact(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// nestedFinding returns the warning about other projects in the project, of which
// it names three.
func nestedFinding(dirs []string) diag.Finding {
	list := strings.Join(dirs[:min(3, len(dirs))], ", ")
	if len(dirs) > 3 {
		list += fmt.Sprintf(" and %d more", len(dirs)-3)
	}
	f := diag.Warnf(diag.AmbiguousItem, 0, 0, "not in this project's %s, so verify it as a project of its own: %s", space.Dir, list)
	f.Path = dirs[0]
	return f.WithReason("nested_dir", "project", path.Dir(dirs[0]))
}

// Directories returns the directories and links below a directory for Outside, of
// the first 20,000 entries at most 4 levels deep. It does not enter .ai, .git and
// node_modules, and no directory that skip names.
func Directories(ctx context.Context, dir string, skip func(abs string) bool) ([]string, error) {
	var out []string
	seen := 0
	todo := []string{"."}
	for len(todo) > 0 && seen < outsideEntries {
		at := todo[0]
		todo = todo[1:]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(at)))
		if err != nil {
			continue // its .ai could not be read either
		}
		seen += len(entries)
		for _, e := range entries {
			rel := path.Join(at, e.Name())
			if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 ||
				skip(filepath.Join(dir, filepath.FromSlash(rel))) {
				continue
			}
			out = append(out, rel)
			if e.IsDir() &&
				enters(e.Name()) &&
				strings.Count(rel, "/") < outsideDepth-1 {
				todo = append(todo, rel)
			}
		}
	}
	return out, nil
}

func enters(name string) bool {
	return name != space.Dir && name != ".git" && name != "node_modules"
}
