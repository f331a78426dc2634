package lock

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Standing is the result of comparing an item with the lock.
type Standing string

// The values of Standing.
const (
	Matched   Standing = "matched"
	NotLocked Standing = "not locked" // the lock has no entry for it
	Drifted   Standing = "drifted"    // only items of the system differ
	Mismatch  Standing = "mismatch"
)

// Element is one element of a chain, or a used item, as it was found.
type Element struct {
	Link
	Space  string // project, user or system
	Signer string // name and short fingerprint of the signer of these bytes; "" if unknown
}

// Found is an item that is about to be used.
type Found struct {
	Chain  []Element // from the item to the primitive; of an item that does not run, the item
	Uses   []Element // the items that it names by a fixed id, sorted by ref
	System System    // the system bundle of this program, for messages
	Locked bool      // --locked: a missing entry is an error too
}

// CheckItem compares an item with its entry. The first difference is a LOCK_MISMATCH
// with the details element, expected, found and signer. If only items of the system
// differ, the standing is Drifted and the error is a LOCK_STALE with the reason
// "system": the caller decides whether it is a warning.
func (l *Lock) CheckItem(f Found) (Standing, error) {
	ref := f.Chain[0].Ref
	entry := l.Item(ref)
	switch {
	case entry == nil && f.Locked:
		return NotLocked, diag.New(diag.LockStale, "checking %s: %s has no entry for it", ref, LockFile).WithReason("relock")
	case entry == nil:
		return NotLocked, nil
	}
	c := comparison{l: l, f: f, ref: ref}
	c.chain(entry)
	c.uses(entry)
	switch {
	case c.mismatch != nil:
		return Mismatch, c.mismatch
	case c.drift != nil:
		return Drifted, c.drift
	}
	return Matched, nil
}

// comparison collects the first difference of each sort.
type comparison struct {
	l               *Lock
	f               Found
	ref             item.Ref
	mismatch, drift error
}

func (c *comparison) chain(entry *Item) {
	locked := entry.Chain
	if len(locked) == 0 {
		locked = []Link{{entry.Ref, entry.Digest}}
	}
	for i := range max(len(locked), len(c.f.Chain)) {
		want := linkAt(locked, i)
		got := elementAt(c.f.Chain, i)
		switch {
		case want == got.Link:
		case i > 0 && c.ofSystem(want, got):
			c.drifted(want, got)
		case c.drift != nil && (got.Space == "system" || got.Ref.IsZero()): // the other system item decides the rest of the chain
		default:
			c.differs(mismatch(c.ref, i, want, got))
		}
	}
}

// uses compares the used items: those with other bytes first, because such an item
// may be the reason for another set.
func (c *comparison) uses(entry *Item) {
	found := map[item.Ref]Element{}
	for _, e := range c.f.Uses {
		found[e.Ref] = e
	}
	locked := map[item.Ref]bool{}
	for _, want := range entry.Uses {
		locked[want.Ref] = true
		got, ok := found[want.Ref]
		switch {
		case !ok || got.Link == want:
		case c.ofSystem(want, got):
			c.drifted(want, got)
		default:
			c.differs(mismatch(c.ref, 0, want, got))
		}
	}
	if c.drift != nil {
		return // the other system item may name other items
	}
	for _, e := range c.f.Uses {
		if !locked[e.Ref] {
			c.differs(diag.New(diag.LockMismatch, "checking %s: it uses %s, which was not locked with it", c.ref, e.Ref).
				WithDetail("item", c.ref.String()).
				WithDetail("found", e.Ref.String()+" "+e.Digest.String()))
		}
	}
	for _, want := range entry.Uses {
		if _, ok := found[want.Ref]; !ok {
			c.differs(diag.New(diag.LockMismatch, "checking %s: it does not use %s, which was locked with it", c.ref, want.Ref).
				WithDetail("item", c.ref.String()).
				WithDetail("expected", want.Ref.String()+" "+want.Digest.String()))
		}
	}
}

