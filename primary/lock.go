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

// LockItems returns the lock entry of every tool of the project's own space
// that can run. What cannot be locked is a finding: a warning for a chain
// through the user space, which only this machine has, an error for a chain
// that does not hold.
func (h *Verbs) LockItems(ctx context.Context) ([]lock.Item, []diag.Finding, error) {
	return h.lockEach(ctx, func(resolve.Entry) bool { return true })
}

// lockEach is LockItems for the tools that are wanted.
func (h *Verbs) lockEach(ctx context.Context, wanted func(resolve.Entry) bool) ([]lock.Item, []diag.Finding, error) {
	entries, err := h.p.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil, nil, err
	}
	var out []lock.Item
	var fs []diag.Finding
	for _, e := range entries {
		if !ownItem(e.Root) || e.Shadow || !wanted(e) {
			continue
		}
		it, bad, err := h.lockItem(ctx, e)
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

// ownItem reports whether a root holds the project's own items.
func ownItem(root *space.Root) bool { return root.Space == space.Project && !root.Bundled() }

// lockItem returns the entry of one tool, nil when it is not executable or
// cannot be locked.
func (h *Verbs) lockItem(ctx context.Context, e resolve.Entry) (*lock.Item, []diag.Finding, error) {
	it, err := h.p.Resolver.Open(ctx, e)
	if err != nil {
		return nil, []diag.Finding{signFinding(e.Root.Display(e.Rel), err)}, ctx.Err()
	}
	if it.Support() || it.Meta.ExecutorID == "" {
		return nil, nil, nil
	}
	chain, err := h.p.Executor.Walk(ctx, e.Ref)
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

// RefreshLock brings the entries of items that were just signed up to date, and
// of the tools whose chains hold them, and reports whether anything changed.
// Nothing else that differs from the lock is accepted: such an entry stays and
// is a warning.
func (h *Verbs) RefreshLock(ctx context.Context, l *lock.Lock, system lock.System, signed []item.Ref) (bool, []diag.Finding, error) {
	if !slices.ContainsFunc(signed, func(ref item.Ref) bool { return ref.Kind == item.Tool }) {
		return false, nil, nil
	}
	now, fs, err := h.reached(ctx, l, signed)
	if err != nil {
		return false, nil, err
	}
	before := l.Render()
	if l.System == (lock.System{}) {
		l.System = system // no entry can tell another one
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
				f := diag.Warnf(diag.LockMismatch, 0, 0, "%s differs from its entry in more than what was signed, so the entry stays", it.Ref)
				f.Path = lock.LockFile
				fs = append(fs, f.WithReason("entry_kept"))
			}
		}
	}
	return string(before) != string(l.Render()), fs, nil
}

// reached returns the entries that signing these items can change: their own,
// and those whose chains held one. What does not hold is no worse than before.
func (h *Verbs) reached(ctx context.Context, l *lock.Lock, signed []item.Ref) ([]lock.Item, []diag.Finding, error) {
	out, fs, err := h.lockEach(ctx, func(e resolve.Entry) bool {
		return slices.Contains(signed, e.Ref) || holds(l.Item(e.Ref), signed)
	})
	return out, slices.DeleteFunc(fs, func(f diag.Finding) bool { return f.Severity == diag.SeverityError }), err
}

// holds reports whether one of the items stands in the chain of an entry.
func holds(entry *lock.Item, refs []item.Ref) bool {
	return entry != nil && slices.ContainsFunc(entry.Chain, func(x lock.Link) bool { return slices.Contains(refs, x.Ref) })
}

// refreshed takes from the chain that was found what was signed, and where that
// leads; the rest must be as in the entry, unless another system bundle than
// the locked one supplies it.
func refreshed(old, found lock.Item, signed []item.Ref, sameSystem bool) (lock.Item, bool) {
	mine := func(ref item.Ref) bool { return slices.Contains(signed, ref) }
	out := lock.Item{Ref: found.Ref, Digest: old.Digest, Extra: old.Extra}
	for _, link := range found.Chain {
		i := slices.IndexFunc(old.Chain, func(x lock.Link) bool { return x.Ref == link.Ref })
		if !mine(link.Ref) && i >= 0 && old.Chain[i] != link {
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
