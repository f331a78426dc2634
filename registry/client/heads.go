package client

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// heads are the newest entries about versions, and the revocations, as far as this account
// read the log. An index or a list that lacks one of them is older than the checkpoint,
// although each of its lines is proven.
type heads struct {
	Read        int64            `json:"read"`        // the entries before this number were read, or skipped
	Newest      map[string]int64 `json:"newest"`      // by "ID VERSION"
	Revocations map[int64]string `json:"revocations"` // digests, by the number of the entry
}

const (
	headsName = "heads.json"
	maxHeads  = 16 << 10 // versions, and revocations, that are remembered
	maxBehind = 4096     // entries that are read at one time; older ones are skipped
)

// readHeads returns what the account recorded; a missing or damaged file is the first
// contact: entries before it are not read, so that a large log costs one proof.
func (h *Host) readHeads() *heads {
	out := &heads{Read: -1, Newest: map[string]int64{}}
	b, err := openat.ReadRegular(h.dir.Path(headsName), 4<<20)
	var have heads
	if err == nil && json.Unmarshal(b, &have) == nil && have.Newest != nil && have.Read >= 0 {
		return &have
	}
	return out
}

// newest returns the heads as of the checkpoint, reading the entries since the last call.
func (h *Host) newest(ctx context.Context) (*heads, error) {
	tree := h.Checkpoint().Tree
	h.mu.Lock()
	have := h.heads
	h.mu.Unlock()
	if have == nil {
		have = h.readHeads()
	}
	if have.Read == tree.Size {
		return have, nil
	}
	next := &heads{Read: tree.Size, Newest: map[string]int64{}, Revocations: map[int64]string{}}
	maps.Copy(next.Newest, have.Newest)
	maps.Copy(next.Revocations, have.Revocations)
	if have.Read >= 0 {
		err := h.proven(tree, func(r *log.Reader) error {
			for n := max(have.Read, tree.Size-maxBehind); n < tree.Size; n++ {
				raw, err := r.Entry(ctx, n)
				if err != nil {
					return err
				}
				if e, err := log.ParseEntry(raw); err == nil { // a type of a later version is not read
					next.add(n, e)
				}
			}
			return nil
		})
		if err != nil {
			return nil, h.proofError("reading the new entries of the log", err)
		}
	}
	next.trim()
	h.mu.Lock()
	h.heads = next
	h.mu.Unlock()
	b, err := json.Marshal(next)
	if err == nil {
		_ = h.dir.Replace(headsName, b, 0o600) // without it, the next call reads nothing and compares less
	}
	return next, nil
}

func (x *heads) add(n int64, e *log.Entry) {
	switch {
	case e.Type == log.Revocation:
		x.Revocations[n] = e.Digest
	case e.Version != "":
		x.Newest[e.ID+" "+e.Version] = n
	}
}

// trim forgets the oldest entries beyond the limit.
func (x *heads) trim() {
	if oldest := oldestKept(slices.Collect(maps.Values(x.Newest))); oldest > 0 {
		maps.DeleteFunc(x.Newest, func(_ string, n int64) bool { return n < oldest })
	}
	if oldest := oldestKept(slices.Collect(maps.Keys(x.Revocations))); oldest > 0 {
		maps.DeleteFunc(x.Revocations, func(n int64, _ string) bool { return n < oldest })
	}
}

// oldestKept returns the smallest of the maxHeads largest numbers, 0 if there are not more.
func oldestKept(all []int64) int64 {
	if len(all) <= maxHeads {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-maxHeads]
}

// upToDate refuses an index that is older than the checkpoint.
func (h *Host) upToDate(ctx context.Context, id wire.ID, lines []*wire.Line) error {
	x, err := h.newest(ctx)
	if err != nil {
		return err
	}
	last := map[string]int64{}
	for _, l := range lines {
		last[l.ID+" "+l.Version] = l.Log
		if l.StateLog != nil {
			last[l.ID+" "+l.Version] = *l.StateLog
		}
	}
	for k, n := range x.Newest {
		if bundle, _, ok := strings.Cut(k, " "); !ok || bundle != id.String() {
			continue
		}
		if at, ok := last[k]; !ok || at < n {
			return diag.New(diag.Rollback, "reading the index of %s from registry %s: it lacks log entry %d about %s, which the checkpoint covers", id, h.Name, n, k).
				WithReason("registry_old_index").WithDetail("host", h.Name).WithDetail("entry", n)
		}
	}
	return nil
}
