package exec

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Elements returns items as a lock records them.
func Elements(items ...*resolve.Item) []lock.Element {
	out := make([]lock.Element, len(items))
	for i, it := range items {
		out[i] = lock.Element{Link: lock.Link{Ref: it.Ref, Digest: it.Digest}, Space: string(it.Root.Space)}
		if it.Verdict.Owner != "" {
			out[i].Signer = it.Verdict.Owner + " (" + it.Verdict.Signer.Short() + ")"
		}
	}
	return out
}

// checkLock compares a verified chain with the project's lock.
func (e *Executor) checkLock(ctx context.Context, c *Chain) error {
	return e.CheckLock(ctx, c.Elements)
}

// CheckLock is CompareLock for items that are about to be used: other system items
// than the locked ones are a warning, with Locked an error.
func (e *Executor) CheckLock(ctx context.Context, elements []*resolve.Item) error {
	err := e.CompareLock(ctx, elements)
	if !e.p.Locked && diag.CodeOf(err) == diag.LockStale {
		if e.p.Warn != nil {
			e.p.Warn(err)
		}
		return nil
	}
	return err
}

// CompareLock compares items with the project's lock: a tool with the rest of its
// chain, or another item alone. Only items of the project have entries of their own:
// the entries of bundles cover their items, items of the system are compared with the
// entries that use them, and items of the user are not locked.
func (e *Executor) CompareLock(ctx context.Context, elements []*resolve.Item) error {
	if e.p.Lock == nil {
		return nil
	}
	found := lock.Found{Chain: Elements(elements...), Locked: e.p.Locked}
	if e.p.System != nil {
		found.System = e.p.System()
	}
	root := elements[0].Root
	if root.Space == space.Project && !root.Bundled() {
		if e.p.Lock.Item(elements[0].Ref) == nil {
			if err := notLockable(elements); err != nil && e.p.Locked {
				return err
			}
			_, err := e.p.Lock.CheckItem(found)
			return err
		}
		uses, _, err := e.Uses(ctx, elements)
		if err != nil {
			return err
		}
		if e.p.Locked {
			err := notLockable(append(slices.Clip(elements), uses...))
			if err != nil {
				return err
			}
		}
		found.Uses = Elements(uses...)
		_, err = e.p.Lock.CheckItem(found)
		return err
	}
	if !e.p.Locked {
		return nil
	}
	if err := notLockable(elements); err != nil {
		return err
	}
	for i, it := range elements {
		if it.Root.Space != space.System {
			continue
		}
		// An item of the project or of a bundle with the same ref is another item.
		above, err := e.p.Resolver.Inspect(ctx, it.Ref)
		if err == nil && above.Root.Space != space.System {
			continue
		}
		err = e.p.Lock.CheckSystem(found.Chain[i].Link, found.System)
		if err != nil {
			return err
		}
	}
	return nil
}

// Uses returns the items that a lock records of an item in addition to its chain, and
// findings about names without a target.
func (e *Executor) Uses(ctx context.Context, elements []*resolve.Item) ([]*resolve.Item, []diag.Finding, error) {
	return e.p.Resolver.Uses(ctx, elements[0], reads(elements)...)
}

// Reads reports whether a chain reads configurations, which then belong to its entry.
func Reads(elements []*resolve.Item) bool {
	return len(reads(elements)) > 0
}

// reads returns the configurations that a chain reads.
// The configurations are merged and verified here, so that one program checks trust, lock and
// project.
func reads(elements []*resolve.Item) (ids []string) {
	if elements[0].Ref.Kind != item.Tool {
		return nil
	}
	for _, el := range elements {
		list, _ := el.Meta.Config["reads"].([]any)
		for _, x := range list {
			if id, ok := x.(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// notLockable returns an error if an item is in the user space, which no lock covers.
func notLockable(items []*resolve.Item) error {
	i := slices.IndexFunc(items, func(it *resolve.Item) bool {
		return it.Root.Space == space.User
	})
	if i < 0 {
		return nil
	}
	return diag.New(
		diag.LockStale,
		"checking %s: %s is in the user space, which is on this machine only, so %s cannot cover it",
		items[0].Ref,
		items[i].Ref,
		lock.LockFile,
	).
		WithReason("user_item").WithDetail("ref", items[i].Ref.String())
}
