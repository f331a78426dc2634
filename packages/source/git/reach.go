package git

import (
	"context"
	"encoding/binary"
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
	// keep receives each commit: store, or a function that sends it.
	keep func(name string, made int64, parents []int32) error
}

func newHistory() *history {
	h := &history{number: map[string]int32{}}
	h.keep = h.store
	return h
}

// fill reads the commits of tips generation by generation.
func (h *history) fill(ctx context.Context, objs Objects, tips []string) error {
	for _, oid := range tips {
		tip, _, err := peel(ctx, objs, oid)
		if diag.CodeOf(err) == diag.VersionNotFound {
			continue // a tag of a file
		}
		if err != nil {
			return err
		}
		if _, err := h.add(tip); err != nil {
			return err
		}
	}
	for done := 0; done < len(h.names); {
		from := done
		to := min(len(h.names), done+historyBatch)
		level := make([]string, 0, to-from)
		for _, name := range h.names[from:to] {
			level = append(level, hex.EncodeToString([]byte(name)))
		}
		err := read(ctx, objs, "commit", level, maxCommit, func(i int, data []byte) error {
			return h.read(int32(from+i), level[i], data)
		})
		if err != nil {
			return err
		}
		done = to
	}
	return nil
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
	name := string(raw)
	n := int32(len(h.names))
	h.number[name] = n
	h.names = append(h.names, name)
	return n, nil
}

// read passes the time and the parents of a commit to keep.
func (h *history) read(n int32, oid string, data []byte) error {
	c, err := parseCommit(oid, data)
	if err != nil {
		return err
	}
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
	return h.keep(h.names[n], c.time.Unix(), parents)
}

// store is the function keep of a history in this process. Commits are read in the order of
// their numbers.
func (h *history) store(_ string, made int64, parents []int32) error {
	h.times = append(h.times, made)
	h.parents = append(h.parents, parents)
	return nil
}

// recordsSize is the length of encoded commits that are sent together.
const recordsSize = 64 << 10

// records returns a function for history.keep that calls send with encoded commits: the length
// of the name, the name, the time in 8 bytes, the number of parents in 4, and the number of
// each parent in 4. flush sends the last ones.
func records(send func([]byte) error) (keep func(name string, made int64, parents []int32) error, flush func() error) {
	b := make([]byte, 0, recordsSize)
	flush = func() error {
		err := send(b)
		b = b[:0]
		return err
	}
	keep = func(name string, made int64, parents []int32) error {
		size := 1 + len(name) + 8 + 4 + 4*len(parents)
		if len(b) > 0 && len(b)+size > recordsSize {
			if err := flush(); err != nil {
				return err
			}
		}
		b = append(b, byte(len(name)))
		b = append(b, name...)
		b = binary.BigEndian.AppendUint64(b, uint64(made))
		b = binary.BigEndian.AppendUint32(b, uint32(len(parents)))
		for _, p := range parents {
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		}
		return nil
	}
	return keep, flush
}

// decode adds the commits that encode sent.
func (h *history) decode(b []byte) error {
	for len(b) > 0 {
		size := int(b[0])
		if len(b) < 1+size+12 {
			return errFrame
		}
		name := string(b[1 : 1+size])
		b = b[1+size:]
		made := int64(binary.BigEndian.Uint64(b))
		count := int(binary.BigEndian.Uint32(b[8:]))
		b = b[12:]
		h.edges += count
		if len(h.names) == maxHistory ||
			h.edges > maxParents ||
			len(b) < 4*count {
			return errFrame
		}
		parents := make([]int32, count)
		for i := range parents {
			parents[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
		}
		b = b[4*count:]
		h.number[name] = int32(len(h.names))
		h.names = append(h.names, name)
		h.times = append(h.times, made)
		h.parents = append(h.parents, parents)
	}
	return nil
}

// whole returns an error if a parent is missing.
func (h *history) whole() error {
	for _, parents := range h.parents {
		for _, p := range parents {
			if p < 0 || int(p) >= len(h.names) {
				return errFrame
			}
		}
	}
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
			oid := hex.EncodeToString([]byte(name))
			if strings.HasPrefix(oid, prefix) {
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
