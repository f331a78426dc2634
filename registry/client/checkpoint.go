package client

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

const (
	latestName = "latest"
	lockName   = "lock"
	lockWait   = 30 * time.Second
)

// isProof reports whether an error means that a tile or entry does not belong to the
// signed tree.
func isProof(err error) bool {
	return errors.Is(err, log.ErrProof)
}

// refresh reads the newest checkpoint, or offline the checkpoint of the account, and adopts it.
func (h *Host) refresh(ctx context.Context) error {
	if h.c.p.Offline {
		cp, err := h.latest()
		if err == nil && cp == nil {
			err = notCached("the checkpoint of registry " + h.Name)
		}
		if err == nil {
			h.set(cp)
		}
		return err
	}
	for {
		before, err := h.latest()
		if err != nil {
			return err
		}
		err = h.remote.get(ctx, wire.LogPath+"/"+log.CheckpointName, log.MaxCheckpoint, "", func(f file) error {
			cp, err := h.verify(ctx, f)
			if err != nil {
				return err
			}
			return h.adopt(ctx, cp, f.url)
		})
		if diag.CodeOf(err) != diag.Rollback {
			return err
		}
		// Another process may have adopted a newer checkpoint since this one was read.
		after, bad := h.latest()
		if bad != nil || before != nil && after != nil && before.Tree == after.Tree {
			return err
		}
	}
}

// verify returns the checkpoint in a file. If the pinned key did not sign it, the registry
// may have a rotation of that key.
func (h *Host) verify(ctx context.Context, f file) (*log.Checkpoint, error) {
	cp, err := h.verifier(h.Pin.Key).Verify(f.body)
	for hop := 0; errors.Is(err, log.ErrUnsigned) && hop < maxRotations; hop++ {
		if why := h.rotate(ctx); why != nil {
			return nil, h.otherKey(f, why)
		}
		cp, err = h.verifier(h.Pin.Key).Verify(f.body)
	}
	if err != nil {
		return nil, h.badCheckpoint(f, err)
	}
	return cp, nil
}

func (h *Host) badCheckpoint(f file, err error) error {
	switch {
	case errors.Is(err, log.ErrUnsigned):
		return h.otherKey(f, err)
	case errors.Is(err, log.ErrQuorum):
		return diag.New(
			diag.LogProof,
			"reading the checkpoint of %s: %w, and %s demands %d",
			h.Name,
			err,
			h.Pin.From,
			h.Pin.Quorum,
		).
			WithReason("quorum").
			WithDetail("host", h.Name).
			WithDetail("url", f.url)
	}
	return diag.New(diag.LogProof, "reading the checkpoint of %s from %s: %w", h.Name, f.url, err).
		WithDetail("host", h.Name)
}

// otherKey is the error for a checkpoint that the pinned key did not sign.
func (h *Host) otherKey(f file, why error) error {
	return diag.New(diag.KeyUnknown, "reading the checkpoint of %s from %s: the pinned log key has not signed it, and no rotation signed by that key leads to another: %w", h.Name, f.url, why).
		WithReason("registry_key").
		WithDetail("host", h.Name).
		WithDetail("expected", h.Pin.Key)
}

// latest returns the newest checkpoint of the account, nil without one. A file that
// no key of the chain signed is an error: without it a rollback could not be seen.
func (h *Host) latest() (*log.Checkpoint, error) {
	b, err := openat.ReadRegular(h.dir.Path(latestName), log.MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the last checkpoint of %s: %w", h.Name, err)
	}
	for _, key := range h.chain {
		cp, why := h.verifier(key).Verify(b)
		if why == nil || errors.Is(why, log.ErrQuorum) { // the quorum was judged when it was adopted
			return cp, nil
		}
		err = why
	}
	return nil, diag.New(
		diag.KeyUnknown,
		"reading the last checkpoint of %s (%s): %w",
		h.Name,
		h.dir.Path(latestName),
		err,
	).
		WithReason("registry_latest").
		WithDetail("host", h.Name).
		WithDetail("path", h.dir.Path(latestName))
}

func (h *Host) set(cp *log.Checkpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = cp
	h.reader = log.NewReader(h.tiles.read, cp.Tree)
}

