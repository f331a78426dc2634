package gitcmd

import (
	"bytes"
	"context"
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
func (e Entry) IsFile() bool { return e.Mode&0o170000 == 0o100000 }

// Tree lists the files at or below some paths in a tree, in the byte order of
// their paths; "" lists all.
func (g *Git) Tree(ctx context.Context, tree string, paths ...string) ([]Entry, error) {
	args := append([]string{"ls-tree", "-r", "-z", "--full-tree", tree, "--"}, withoutRoot(paths)...)
	out, err := g.run(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for rec := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		head, path, ok := strings.Cut(string(rec), "\t")
		words := strings.Fields(head)
		if !ok || len(words) != 3 {
			return nil, unreadable("ls-tree", string(rec))
		}
		mode, err := strconv.ParseUint(words[0], 8, 32)
		if err != nil {
			return nil, unreadable("ls-tree", string(rec))
		}
		list = append(list, Entry{Mode: uint32(mode), OID: words[2], Path: path})
	}
	return list, nil
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
	if len(words) != 5 || !strings.HasPrefix(head, ":") || words[4][0] < 'A' || words[4][0] > 'Z' || path == "" {
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
