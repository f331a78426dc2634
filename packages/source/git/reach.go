package git

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
)

// Limits of a history.
const (
	maxHistory = 1_000_000 // commits
	maxParents = 4_000_000 // of all commits together
	// historyBatch is the number of commits that are requested at once.
	historyBatch = 4096
)

// history is every commit of the branches and tags of a remote. It does not change
// after it was read. A commit is a number: a million of them must not take much memory.
type history struct {
	number  map[string]int32 // of a commit, by its binary name
	names   []string         // binary
	times   []int64
	parents [][]int32
	edges   int
}

// readHistory reads the commits generation by generation.
func readHistory(ctx context.Context, objs Objects, refs *Refs) (*history, error) {
	h := &history{number: map[string]int32{}}
	for _, r := range refs.List {
		tip, _, err := peel(ctx, objs, r.OID)
		if diag.CodeOf(err) == diag.VersionNotFound {
			continue // a tag of a file
		}
		if err != nil {
			return nil, err
		}
		if _, err := h.add(tip); err != nil {
			return nil, err
		}
	}
	for done := 0; done < len(h.names); {
		from, to := done, min(len(h.names), done+historyBatch)
		level := make([]string, 0, to-from)
		for _, name := range h.names[from:to] {
			level = append(level, hex.EncodeToString([]byte(name)))
		}
		err := read(ctx, objs, "commit", level, maxCommit, func(i int, data []byte) error {
			return h.read(int32(from+i), level[i], data)
		})
		if err != nil {
			return nil, err
		}
		done = to
	}
	return h, nil
}

// add returns the number of a commit, a new one if it was not added before.
func (h *history) add(oid string) (int32, error) {
	raw, err := hex.DecodeString(oid)
	if err != nil {
		return 0, diag.New(diag.HashMismatch, "reading the history: %q is not a commit", oid)
	}
	if n, ok := h.number[string(raw)]; ok {
		return n, nil
	}
	if len(h.names) == maxHistory {
		return 0, diag.New(diag.LimitExceeded, "reading the history: it has more than %d commits", maxHistory)
	}
	name, n := string(raw), int32(len(h.names))
	h.number[name] = n
	h.names = append(h.names, name)
	h.times = append(h.times, 0)
	h.parents = append(h.parents, nil)
	return n, nil
}

// read records the time and the parents of a commit.
func (h *history) read(n int32, oid string, data []byte) error {
	c, err := parseCommit(oid, data)
	if err != nil {
		return err
	}
	h.times[n] = c.time.Unix()
	if h.edges += len(c.parents); h.edges > maxParents {
		return diag.New(diag.LimitExceeded, "reading the history: its commits have more than %d parents", maxParents)
	}
	parents := make([]int32, 0, len(c.parents))
	for _, p := range c.parents {
		k, err := h.add(p)
		if err != nil {
			return err
		}
		parents = append(parents, k)
	}
	h.parents[n] = parents
	return nil
}

// find returns the commits that begin with prefix.
func (h *history) find(prefix string) (found []string) {
	if raw, err := hex.DecodeString(prefix); err == nil {
		if _, ok := h.number[string(raw)]; ok {
			return []string{prefix}
		}
	}
	raw, err := hex.DecodeString(prefix[:len(prefix)/2*2])
	if err != nil {
		return nil
	}
	for _, name := range h.names {
		if strings.HasPrefix(name, string(raw)) {
			if oid := hex.EncodeToString([]byte(name)); strings.HasPrefix(oid, prefix) {
				found = append(found, oid)
			}
		}
	}
	return found
}

// time returns when a commit was made.
func (h *history) time(oid string) time.Time {
	raw, _ := hex.DecodeString(oid)
	n, ok := h.number[string(raw)]
	if !ok {
		return time.Time{}
	}
	return time.Unix(h.times[n], 0).UTC()
}

// ancestors returns a test for a commit and all its ancestors.
func (h *history) ancestors(oid string) func(oid string) bool {
	seen := make([]bool, len(h.names))
	var todo []int32
	visit := func(n int32) {
		if !seen[n] {
			seen[n] = true
			todo = append(todo, n)
		}
	}
	at := func(oid string) (int32, bool) {
		raw, _ := hex.DecodeString(oid)
		n, ok := h.number[string(raw)]
		return n, ok
	}
	if n, ok := at(oid); ok {
		visit(n)
	}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range h.parents[last] {
			visit(p)
		}
	}
	return func(oid string) bool {
		n, ok := at(oid)
		return ok && seen[n]
	}
}