// adopt compares a checkpoint with the newest one of the account and keeps it. Other
// processes may do the same: what they wrote in between is compared, too.
func (h *Host) adopt(ctx context.Context, cp *log.Checkpoint, from string) error {
	for {
		was, err := h.latest()
		if err != nil {
			return err
		}
		if was != nil {
			if err := h.compare(ctx, cp, was, from); err != nil {
				return err
			}
		}
		done, err := h.swap(ctx, was, cp)
		if err != nil {
			return err
		}
		if done {
			h.set(cp)
			return nil
		}
	}
}

// swap writes a checkpoint unless the newest one is not was any more.
func (h *Host) swap(ctx context.Context, was, cp *log.Checkpoint) (bool, error) {
	l, err := h.dir.LockWithin(ctx, lockName, lockWait)
	if err != nil {
		return false, diag.New(diag.FileSystemError, "keeping the checkpoint of %s: %w", h.Name, err)
	}
	defer l.Release()
	now, err := h.latest()
	switch {
	case err != nil:
		return false, err
	case (now == nil) != (was == nil),
		now != nil && now.Tree != was.Tree:
		return false, nil
	case now != nil && now.Tree == cp.Tree && len(now.Witnesses) >= len(cp.Witnesses) && !cp.Time.After(now.Time):
		return true, nil
	}
	err = h.dir.Write(noteName(cp.Tree), cp.Note, 0o600)
	if err != nil {
		return false, diag.New(diag.FileSystemError, "keeping the checkpoint of %s: %w", h.Name, err)
	}
	err = h.dir.Write(latestName, cp.Note, 0o600)
	if err != nil {
		return false, diag.New(diag.FileSystemError, "keeping the checkpoint of %s: %w", h.Name, err)
	}
	return true, nil
}

// compare refuses a checkpoint that is not a continuation of another signed one.
func (h *Host) compare(ctx context.Context, cp, was *log.Checkpoint, from string) error {
	newer := cp
	older := was
	if cp.Tree.Size < was.Tree.Size {
		newer = was
		older = cp
	}
	if newer.Tree == older.Tree {
		return nil
	}
	err := h.prefix(ctx, newer.Tree, older.Tree)
	var forked *forkError
	switch {
	case errors.As(err, &forked):
		return h.equivocation(&evidence{
			newer: newer,
			older: older,
			fork:  forked,
			from:  from,
		})
	case newer == was: // it is older, whether or not the server still has the tiles of the newer tree
		return diag.New(
			diag.Rollback,
			"reading the checkpoint of %s from %s: it has %d entries, and this account saw one with %d",
			h.Name,
			from,
			cp.Tree.Size,
			was.Tree.Size,
		).
			WithReason("registry_older").
			WithDetail("host", h.Name).
			WithDetail("expected", was.Tree.String()).
			WithDetail("found", cp.Tree.String())
	case err != nil:
		return h.proofError("comparing the checkpoint with the one before", err)
	}
	return nil
}

// forkError is the proof that two trees do not belong to one log: what the newer tree has
// in place of the older one.
type forkError struct {
	prefix log.Tree
	proof  log.Proof // that the newer tree contains prefix
}

func (e *forkError) Error() string {
	return "the newer tree contains " + e.prefix.String() + " instead"
}

// prefix returns a *forkError if older is not a prefix of newer.
func (h *Host) prefix(ctx context.Context, newer, older log.Tree) error {
	if newer.Size == older.Size {
		if newer == older {
			return nil
		}
		return &forkError{prefix: newer}
	}
	return h.proven(newer, func(r *log.Reader) error {
		_, err := r.Consistency(ctx, older)
		if !errors.Is(err, log.ErrInconsistent) {
			return err
		}
		// The proof leads from another prefix: that is the contradiction.
		at, err := r.Prefix(ctx, older.Size)
		if err != nil {
			return err
		}
		proof, err := r.Consistency(ctx, at)
		if err != nil {
			return err
		}
		return &forkError{at, proof}
	})
}

