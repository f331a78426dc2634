package exec

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// Elements returns a chain as a lock sees it.
func Elements(c *Chain) []lock.Element {
	out := make([]lock.Element, len(c.Elements))
	for i, it := range c.Elements {
		out[i] = lock.Element{Link: lock.Link{Ref: it.Ref, Digest: it.Digest}, Space: string(it.Root.Space)}
		if it.Verdict.Owner != "" {
			out[i].Signer = it.Verdict.Owner + " (" + it.Verdict.Signer.Short() + ")"
		}
	}
	return out
}

// pinned holds a chain that was verified against the project's lock. Items of
// bundles and of the system are pinned by the entries of these; those of the
// user are nobody else's.
func (e *Executor) pinned(c *Chain) error {
	l := e.p.Lock
	if l == nil {
		return nil
	}
	found := lock.Found{Chain: Elements(c), Locked: e.p.Locked}
	if e.p.System != nil && l.System != (lock.System{}) { // one that was not recorded is the same
		found.System = e.p.System()
	}
	if e.p.Locked {
		if _, err := lock.NewItem(found.Chain); err != nil {
			return err
		}
	}
	if root := c.Tool().Root; root.Space == space.Project && !root.Bundled() {
		if _, err := l.CheckItem(found); err != nil {
			return err
		}
	}
	return e.drift(c, found)
}

// drift refuses another system bundle than the locked one under --locked, also
// when the items of this chain are the same in both.
func (e *Executor) drift(c *Chain, f lock.Found) error {
	l := e.p.Lock
	if !f.Locked || l.System == f.System {
		return nil
	}
	return diag.New(diag.LockStale, "checking %s: the lock was written with %s %s, this is %s %s",
		c.Tool().Ref, l.System.ID, l.System.Version, f.System.ID, f.System.Version).
		WithDetail("expected", l.System.Sum).WithDetail("found", f.System.Sum)
}
