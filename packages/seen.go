package packages

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// firstSeen is when each version, by its sight key, was first seen here.
// The time of a registry's log is not used: its operator chooses it.
type firstSeen map[string]time.Time

// sightKey names a version and its commit: a tag that moved is a new version.
func sightKey(b lock.Bundle) string {
	return b.ID.String() + " " + b.Version + " " + b.Commit
}

// firstSights records bundles that are seen for the first time and returns when
// each was first seen. The date in a commit is not used: anyone can choose it.
func (e *Engine) firstSights(
	ctx context.Context,
	bundles []*lock.Bundle,
	snaps map[lock.Module]*source.Snapshot,
) (firstSeen, error) {
	var keys []string
	for _, b := range bundles {
		if snap := snaps[b.Module()]; snap != nil {
			keys = append(keys, sightKey(lock.Bundle{ID: b.ID, Version: b.Version, Commit: snap.Origin.Commit}))
		}
	}
	return e.sights(ctx, keys)
}

// sights returns when each key was first seen and records new keys as seen now.
func (e *Engine) sights(ctx context.Context, keys []string) (firstSeen, error) {
	now := e.p.Now().UTC().Truncate(time.Second)
	if e.p.Seen == "" || len(keys) == 0 {
		all := firstSeen{}
		for _, k := range keys {
			all[k] = now
		}
		return all, nil
	}
	dir := atomicfile.Private(filepath.Dir(e.p.Seen))
	l, err := dir.LockWithin(ctx, filepath.Base(e.p.Seen)+".lock", holdWait)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "recording when versions were first seen: %w", err)
	}
	defer l.Release()
	all, err := e.readSights()
	if err != nil {
		return nil, err
	}
	changed := false
	for _, k := range keys {
		// A sight in the future was recorded under a wrong clock: it would make the
		// version too young for as long as the clock was wrong.
		if at, known := all[k]; !known || at.After(now) {
			all[k] = now
			changed = true
		}
	}
	if !changed {
		return all, nil
	}
	b, err := json.MarshalIndent(all, "", "\t")
	if err == nil {
		err = dir.Write(filepath.Base(e.p.Seen), append(b, '\n'), 0o600)
	}
	return all, err
}

// FirstSeen returns when the account first saw a locked release, by the file that
// Params.Seen names; zero if it never did.
func FirstSeen(file string, b lock.Bundle) (time.Time, error) {
	all, err := New(Params{Seen: file}).readSights()
	return all[sightKey(b)], err
}

// CheckAge refuses a version that is known for less time than the rules allow. A
// zero time is now.
func (rs Rules) CheckAge(now, known time.Time, m lock.Module) error {
	if known.IsZero() {
		known = now
	}
	return checkAge(rs, now, known, m)
}

// maxSeen bounds the file of sights.
const maxSeen = 256 << 20

// readSights returns the recorded sights, without recording any.
func (e *Engine) readSights() (firstSeen, error) {
	all := firstSeen{}
	if e.p.Seen == "" {
		return all, nil
	}
	b, err := openat.ReadRegular(e.p.Seen, maxSeen)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "reading when versions were first seen (%s): %w", e.p.Seen, err)
	}
	return all, nil
}

// checkAge refuses a version that was first seen more recently than the rules
// allow.
func checkAge(rs Rules, now, seen time.Time, m lock.Module) error {
	r, minAge := rs.MinAge()
	if minAge <= 0 || now.Sub(seen) >= minAge {
		return nil
	}
	first := seen.UTC().Format(time.RFC3339)
	return r.detail(diag.New(diag.Cooldown, "verifying %s: it was first seen %s, and %s is %s", m, first, r, minAge)).
		WithReason("min_age").
		WithDetail("first_seen", first).
		WithDetail("min_age", minAge.String()).
		WithDetail("allowed_from", seen.Add(minAge).UTC().Format(time.RFC3339))
}
