package lock

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Standing says how an item stands to the lock.
type Standing string

// The standings.
const (
	Matched   Standing = "matched"
	NotLocked Standing = "not locked" // the lock has no entry for it
	Drifted   Standing = "drifted"    // only items of another system bundle differ
	Mismatch  Standing = "mismatch"
)

// Element is one element of a chain as it was found.
type Element struct {
	Link
	Space  string // project, user or system
	Signer string // of these bytes, as a person knows it; "" when unknown
}

// Found is what a run is about to use.
type Found struct {
	Chain  []Element // from the item to the primitive
	System System    // the system bundle of this program
	Locked bool      // --locked: no entry and drift are errors too
}

// CheckItem compares a chain with its entry. A difference is a LOCK_MISMATCH
// whose details say which element, what was expected, what was found and who
// signed that. Another system bundle than the one locked is drift: its items
// may differ, and only --locked refuses.
func (l *Lock) CheckItem(f Found) (Standing, error) {
	ref := f.Chain[0].Ref
	entry := l.Item(ref)
	switch {
	case entry == nil && f.Locked:
		return NotLocked, diag.New(diag.LockStale, "checking %s: %s has no entry for it", ref, LockFile).WithHint("rye lock")
	case entry == nil:
		return NotLocked, nil
	}
	foreign := l.System != f.System
	standing := Matched
	for i := range max(len(entry.Chain), len(f.Chain)) {
		want, got := linkAt(entry.Chain, i), elementAt(f.Chain, i)
		switch {
		case want == got.Link:
		case foreign && (standing == Drifted || i > 0 && want.Ref == got.Ref && got.Space == "system"):
			standing = Drifted // what follows is what the other system item decides
		default:
			return Mismatch, mismatch(ref, i, want, got)
		}
	}
	if standing == Drifted && f.Locked {
		return Drifted, diag.New(diag.LockStale, "checking %s: the lock was written with %s %s, this is %s %s",
			ref, l.System.ID, l.System.Version, f.System.ID, f.System.Version).
			WithDetail("expected", l.System.Sum).WithDetail("found", f.System.Sum)
	}
	return standing, nil
}

func linkAt(chain []Link, i int) (l Link) {
	if i < len(chain) {
		l = chain[i]
	}
	return l
}

func elementAt(chain []Element, i int) (e Element) {
	if i < len(chain) {
		e = chain[i]
	}
	return e
}

// mismatch tells the first element that differs.
func mismatch(ref item.Ref, i int, want Link, got Element) error {
	var what string
	switch {
	case want.Ref == got.Ref:
		what = got.Ref.String() + " has other bytes than were locked"
	case want.Ref.IsZero():
		what = "its chain goes on to " + got.Ref.String() + ", which was not locked with it"
	case got.Ref.IsZero():
		what = "its chain ends before " + want.Ref.String() + ", which was locked with it"
	default:
		what = "its chain goes to " + got.Ref.String() + " where " + want.Ref.String() + " was locked"
	}
	if got.Signer != "" {
		what += "; what is there is signed by " + got.Signer
	}
	e := diag.New(diag.LockMismatch, "checking %s: %s", ref, what).WithDetail("item", ref.String()).WithDetail("element", i)
	if !want.Ref.IsZero() {
		e = e.WithDetail("expected", want.Ref.String()+" "+want.Digest.String())
	}
	if !got.Ref.IsZero() {
		e = e.WithDetail("found", got.Ref.String()+" "+got.Digest.String()).WithDetail("space", got.Space)
	}
	if got.Signer != "" {
		e = e.WithDetail("signer", got.Signer)
	}
	return e.WithHint("look at the change (git diff); if it is right, rye lock accepts it")
}

// NewItem returns the entry of a chain. A chain through the user space is not
// lockable: other people do not have its items.
func NewItem(chain []Element) (Item, error) {
	first := chain[0]
	it := Item{Ref: first.Ref, Digest: first.Digest}
	for _, e := range chain {
		if e.Space == "user" {
			return Item{}, diag.New(diag.Unresolvable, "locking %s: its chain passes through %s of the user space, which is on this machine only", first.Ref, e.Ref).
				WithHint("rye load %s --to project makes it a part of the project", e.Ref)
		}
		it.Chain = append(it.Chain, e.Link)
	}
	return it, nil
}
