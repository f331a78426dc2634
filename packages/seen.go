package packages

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// sightKey names a version with the commit that it is: a tag that moved is seen
// for the first time again.
func sightKey(b lock.Bundle) string { return b.ID + " " + b.Version + " " + b.Commit }

// firstSights notes versions that are seen for the first time and returns when
// each was. What a commit says of its own time can be forged and counts nothing.
func (e *Engine) firstSights(ctx context.Context, bundles []*lock.Bundle, got map[lock.Module]*source.Snapshot) (map[string]time.Time, error) {
	var keys []string
	for _, b := range bundles {
		if snap := got[b.Module()]; snap != nil {
			keys = append(keys, sightKey(lock.Bundle{ID: b.ID, Version: b.Version, Commit: snap.Origin.Commit}))
		}
	}
	return e.sights(ctx, keys)
}

// sights returns when each key was first seen, which is now for a new one.
func (e *Engine) sights(ctx context.Context, keys []string) (map[string]time.Time, error) {
	now := e.p.Now().UTC().Truncate(time.Second)
	all := map[string]time.Time{}
	if e.p.Seen == "" || len(keys) == 0 {
		for _, k := range keys {
			all[k] = now
		}
		return all, nil
	}
	l, err := filelock.Acquire(ctx, e.p.Seen+".lock")
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "noting when versions were first seen: %w", err)
	}
	defer l.Release()
	b, err := os.ReadFile(e.p.Seen)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "reading when versions were first seen (%s): %w", e.p.Seen, err)
	}
	changed := false
	for _, k := range keys {
		if at, known := all[k]; !known || at.After(now) {
			all[k], changed = now, true
		}
	}
	if !changed {
		return all, nil
	}
	if b, err = json.MarshalIndent(all, "", "\t"); err == nil {
		err = atomicfile.Write(e.p.Seen, append(b, '\n'), 0o600)
	}
	return all, err
}

// cooled refuses a version that nobody here has known for long enough.
func cooled(rs Rules, now, seen time.Time, m lock.Module) error {
	r, least := rs.MinAge()
	if least <= 0 || now.Sub(seen) >= least {
		return nil
	}
	until := seen.Add(least).UTC().Format(time.RFC3339)
	return r.detail(diag.New(diag.Cooldown, "verifying %s: it was first seen %s, and %s is %s", m, seen.UTC().Format(time.RFC3339), r, least)).
		WithDetail("first_seen", seen.UTC().Format(time.RFC3339)).WithDetail("min_age", least.String()).WithDetail("allowed_from", until).
		WithHint("most bad releases are noticed within days: try again after %s, or let a person lower policy.min-age in %s", until, r.File)
}
