package exec

import (
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
	if !found.Locked {
		return nil
	}
	// A --locked run refuses another system bundle also when the items of this
	// chain are the same in both.
	return l.CheckSystem(found.System)
}
