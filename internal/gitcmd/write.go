package gitcmd

import (
	"context"
	"fmt"
	"strings"
)

// UpdateIndex adds or replaces entries of the index, all or none. When git writes the
// index, it compares files that changed in the same moment, and would run their filters.
func (g *Git) UpdateIndex(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var in strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&in, "%o %s\t%s\x00", e.Mode, e.OID, e.Path)
	}
	_, err := g.guarded(ctx, strings.NewReader(in.String()), "update-index", "-z", "--index-info")
	return err
}

// Skipped selects the paths, relative to the top, that the index marks as left out of the
// work tree (sparse checkout).
func (r *Repo) Skipped(ctx context.Context, paths []string) (map[string]bool, error) {
	out, err := r.top().run(ctx, nil, append(
		[]string{"ls-files", "-t", "-z", "--full-name", "--"},
		paths...,
	)...)
	if err != nil {
		return nil, err
	}
	skipped := map[string]bool{}
	for rec := range strings.SplitSeq(string(out), "\x00") {
		if path, ok := strings.CutPrefix(rec, "S "); ok {
			skipped[path] = true
		}
	}
	return skipped, nil
}

// Skip marks paths of the index as left out of the work tree.
func (r *Repo) Skip(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	in := strings.Join(paths, "\x00") + "\x00"
	_, err := r.top().guarded(
		ctx,
		strings.NewReader(in),
		"update-index",
		"-z",
		"--skip-worktree",
		"--stdin",
	)
	return err
}

// Staged compares the index with a tree-ish; paths are relative to the top.
func (r *Repo) Staged(ctx context.Context, tree string, paths ...string) ([]Change, error) {
	return r.top().Staged(ctx, tree, paths...)
}

// top returns a Git at the top of the work tree, where paths have no prefix.
func (r *Repo) top() *Git {
	g := *r.Git
	if r.WorkTree != "" {
		g.dir = r.WorkTree
	}
	return &g
}
