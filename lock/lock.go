package lock

import (
	"cmp"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// LockFormat and LockMinor are the format of rye.lock that this program
// writes. A file carries a minor number only when it holds a field that came
// with it, so that programs of different age write the same bytes.
const (
	LockFormat = 1
	LockMinor  = 0
)

// Lock is what rye.lock says. It is rendered in one way only.
type Lock struct {
	Minor    int      // of the format of the file
	Manifest string   // Manifest.Settings of the manifest it was made for
	System   System   // the system bundle whose items the chains were locked with
	Revoked  Revoked  // the revocations of the project that it was written with
	Bundles  []Bundle // sorted by id
	Members  []Member // sorted by path
	Items    []Item   // sorted by ref
	Extra    []Field  // of the head, from a later minor format
}

// System names the system bundle.
type System struct{ ID, Version, Sum string }

// Field is one that this program does not know, as it stands in the file.
type Field struct{ Key, Text string }

// Bundle is one locked version.
type Bundle struct {
	ID       string
	Version  string
	Require  string      // what the root's manifest asks for, as written there; "" when only others need it
	Use      []string    // what the root's manifest narrows it to
	Replace  string      // what stands in for it; then nothing else is known of its origin
	URL      string      // with the scheme that was used
	Ref      string      // refs/tags/v1.2.3
	Tag      string      // the tag object, "" for a lightweight tag
	Commit   string      //
	Tree     string      // of the subdirectory
	Sum      string      // HashTree of its files
	Exec     []string    // its executable files
	Manifest item.Digest // of its signed manifest; zero when it has none
	Signers  []string    // of that manifest
	Caps     []string    // what its items may ask for
	Needs    []Module    // what it requires
	Via      []Module    // versions that were not chosen and are the only reason for this one
	Extra    []Field
}

// Module returns id and version.
func (b Bundle) Module() Module { return Module{ID: b.ID, Version: b.Version} }

// Member is one folder of the workspace.
type Member struct {
	Path     string // ./bundles/x
	ID       string // its name, "" when its manifest gives none
	Manifest string // Manifest.Hash of its manifest
	Needs    []Module
	Extra    []Field
}

// Item is one executable item of the project itself, with its chain.
type Item struct {
	Ref    item.Ref
	Digest item.Digest
	Chain  []Link // from the item to the primitive, both included
	Extra  []Field
}

// Link is one element of a chain.
type Link struct {
	Ref    item.Ref
	Digest item.Digest
}

// Bundle returns the entry of a bundle, or nil.
func (l *Lock) Bundle(id string) *Bundle {
	i, ok := slices.BinarySearchFunc(l.Bundles, id, func(b Bundle, id string) int { return cmp.Compare(b.ID, id) })
	if !ok {
		return nil
	}
	return &l.Bundles[i]
}

// Item returns the entry of an item, or nil.
func (l *Lock) Item(ref item.Ref) *Item {
	i, ok := slices.BinarySearchFunc(l.Items, ref, func(it Item, ref item.Ref) int { return compareRefs(it.Ref, ref) })
	if !ok {
		return nil
	}
	return &l.Items[i]
}

// SetBundle puts an entry in the place of the one with its id, or adds it.
func (l *Lock) SetBundle(b Bundle) {
	i, found := slices.BinarySearchFunc(l.Bundles, b.ID, func(b Bundle, id string) int { return cmp.Compare(b.ID, id) })
	if !found {
		l.Bundles = slices.Insert(l.Bundles, i, b)
		return
	}
	l.Bundles[i] = b
}

// SetItem puts an entry in the place of the one with its ref, or adds it.
func (l *Lock) SetItem(it Item) {
	i, found := slices.BinarySearchFunc(l.Items, it.Ref, func(x Item, ref item.Ref) int { return compareRefs(x.Ref, ref) })
	if !found {
		l.Items = slices.Insert(l.Items, i, it)
		return
	}
	l.Items[i] = it
}

// RemoveItem removes the entry of an item and reports whether there was one.
func (l *Lock) RemoveItem(ref item.Ref) bool {
	n := len(l.Items)
	l.Items = slices.DeleteFunc(l.Items, func(it Item) bool { return it.Ref == ref })
	return len(l.Items) < n
}

func compareRefs(a, b item.Ref) int { return cmp.Compare(a.String(), b.String()) }

// Sort brings the entries and the lists without an order of their own into
// theirs.
func (l *Lock) Sort() {
	slices.SortStableFunc(l.Bundles, func(a, b Bundle) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(l.Members, func(a, b Member) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortStableFunc(l.Items, func(a, b Item) int { return compareRefs(a.Ref, b.Ref) })
	for i := range l.Bundles {
		b := &l.Bundles[i]
		for _, list := range []*[]string{&b.Use, &b.Exec, &b.Signers, &b.Caps} {
			*list = sorted(*list, cmp.Compare[string])
		}
		b.Needs, b.Via = sorted(b.Needs, compareModules), sorted(b.Via, compareModules)
	}
	for i := range l.Members {
		l.Members[i].Needs = sorted(l.Members[i].Needs, compareModules)
	}
}

func compareModules(a, b Module) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
}

// sorted returns a sorted copy without repetition.
func sorted[T comparable](list []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(list, func(a, b T) int { return cmp.Or(compare(a, b), -1) }) {
		return list
	}
	list = slices.Clone(list)
	slices.SortFunc(list, compare)
	return slices.Compact(list)
}

// Missing returns the error of a project that has no lock.
func Missing() error {
	return diag.New(diag.LockMissing, "reading %s: it does not exist, and %s requires bundles", LockFile, ManifestFile)
}
