package exec

import (
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// Elements returns the elements of a chain as a lock records them.
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

// checkLock compares a verified chain with the project's lock. Only tools of the
// project have entries of their own: the entries of bundles and of the system
// cover their items, and items of the user are not locked.
func (e *Executor) checkLock(c *Chain) error {
	l := e.p.Lock
	if l == nil {
		return nil
	}
	found := lock.Found{Chain: Elements(c), Locked: e.p.Locked}
	if e.p.System != nil && l.System != (lock.System{}) { // without a record there is nothing to compare
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
	if !found.Locked {
		return nil
	}
	// A --locked run refuses another system bundle also when the items of this
	// chain are the same in both.
	return l.CheckSystem(found.System)
}