// ofSystem reports whether an element has other bytes because the program has other
// system items. Where the locked bytes belong to an item of the project, its file is gone, and
// the system's item would run in its place.
func (c *comparison) ofSystem(want Link, got Element) bool {
	recorded := c.l.Item(want.Ref)
	return want.Ref == got.Ref &&
		got.Space == "system" &&
		(recorded == nil || recorded.Digest != want.Digest)
}

func (c *comparison) drifted(want Link, got Element) {
	if c.drift == nil {
		c.drift = c.l.otherSystem(c.ref, want, got.Digest, c.f.System)
	}
}

func (c *comparison) differs(err error) {
	if c.mismatch == nil {
		c.mismatch = err
	}
}

// CheckSystem compares an item of the system with the entries that use it. It returns
// a LOCK_STALE error if they recorded other bytes.
func (l *Lock) CheckSystem(now Link, system System) error {
	var other *Link
	for i := range l.Items {
		it := &l.Items[i]
		for _, links := range [][]Link{it.Chain, it.Uses} {
			for k, x := range links {
				if x == now ||
					x.Ref == now.Ref && x.Digest == it.Digest && x.Ref == it.Ref {
					return nil
				}
				if x.Ref == now.Ref {
					other = &links[k]
				}
			}
		}
	}
	if other == nil {
		return nil
	}
	return l.otherSystem(now.Ref, *other, now.Digest, system)
}

// otherSystem returns the error for a system item that has other bytes in this
// program than in the one that wrote the lock. Only a lock of format 1.0 records the
// version of that program.
//
// A changed system item is LOCK_STALE in verify and with --locked. Any other run warns: a new
// release of rye must not stop scripts that did not ask for --locked. A system item without an
// entry may run, because it is verified with the program's manifest.
func (l *Lock) otherSystem(ref item.Ref, want Link, now item.Digest, system System) error {
	was := "locked"
	is := "this program has"
	if l.System.Version != "" {
		was = "locked with " + l.System.ID + " " + l.System.Version
	}
	if system.Version != "" {
		is = "this program (" + system.ID + " " + system.Version + ") has"
	}
	return diag.New(
		diag.LockStale,
		"checking %s: the system item %s changed: %s %s, %s %s",
		ref,
		want.Ref,
		was,
		want.Digest,
		is,
		now,
	).
		WithReason("system").
		WithDetail("item", want.Ref.String()).
		WithDetail("locked", want.Digest.String()).
		WithDetail("current", now.String()).
		WithDetail("locked_version", l.System.Version).WithDetail("current_version", system.Version)
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
	e := diag.New(diag.LockMismatch, "checking %s: %s", ref, what).
		WithDetail("item", ref.String()).
		WithDetail("element", i)
	if !want.Ref.IsZero() {
		e = e.WithDetail("expected", want.Ref.String()+" "+want.Digest.String())
	}
	if !got.Ref.IsZero() {
		e = e.
			WithDetail("found", got.Ref.String()+" "+got.Digest.String()).
			WithDetail("space", got.Space)
	}
	if got.Signer != "" {
		e = e.WithDetail("signer", got.Signer)
	}
	return e
}

// NewItem returns the entry of an item: of its chain, nil for an item that does not
// run, and of the items that it uses. It is an UNRESOLVABLE error if one of them is in
// the user space, whose items other people do not have.
func NewItem(self Element, chain, uses []Element) (Item, error) {
	it := Item{Ref: self.Ref, Digest: self.Digest}
	for _, e := range append(append([]Element{self}, chain...), uses...) {
		if e.Space == "user" {
			what := "its chain passes through"
			if !slices.Contains(chain, e) {
				what = "it uses"
			}
			return Item{}, diag.New(diag.Unresolvable, "locking %s: %s %s of the user space, which is on this machine only", self.Ref, what, e.Ref).
				WithReason("user_item").WithDetail("ref", e.Ref.String())
		}
	}
	for _, e := range chain {
		it.Chain = append(it.Chain, e.Link)
	}
	for _, e := range uses {
		it.Uses = append(it.Uses, e.Link)
	}
	it.Uses = sorted(it.Uses, compareLinks)
	return it, nil
}