// proofError is the error for tiles or entries that a server does not prove.
func (h *Host) proofError(doing string, err error) error {
	if diag.CodeOf(err) != "" && !isProof(err) {
		return err
	}
	return diag.New(diag.LogProof, "%s of %s: %w", doing, h.Name, err).
		WithReason("log_proof").
		WithDetail("host", h.Name)
}

// Check refuses a registry whose log does not contain a state that this account records.
func (h *Host) Check(ctx context.Context, k Known) error {
	now := h.Checkpoint().Tree
	at := func(e *diag.Error) error {
		return e.
			WithDetail("host", h.Name).
			WithDetail("expected", k.Tree.String()).
			WithDetail("found", now.String()).
			WithDetail("from", k.From)
	}
	if !h.hasKey(k.Key) {
		return diag.New(
			diag.KeyUnknown,
			"comparing %s with registry %s: it names the log key %s, and %s is pinned",
			k.From,
			h.Name,
			k.Key,
			h.Pin.Key,
		).
			WithReason("registry_lock_key").
			WithDetail("host", h.Name).
			WithDetail("expected", h.Pin.Key).
			WithDetail("found", k.Key)
	}
	if k.Tree.Size > now.Size {
		return at(diag.New(
			diag.Rollback,
			"comparing %s with registry %s: it records %d entries of the log, and the registry has %d",
			k.From,
			h.Name,
			k.Tree.Size,
			now.Size,
		).
			WithReason("registry_older"))
	}
	err := h.prefix(ctx, now, k.Tree)
	var forked *forkError
	if !errors.As(err, &forked) {
		if err != nil && h.c.p.Offline {
			return nil // without the tiles nothing is learned; the next call with the network compares
		}
		if err != nil {
			return h.proofError("comparing "+k.From+" with the log", err)
		}
		return nil
	}
	// A lock is not signed by the log. With the note that this account saw for it, the
	// registry is proven wrong; without one, the file may be.
	if older := h.note(k.Tree); older != nil {
		return h.equivocation(&evidence{
			newer: h.Checkpoint(),
			older: older,
			fork:  forked,
			from:  k.From,
		})
	}
	return h.unproven(k, forked)
}

// Gossip compares a recorded state with the newest checkpoint that this account saw, without
// the network. A state that cannot be compared here, such as a newer one, passes: the next
// use of the registry compares it.
func (c *Client) Gossip(ctx context.Context, k Known) error {
	alone := &Client{p: c.p}
	alone.p.Offline = true
	h, err := alone.Bare(k.Host)
	if err != nil || h.Pin.Key == "" {
		return err
	}
	pin := *h.Pin
	h.Pin = &pin
	h.chain = []string{pin.Key}
	h.tiles = newTileCache(h)
	h.followSaved()
	cp, err := h.latest()
	if err != nil || cp == nil || k.Tree.Size > cp.Tree.Size {
		return err
	}
	h.set(cp)
	return h.Check(ctx, k)
}

// hasKey reports whether a key is the pinned one, or was rotated from or to it.
func (h *Host) hasKey(key string) bool {
	for _, k := range h.chain {
		if k == key {
			return true
		}
	}
	return false
}

// Age returns how old the checkpoint is by the cosignatures of the quorum. ok is false
// without witnesses: the log itself states no time that is proven.
func (h *Host) Age() (age time.Duration, ok bool) {
	cp := h.Checkpoint()
	if cp.Time.IsZero() {
		return 0, false
	}
	return h.c.p.Now().Sub(cp.Time), true
}

// LastSigned returns when the quorum signed the account's newest checkpoint, without the network; zero without a pin, a checkpoint or a witness.
func (c *Client) LastSigned(host string) time.Time {
	h, err := c.Bare(host)
	if err != nil || h.Pin.Key == "" {
		return time.Time{}
	}
	pin := *h.Pin
	h.Pin = &pin
	h.chain = []string{pin.Key}
	h.followSaved()
	cp, err := h.latest()
	if err != nil || cp == nil {
		return time.Time{}
	}
	return cp.Time
}

// Pin returns the pin of a host, nil without one.
func (c *Client) Pin(host string) (*Pin, error) {
	return c.p.Pin(host)
}
