package lock

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Standing is the result of comparing an item with the lock.
type Standing string

// The values of Standing.
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
	Signer string // name and short fingerprint of the signer of these bytes; "" if unknown
}

// Found is a chain that is about to run.
type Found struct {
	Chain  []Element // from the item to the primitive
	System System    // the system bundle of this program
	Locked bool      // --locked: no entry and drift are errors too
}

// CheckItem compares a chain with its entry. The first difference is a
// LOCK_MISMATCH with the details element, expected, found and signer. If the
// lock was written with another system bundle, items of the system space may
// differ: the standing is Drifted, which is an error only with Locked.
func (l *Lock) CheckItem(f Found) (Standing, error) {
	ref := f.Chain[0].Ref
	entry := l.Item(ref)
	switch {
	case entry == nil && f.Locked:
		return NotLocked, diag.New(diag.LockStale, "checking %s: %s has no entry for it", ref, LockFile)
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
			standing = Drifted // the other system item decides the rest of the chain
		default:
			return Mismatch, mismatch(ref, i, want, got)
		}
	}
	if standing == Drifted && f.Locked {
		return Drifted, l.otherSystem(f.System)
	}
	return standing, nil
}

// CheckSystem returns a LOCK_STALE error if the lock records another system
// bundle than the given one. A lock that records none passes.
func (l *Lock) CheckSystem(system System) error {
	if l.System == (System{}) || l.System == system {
		return nil
	}
	return l.otherSystem(system)
}

func (l *Lock) otherSystem(system System) error {
	return diag.New(diag.LockStale, "checking %s: it was written with %s %s, this program has %s %s",
		LockFile, l.System.ID, l.System.Version, system.ID, system.Version).
		WithDetail("expected", l.System.Sum).WithDetail("found", system.Sum).WithReason("system")
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

// mismatch returns the error for the first element that differs.
func mismatch(ref item.Ref, i int, want Link, got Element) error {
	var what string
	switch {
	case want.Ref == got.Ref:
		what = got.Ref.String() + " has other bytes than were locked"
	case want.Ref.IsZero():
		what = "its chain continues to " + got.Ref.String() + ", which was not locked with it"
	case got.Ref.IsZero():
		what = "its chain ends before " + want.Ref.String() + ", which was locked with it"
	default:
		what = "its chain goes to " + got.Ref.String() + " where " + want.Ref.String() + " was locked"
	}
	if got.Signer != "" {
		what += "; the found bytes are signed by " + got.Signer
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
	return e
}

// NewItem returns the entry of a chain, or an UNRESOLVABLE error if the chain
// passes through the user space, whose items other people do not have.
func NewItem(chain []Element) (Item, error) {
	first := chain[0]
	it := Item{Ref: first.Ref, Digest: first.Digest}
	for _, e := range chain {
		if e.Space == "user" {
			return Item{}, diag.New(diag.Unresolvable, "locking %s: its chain passes through %s of the user space, which is on this machine only", first.Ref, e.Ref).
				WithReason("user_item").WithDetail("ref", e.Ref.String())
		}
		it.Chain = append(it.Chain, e.Link)
	}
	return it, nil
}
