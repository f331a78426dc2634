package git

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
)

// maxHistory is the maximum number of commits of a repository.
const maxHistory = 1_000_000

// history is every commit of the branches and tags of a remote. It does not change
// after it was read.
type history struct {
	known map[string]commit
	tips  []string
}

// readHistory reads the commits generation by generation.
func readHistory(ctx context.Context, objs Objects, refs *Refs) (*history, error) {
	h := &history{known: map[string]commit{}}
	for _, r := range refs.List {
		tip, _, err := peel(ctx, objs, r.OID)
		if diag.CodeOf(err) == diag.VersionNotFound {
			continue // a tag of a file
		}
		if err != nil {
			return nil, err
		}
		h.tips = append(h.tips, tip)
	}
	level := h.unknown(h.tips)
	for len(level) > 0 {
		if len(h.known) > maxHistory {
			return nil, diag.New(diag.TooLarge, "reading the history: it has more than %d commits", maxHistory)
		}
		var next []string
		err := read(ctx, objs, "commit", level, maxCommit, func(i int, data []byte) error {
			c, err := parseCommit(level[i], data)
			h.known[level[i]] = c
			next = append(next, c.parents...)
			return err
		})
		if err != nil {
			return nil, err
		}
		level = h.unknown(next)
	}
	return h, nil
}

// unknown returns the commits that were not read, and marks them as read.
func (h *history) unknown(oids []string) (out []string) {
	for _, oid := range oids {
		if _, ok := h.known[oid]; !ok {
			h.known[oid] = commit{}
			out = append(out, oid)
		}
	}
	return out
}

// find returns the commits that begin with prefix.
func (h *history) find(prefix string) (found []string) {
	if _, ok := h.known[prefix]; ok {
		return []string{prefix}
	}
	for oid := range h.known {
		if strings.HasPrefix(oid, prefix) {
			found = append(found, oid)
		}
	}
	return found
}

// ancestors returns a commit and all its ancestors.
func (h *history) ancestors(oid string) map[string]bool {
	seen := map[string]bool{oid: true}
	for todo := []string{oid}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range h.known[last].parents {
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return seen
}
