package primary

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// LockItems returns the lock entry of every executable tool of the project. A
// tool that cannot be locked is a finding: a warning if its chain passes through
// the user space, which other machines do not have, an error if its chain is
// invalid.
func (v *Verbs) LockItems(ctx context.Context) ([]lock.Item, []diag.Finding, error) {
	return v.lockEach(ctx, func(resolve.Entry) bool { return true })
}

// lockEach is LockItems for the wanted tools.
func (v *Verbs) lockEach(ctx context.Context, wanted func(resolve.Entry) bool) ([]lock.Item, []diag.Finding, error) {
	entries, err := v.p.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil, nil, err
	}
	var out []lock.Item
	var fs []diag.Finding
	for _, e := range entries {
		if !ownItem(e.Root) || e.Shadow || !wanted(e) {
			continue
		}
		it, bad, err := v.lockItem(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		if it != nil {
			out = append(out, *it)
		}
		fs = append(fs, bad...)
	}
	return out, fs, ctx.Err()
}

// ownItem reports whether a root contains the project's own items.
func ownItem(root *space.Root) bool { return root.Space == space.Project && !root.Bundled() }

// lockItem returns the entry of one tool, or nil if it is not executable or cannot
// be locked.
func (v *Verbs) lockItem(ctx context.Context, e resolve.Entry) (*lock.Item, []diag.Finding, error) {
	it, err := v.p.Resolver.Open(ctx, e)
	if err != nil {
		return nil, []diag.Finding{signFinding(e.Root.Display(e.Rel), err)}, ctx.Err()
	}
	if it.Support() || it.Meta.ExecutorID == "" {
		return nil, nil, nil
	}
	chain, err := v.p.Executor.Walk(ctx, e.Ref)
	if err != nil {
		return nil, []diag.Finding{signFinding(it.Path(), err)}, ctx.Err()
	}
	entry, err := lock.NewItem(exec.Elements(chain))
	if err != nil {
		f := signFinding(it.Path(), err)
		f.Severity = diag.SeverityWarning
		return nil, []diag.Finding{f}, nil
	}
	return &entry, nil, nil
}

// RefreshLock updates the entries of items that were just signed, and of the tools
// whose chains contain them, and reports whether the lock changed. An entry that
// differs in anything else is kept, with a warning: signing an item must not
// accept other changes.
func (v *Verbs) RefreshLock(ctx context.Context, l *lock.Lock, system lock.System, signed []item.Ref) (bool, []diag.Finding, error) {
	if !slices.ContainsFunc(signed, func(ref item.Ref) bool { return ref.Kind == item.Tool }) {
		return false, nil, nil
	}
	now, fs, err := v.reached(ctx, l, signed)
	if err != nil {
		return false, nil, err
	}
	before := l.Render()
	if l.System == (lock.System{}) {
		l.System = system // the lock has no entries of another system bundle
	}
	for _, it := range now {
		old := l.Item(it.Ref)
		switch {
		case !slices.ContainsFunc(it.Chain, func(x lock.Link) bool { return slices.Contains(signed, x.Ref) }):
		case old == nil:
			if slices.Contains(signed, it.Ref) {
				l.SetItem(it)
			}
		default:
			if fresh, ok := refreshed(*old, it, signed, l.System == system); ok {
				l.SetItem(fresh)
			} else {
				f := diag.Warnf(diag.LockMismatch, 0, 0, "%s differs from its lock entry in more than the signed item; the entry is kept", it.Ref)
				f.Path = lock.LockFile
				fs = append(fs, f.WithReason("entry_kept"))
			}
		}
	}
	return string(before) != string(l.Render()), fs, nil
}

// reached returns the entries that signing these items can change: their own, and
// those whose chains contain one of them. Invalid chains are not reported: they
// were invalid before.
func (v *Verbs) reached(ctx context.Context, l *lock.Lock, signed []item.Ref) ([]lock.Item, []diag.Finding, error) {
	out, fs, err := v.lockEach(ctx, func(e resolve.Entry) bool {
		entry := l.Item(e.Ref)
		return slices.Contains(signed, e.Ref) ||
			entry != nil && slices.ContainsFunc(entry.Chain, func(x lock.Link) bool { return slices.Contains(signed, x.Ref) })
	})
	return out, slices.DeleteFunc(fs, func(f diag.Finding) bool { return f.Severity == diag.SeverityError }), err
}

// refreshed returns the old entry with the links of the found chain that were
// signed or are new. Every other link must be equal in both, or ok is false;
// with another system bundle than the locked one, the old link is kept.
func refreshed(old, found lock.Item, signed []item.Ref, sameSystem bool) (lock.Item, bool) {
	out := lock.Item{Ref: found.Ref, Digest: old.Digest, Extra: old.Extra}
	for _, link := range found.Chain {
		i := slices.IndexFunc(old.Chain, func(x lock.Link) bool { return x.Ref == link.Ref })
		if !slices.Contains(signed, link.Ref) && i >= 0 && old.Chain[i] != link {
			if sameSystem {
				return old, false
			}
			link = old.Chain[i]
		}
		out.Chain = append(out.Chain, link)
	}
	out.Digest = out.Chain[0].Digest
	return out, true
}
