package client

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
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
//
// The log has no proof that an entry is the newest about a bundle, so at the first contact an
// older one can be withheld. A signed map from bundles to their newest entries would close this.
type heads struct {
	Read        int64            `json:"read"`        // the entries before this number were read, or skipped
	Newest      map[string]int64 `json:"newest"`      // by "ID VERSION"
	Revocations map[int64]string `json:"revocations"` // digests, by the number of the entry
}

const (
	headsName    = "heads.json"
	maxHeads     = 16 << 10 // versions, and revocations, that are remembered
	maxHeadsKeys = 2 << 20  // bytes of the ids and versions
	maxHeadsFile = 6 << 20  // bytes; what these limits permit is smaller
	maxBehind    = 4096     // entries that are read at one time; older ones are skipped
	firstBehind  = 512      // entries that are read at the first contact: at most three bundles
)

// readHeads returns the record of the account. A missing file is the first contact: only the
// newest entries are read then, so that a large log costs three bundles of entries. A file
// that cannot be read is an error, because without it an old index could not be seen.
func (h *Host) readHeads() (*heads, error) {
	b, err := openat.ReadRegular(h.dir.Path(headsName), maxHeadsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &heads{Read: -1}, nil
	}
	var have heads
	if err == nil {
		err = json.Unmarshal(b, &have)
	}
	if err == nil && (have.Newest == nil || have.Read < 0) {
		err = errors.New("it does not state how far the log was read")
	}
	if err != nil {
		return nil, h.damaged("the newest log entries", headsName, err)
	}
	return &have, nil
}

// damaged is the error for a file of the account that cannot be read.
func (h *Host) damaged(what, name string, err error) error {
	return diag.New(
		diag.FileSystemError,
		"reading %s of registry %s that this account saw: %s: %w; remove the file to record them again from now on",
		what,
		h.Name,
		h.dir.Path(name),
		err,
	)
}

// newest returns the heads as of the checkpoint, reading the entries since the last call.
func (h *Host) newest(ctx context.Context) (*heads, error) {
	tree := h.Checkpoint().Tree
	h.mu.Lock()
	have := h.heads
	h.mu.Unlock()
	if have == nil {
		var err error
		if have, err = h.readHeads(); err != nil {
			return nil, err
		}
	}
	if have.Read == tree.Size {
		return have, nil
	}
	next := &heads{Read: tree.Size, Newest: map[string]int64{}, Revocations: map[int64]string{}}
	maps.Copy(next.Newest, have.Newest)
	maps.Copy(next.Revocations, have.Revocations)
	from := max(have.Read, tree.Size-maxBehind)
	if have.Read < 0 {
		from = max(0, tree.Size-firstBehind)
	}
	err := h.proven(tree, func(r *log.Reader) error {
		for n := from; n < tree.Size; n++ {
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
		// No index has a line with another id or version.
		id, err := wire.ParseID(e.ID)
		if err == nil && id.CheckVersion(e.Version) == nil {
			x.Newest[e.ID+" "+e.Version] = n
		}
	}
}

// trim forgets the oldest entries beyond the limits.
func (x *heads) trim() {
	size := map[int64]int{}
	for k, n := range x.Newest {
		size[n] = len(k)
	}
	oldest := oldestKept(size, maxHeadsKeys)
	maps.DeleteFunc(x.Newest, func(_ string, n int64) bool {
		return n < oldest
	})
	clear(size)
	for n, digest := range x.Revocations {
		size[n] = len(digest)
	}
	oldest = oldestKept(size, maxHeadsKeys)
	maps.DeleteFunc(x.Revocations, func(n int64, _ string) bool {
		return n < oldest
	})
}

// oldestKept returns the smallest of the largest numbers that are at most maxHeads and whose
// sizes are together at most limit, 0 if all numbers are.
func oldestKept(size map[int64]int, limit int) int64 {
	all := slices.Sorted(maps.Keys(size))
	for i, total := len(all)-1, 0; i >= 0; i-- {
		if total += size[all[i]]; total > limit || len(all)-i > maxHeads {
			return all[i] + 1
		}
	}
	return 0
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
		bundle, _, ok := strings.Cut(k, " ")
		if !ok || bundle != id.String() {
			continue
		}
		if at, ok := last[k]; !ok || at < n {
			return diag.New(diag.Rollback, "reading the index of %s from registry %s: it lacks log entry %d about %s, which the checkpoint covers", id, h.Name, n, k).
				WithReason("registry_old_index").WithDetail("host", h.Name).WithDetail("entry", n)
		}
	}
	return nil
}
