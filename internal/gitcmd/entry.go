package gitcmd

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// The modes of entries in trees and in the index.
const (
	ModeFile       = 0o100644
	ModeExecutable = 0o100755
	ModeLink       = 0o120000
	ModeSubmodule  = 0o160000
)

// Entry is one file of a tree or of the index. Path is relative to the top of
// the work tree, slash-separated and not validated.
type Entry struct {
	Mode uint32
	OID  string
	Path string
}

// IsFile reports whether the entry is a regular file.
func (e Entry) IsFile() bool {
	return e.Mode&0o170000 == 0o100000
}

// Tree lists the files at or below some paths in a tree, in the byte order of
// their paths; "" lists all. It reads every tree on the way whole: git ls-tree stops
// where a name should be. A name that a file system treats as one of the paths is
// refused.
func (g *Git) Tree(ctx context.Context, tree string, paths ...string) ([]Entry, error) {
	b, err := g.Batch(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	w := &treeWalk{b: b}
	if len(paths) == 0 {
		paths = []string{""}
	}
	for _, p := range paths {
		if err := w.find(tree+"^{tree}", p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(w.list, func(a, b Entry) int {
		return strings.Compare(a.Path, b.Path)
	})
	return w.list, nil
}

// maxTree is the size, in bytes, of a tree, which is one directory.
const maxTree = 64 << 20

// treeWalk collects the files of trees.
type treeWalk struct {
	b    *Batch
	list []Entry
}

// find collects what is at or below a path.
func (w *treeWalk) find(tree, at string) error {
	if at == "" {
		return w.below([]Entry{{OID: tree}})
	}
	dir := ""
	for {
		elem, rest, more := strings.Cut(at, "/")
		var found []Entry
		err := w.read([]Entry{{OID: tree, Path: dir}}, func(_ string, e Entry, name string) error {
			if Alias(name, elem) {
				return badTree("%q in %q is the same name as %q on some systems", name, dir, elem)
			}
			if name == elem {
				found = []Entry{e}
			}
			return nil
		})
		if err != nil || found == nil {
			return err
		}
		switch e := found[0]; {
		case !more && e.Mode == ModeTree:
			return w.below(found)
		case !more:
			w.list = append(w.list, e)
			return nil
		case e.Mode != ModeTree:
			return nil
		default:
			tree = e.OID
			dir = e.Path
			at = rest
		}
	}
}

// below collects the files below some trees, level by level.
func (w *treeWalk) below(level []Entry) error {
	for len(level) > 0 {
		var next []Entry
		err := w.read(level, func(_ string, e Entry, _ string) error {
			if e.Mode == ModeTree {
				next = append(next, e)
			} else {
				w.list = append(w.list, e)
			}
			if len(next)+len(w.list) > maxEntries {
				return badTree("it has more than %d files and directories", maxEntries)
			}
			return nil
		})
		if err != nil {
			return err
		}
		level = next
	}
	return nil
}

// maxEntries is the number of files of a tree. Few objects can name very many files.
const maxEntries = 2_000_000

// read calls fn with each entry of some trees.
func (w *treeWalk) read(trees []Entry, fn func(dir string, e Entry, name string) error) error {
	oids := make([]string, len(trees))
	for i, t := range trees {
		oids[i] = t.OID
	}
	var fault error
	err := w.b.ReadTrees(oids, maxTree, func(i int, o Object) {
		dir := trees[i].Path
		switch {
		case fault != nil:
		case o.Kind != "tree":
			fault = diag.New(diag.FileSystemError, "reading %q: object %s is not a tree but %s", dir, oids[i], o.Kind).
				WithReason("no_object")
		case o.Data == nil && o.Size > 0:
			fault = badTree("%q has %d bytes of entries, at most %d are allowed", dir, o.Size, maxTree)
		default:
			fault = EachRaw(o.Data, len(o.OID)/2, func(e RawEntry) error {
				return fn(
					dir,
					Entry{Mode: e.Mode, OID: hex.EncodeToString(e.OID), Path: strings.TrimPrefix(dir+"/"+e.Name, "/")},
					e.Name,
				)
			})
		}
	})
	return firstError(fault, err)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// withoutRoot removes the path "", which means everything.
func withoutRoot(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "" })
}

// Change is a difference between the index and a tree at one path. Status is A,
// M, D, T, or U for an unmerged entry. Intent-to-add entries are not changes.
type Change struct {
	Entry  // in the index; mode 0 if it was removed
	Status byte
	Old    Entry // in the tree; mode 0 if it is new
}

// Staged compares the index with a tree-ish, at or below some paths relative to
// the directory; "" compares all. A rename is a removal and an addition. The work
// tree is not read.
func (g *Git) Staged(ctx context.Context, tree string, paths ...string) ([]Change, error) {
	args := []string{"diff-index", "--cached", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff",
		"--ignore-submodules=none", "--ita-invisible-in-index", tree, "--"}
	args = append(args, withoutRoot(paths)...)
	out, err := g.run(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	recs := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(out) == 0 {
		recs = nil
	}
	if len(recs)%2 != 0 {
		return nil, unreadable("diff-index", recs[len(recs)-1])
	}
	list := make([]Change, 0, len(recs)/2)
	for i := 0; i < len(recs); i += 2 {
		c, ok := parseChange(recs[i], recs[i+1])
		if !ok {
			return nil, unreadable("diff-index", recs[i])
		}
		list = append(list, c)
	}
	return list, nil
}

// parseChange reads ":OLDMODE MODE OLDID ID STATUS".
func parseChange(head, path string) (c Change, ok bool) {
	words := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(words) != 5 ||
		!strings.HasPrefix(head, ":") ||
		words[4][0] < 'A' ||
		words[4][0] > 'Z' ||
		path == "" {
		return c, false
	}
	was, err1 := strconv.ParseUint(words[0], 8, 32)
	is, err2 := strconv.ParseUint(words[1], 8, 32)
	if err1 != nil || err2 != nil {
		return c, false
	}
	return Change{
		Entry:  Entry{Mode: uint32(is), OID: words[3], Path: path},
		Status: words[4][0],
		Old:    Entry{Mode: uint32(was), OID: words[2], Path: path},
	}, true
}

func unreadable(verb, rec string) error {
	return diag.New(diag.ExecutionFailed, "reading the output of git %s: invalid entry %q", verb, rec)
}
