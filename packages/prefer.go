package packages

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// Preferred is the difference of an item that did not change itself: the project
// file names its bundle for it.
const Preferred lock.Op = "preferred"

// describePrefers adds the items that prefer of the project file may have made
// effective since the lock was written: reserved items, and those that are used
// instead of the items of another space. The lock records one hash for all settings,
// so after any change of them every such item is listed.
//
// A new prefer is effective when the manifest hash of the lock has it; rye lock asks before it
// writes the hash. The lock has no list of preferences: one hash is enough to refuse.
func (s *solver) describePrefers(
	ctx context.Context,
	l *lock.Lock,
	changes []Change,
) ([]Change, error) {
	if s.st.lock == nil ||
		slices.ContainsFunc(s.st.locks(), func(was *lock.Lock) bool { return was.Manifest == l.Manifest }) {
		return changes, nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.project.Prefer)) {
		ref, err := item.ParseRef(name, "")
		if err != nil {
			return nil, err
		}
		id := preferredFor(s.project, ref)
		x, err := s.preferred(ctx, l, ref, id)
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		i := slices.IndexFunc(changes, func(c Change) bool {
			return c.ID == id.String()
		})
		if i < 0 {
			i = len(changes)
			changes = append(changes, lockedChange(l, id))
		}
		c := &changes[i]
		at := slices.IndexFunc(c.Items, func(y ItemChange) bool {
			return y.Name == x.Name
		})
		switch {
		case at < 0:
			c.Items = append(c.Items, *x)
		case c.Items[at].Consent == "" || c.accepted:
			c.Items[at].Over = x.Over
			c.Items[at].Consent = x.Consent
		}
	}
	return changes, nil
}

// lockedChange returns the change of a bundle or member whose entry is the same.
func lockedChange(l *lock.Lock, id lock.ID) Change {
	c := Change{
		ID:       id.String(),
		From:     "local",
		To:       "local",
		accepted: true,
	}
	if b := l.Bundle(id); b != nil {
		c.From = b.Version
		c.To = b.Version
		c.Direct = b.Require != ""
		c.Commit = b.Commit
		c.Signers = b.Signers
		c.Caps = b.Caps
	}
	return c
}

// preferred returns the item of a bundle that a user has to accept because the
// project file prefers it, or nil.
func (s *solver) preferred(
	ctx context.Context,
	l *lock.Lock,
	ref item.Ref,
	id lock.ID,
) (*ItemChange, error) {
	b := l.Bundle(id)
	if b == nil &&
		!slices.ContainsFunc(l.Members, func(m lock.Member) bool {
			return id == m.ID ||
				id.String() == m.Path
		}) {
		return nil, nil // no bundle of this project
	}
	if b != nil {
		has, err := s.has(ctx, *b, ref)
		if err != nil || !has {
			return nil, err
		}
	}
	x := &ItemChange{Name: ref.String(), Op: Preferred, Consent: "prefer"}
	if s.e.p.Others != nil {
		others, err := s.e.p.Others(ctx, ref, id.String())
		if err != nil {
			return nil, err
		}
		for _, o := range others {
			switch {
			case o.Bundle != "":
			case !o.Nearer:
				x.Over = append(x.Over, o.Label)
			case ref.Kind != item.Config:
				return nil, nil // the nearer item is used
			}
		}
	}
	if len(x.Over) == 0 && !space.Reserved(ref) {
		return nil, nil
	}
	return x, nil
}

// has reports whether the project uses an item of a locked bundle. Of a directory,
// and of files that are not available here, it is assumed.
func (s *solver) has(
	ctx context.Context,
	b lock.Bundle,
	ref item.Ref,
) (bool, error) {
	if !lock.Uses(b.Use, ref) {
		return false, nil
	}
	snap := s.snaps[b.Module()]
	if snap == nil || s.e.p.Contents == nil {
		return true, nil
	}
	list, err := s.e.p.Contents(ctx, snap)
	return slices.ContainsFunc(list, func(c Content) bool {
		return c.Ref == ref || c.Signs == ref
	}), err
}

// onlyPrefers returns the changes with nothing but preferred items to accept.
func onlyPrefers(changes []Change) []Change {
	out := slices.Clone(changes)
	for i := range out {
		out[i].accepted = true
	}
	return out
}

// preferredAs states what a preferred item does, as a predicate.
func preferredAs(x ItemChange) string {
	if len(x.Over) > 0 {
		return "used instead of the item of " + strings.Join(x.Over, ", ")
	}
	return "below rye/ or a setting of the system"
}
