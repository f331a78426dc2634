package relock

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

// BaseExpired reports entries that the lock of the base does not have with the same
// content and whose key has expired. The lock is the proof that a signature was made
// before its key expired, so a new entry must not be its own proof.
//
// An item of an expired key is EXPIRED unless the lock names the key as a signer of the
// manifest. Otherwise a bundle could bring what a stolen, expired key signed.
func BaseExpired(ctx context.Context, p *project.Project, old *lock.Lock, report *verify.Report) error {
	if !anyEnded(p) {
		return nil
	}
	for _, it := range p.Lock.Lock.Items {
		if recorded(old, it) {
			continue
		}
		if f := expiredItem(ctx, p, it.Ref); f != nil {
			report.Findings = append(report.Findings, *f)
		}
	}
	for _, b := range p.Lock.Lock.Bundles {
		was := old.Bundle(b.ID)
		if was != nil && was.Version == b.Version && was.Manifest == b.Manifest {
			continue
		}
		for _, fp := range project.SignersOf(b) {
			k, known := p.Trust.Key(fp)
			if known && keychain.Ended(k, p.Env.Now()) {
				f := expiredEntry(
					b.Module().String(),
					k.Fingerprint.Short(),
					k.Owner,
					k.NotAfter,
				)
				report.Findings = append(report.Findings, f)
			}
		}
	}
	return ctx.Err()
}

// recorded reports whether a lock has an item with that content. A nil lock has none.
func recorded(l *lock.Lock, it lock.Item) bool {
	if l == nil {
		return false
	}
	was := l.Item(it.Ref)
	return was != nil && was.Digest == it.Digest
}

// RefuseRevived returns an error if rye.lock has an entry that the last commit does
// not have and whose key has expired: an edit of the lock must not make the key
// usable again. It does nothing if the last commit has no lock.
func RefuseRevived(ctx context.Context, x *deps.Packages) error {
	p := x.Project
	if x.Space != space.Project ||
		p.Lock == nil ||
		p.Files == nil ||
		!anyEnded(p) {
		return nil
	}
	repo, err := p.Env.Repo(ctx)
	if err != nil {
		return nil //nolint:nilerr // no repository
	}
	at, err := p.FilesAt(ctx, repo, "HEAD")
	if err != nil || at[lock.LockFile] == nil {
		return nil //nolint:nilerr // no commit
	}
	old, _ := lock.ParseLock(at[lock.LockFile])
	if old == nil {
		return nil
	}
	var report verify.Report
	if err := BaseExpired(ctx, p, old, &report); err != nil {
		return err
	}
	return diag.FromFindings("checking "+lock.LockFile, report.Findings)
}

// anyEnded reports whether any known key has expired. Otherwise no file needs to be
// read again.
func anyEnded(p *project.Project) bool {
	return slices.ContainsFunc(p.Trust.Keys(), func(k trust.KeyInfo) bool {
		return keychain.Ended(k, p.Env.Now())
	})
}

// expiredItem returns an error about an item of the project if its key has expired,
// or nil. An item that cannot be read is reported elsewhere.
func expiredItem(ctx context.Context, p *project.Project, ref item.Ref) *diag.Finding {
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil || it.Verdict.Ended.IsZero() {
		return nil
	}
	v := it.Verdict
	f := expiredEntry(ref.String(), v.Signer.Short(), v.Owner, v.Ended)
	return &f
}

func expiredEntry(what, key, owner string, end time.Time) diag.Finding {
	f := diag.Errorf(diag.Expired, 0, 0, "the entry of %s is new or changed, and its key %s (%s) expired on %s: only an entry from before proves an earlier signature",
		what, key, owner, end.UTC().Format(time.DateOnly))
	f.Path = lock.LockFile
	return f.WithReason("expired_entry")
}

// refuseExpired keeps the entries of a new lock from adopting what an expired key
// signed: of an item without the same entry before, it returns an error, and the
// entry before stays.
func refuseExpired(
	ctx context.Context,
	p *project.Project,
	before *lock.Lock,
	items []lock.Item,
) (kept []lock.Item, fs []diag.Finding) {
	if !anyEnded(p) {
		return items, nil
	}
	for _, it := range items {
		if !recorded(before, it) {
			if f := expiredItem(ctx, p, it.Ref); f != nil {
				fs = append(fs, *f)
				continue
			}
		}
		kept = append(kept, it)
	}
	return slices.Clip(kept), fs
}

// EndingKeys returns a warning for each key that expires soon, and for own keys that
// expired without a successor. rye doctor shows them.
func EndingKeys(p *project.Project) []diag.Finding {
	var out []diag.Finding
	for _, e := range Endings(p) {
		out = append(out, e.warning)
	}
	return out
}

// ending is a key that expires soon, with its warning.
type ending struct {
	Key     trust.KeyInfo
	warning diag.Finding
}

func Endings(p *project.Project) []ending {
	var out []ending
	for _, k := range p.Trust.Keys() {
		f, ok := k.Ending(p.Env.Now())
		if ok && k.State.Usable() {
			out = append(out, ending{k, f})
		}
	}
	return out
}
