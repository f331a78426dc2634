package lock

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// LockFormat and LockMinor are the latest format of rye.lock that this program knows.
// It keeps a later minor number of a file, and the fields of that format; see Written.
const (
	LockFormat = 1
	LockMinor  = adoptedMinor
)

// Lock is the content of rye.lock. It has one canonical text.
type Lock struct {
	Minor      int        // of the format of the file that was read
	Manifest   string     // Manifest.Settings of the manifest it was computed from
	System     System     // of format 1.0, only to name the version in messages; it is not written
	Revoked    Revoked    // the revocations of the project when it was written
	Bundles    []Bundle   // sorted by id
	Adopted    []Adopted  // sorted by id
	Registries []Registry // sorted by host
	Members    []Member   // sorted by path
	Items      []Item     // sorted by ref
	Extra      []Field    // of the head, from a later minor format
	canonical  *canonical // the items as they were read, nil unless their text was canonical; see ownItems
}

// System names the system bundle.
type System struct{ ID, Version, Sum string }

// Field is a field of a later format, with its text.
type Field struct{ Key, Text string }

// Bundle is one locked version.
type Bundle struct {
	ID       ID
	Version  string
	Require  string      // the version in the project file; "" if only other bundles require it
	Use      []string    // the items that the project file limits it to
	Replace  Replacement // if it is not zero, the fields of the origin are empty
	URL      string      // the address that was used
	Ref      string      // refs/tags/v1.2.3
	Tag      string      // the tag object, "" for a lightweight tag
	Commit   string      //
	Tree     string      // of the subdirectory
	Archive  string      // sha256:… of the archive in a registry; "" for a bundle of another source
	Log      string      // the number of its entry in the log of that registry
	Sum      string      // treehash.Of its files
	Exec     []string    // its executable files
	Manifest item.Digest // of its signed manifest; zero if it has none
	Signers  []string    // of that manifest
	Caps     []string    // the capabilities that its items request
	Needs    []Module    // its requirements
	Via      []Module    // versions that were not selected and alone require this one
	Extra    []Field
}

// Module is one version of a bundle.
type Module struct {
	ID      ID     `json:"id"`
	Version string `json:"version"`
}

// String renders "id version", or the id alone if there is no version.
func (m Module) String() string {
	if m.Version == "" {
		return m.ID.String()
	}
	return m.ID.String() + " " + m.Version
}

// Registry is the state of the log of a registry that the lock was computed from.
type Registry struct {
	Host       string
	Key        string // of the log: NAME+HASH+KEY
	Checkpoint string // number of entries and base64 of the root
	Extra      []Field
}

// Registry returns the entry of a registry, or nil. A nil lock has none.
func (l *Lock) Registry(host string) *Registry {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Registries, func(r Registry) bool {
		return r.Host == host
	})
	if i < 0 {
		return nil
	}
	return &l.Registries[i]
}

// Module returns id and version.
func (b Bundle) Module() Module {
	return Module{ID: b.ID, Version: b.Version}
}

// Member is one member of the workspace.
type Member struct {
	Path     string // ./bundles/x
	ID       ID     // its bundle id; zero if its project file has none
	Manifest string // Manifest.Hash of its manifest
	Needs    []Module
	Extra    []Field
}

// Name returns the bundle id, or the path if there is none.
func (m Member) Name() string {
	return cmp.Or(m.ID.String(), m.Path)
}

// Item is one item of the project itself: an executable tool with its chain, a
// directive or a configuration.
type Item struct {
	Ref    item.Ref
	Digest item.Digest
	Chain  []Link // from the item to the primitive, both included; nil unless it runs
	Uses   []Link // the items that it names by a fixed id, sorted by ref
	Deps   []Dep  // the wheels of a Python tool, sorted
	Extra  []Field
}

// Equal reports whether two entries have the same fields.
func (it *Item) Equal(o *Item) bool {
	return it.Ref == o.Ref && it.Digest == o.Digest && slices.Equal(it.Chain, o.Chain) && slices.Equal(it.Uses, o.Uses) &&
		slices.Equal(it.Deps, o.Deps) && slices.Equal(it.Extra, o.Extra)
}

// SameText reports whether two entries have the same text, in whatever order they list
// their wheels.
func (it *Item) SameText(o *Item) bool {
	return it.Equal(o) ||
		bytes.Equal(it.record().append(nil), o.record().append(nil))
}

// Dep is one wheel. A name and version has one for each platform that was locked.
// Each platform adds its own wheel of the locked version: a lock for all platforms at once would
// have up to a hundred digests for a package.
type Dep struct {
	Name    string // normalized: lower case, with - as separator
	Version string
	Digest  item.Digest
}

func compareDeps(a, b Dep) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Version, b.Version),
		bytes.Compare(a.Digest[:], b.Digest[:]),
	)
}

// SortDeps returns the wheels in the order of the lock, each once.
func SortDeps(deps []Dep) []Dep {
	out := slices.Clone(deps)
	slices.SortFunc(out, compareDeps)
	return slices.Compact(out)
}

// Contains reports whether the entry records an item: as the item itself, in its
// chain or in its uses.
func (it *Item) Contains(ref item.Ref) bool {
	has := func(l Link) bool { return l.Ref == ref }
	return it.Ref == ref ||
		slices.ContainsFunc(it.Chain, has) ||
		slices.ContainsFunc(it.Uses, has)
}

// Link is an item with its digest: an element of a chain or of uses.
type Link struct {
	Ref    item.Ref
	Digest item.Digest
}

// Bundle returns the entry of a bundle, or nil. A nil lock has none.
func (l *Lock) Bundle(id ID) *Bundle {
	return l.BundleNamed(id.String())
}

// BundleNamed returns the entry of the bundle with this canonical id, or nil.
func (l *Lock) BundleNamed(id string) *Bundle {
	if l == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(l.Bundles, id, func(b Bundle, id string) int {
		return cmp.Compare(b.ID.String(), id)
	})
	if !ok {
		return nil
	}
	return &l.Bundles[i]
}

// Item returns the entry of an item, or nil. A nil lock has none.
func (l *Lock) Item(ref item.Ref) *Item {
	if i := l.ItemAt(ref); i >= 0 {
		return &l.Items[i]
	}
	return nil
}

// ItemAt returns the position of the entry of an item in Items, -1 if it has none.
func (l *Lock) ItemAt(ref item.Ref) int {
	if l == nil {
		return -1
	}
	low := 0
	high := len(l.Items)
	for low < high { // as slices.BinarySearchFunc does, which copies each entry that it compares
		middle := int(uint(low+high) >> 1)
		switch c := CompareRefs(l.Items[middle].Ref, ref); {
		case c == 0:
			return middle
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return -1
}

func compareID(b Bundle, id ID) int {
	return b.ID.Compare(id)
}

// SetBundle replaces the entry with the same id, or adds it.
func (l *Lock) SetBundle(b Bundle) {
	i, found := slices.BinarySearchFunc(l.Bundles, b.ID, compareID)
	if !found {
		l.Bundles = slices.Insert(l.Bundles, i, b)
		return
	}
	l.Bundles[i] = b
}

// ownItems copies the items before the first change, if they are the memory of canonical,
// which locks have in common and nothing may change.
func (l *Lock) ownItems() {
	if l.asRead() {
		l.Items = slices.Clone(l.Items)
	}
}

// asRead reports whether the items are the items of canonical, unchanged.
func (l *Lock) asRead() bool {
	return l.canonical != nil &&
		len(l.Items) > 0 &&
		len(l.canonical.items) == len(l.Items) &&
		&l.canonical.items[0] == &l.Items[0]
}

// TakeItems takes the items of another lock.
func (l *Lock) TakeItems(o *Lock) {
	l.Items = o.Items
	l.canonical = o.canonical
	if !o.asRead() {
		l.Items = slices.Clone(o.Items)
	}
}

// HasItems reports whether the entries are exactly these. The kinds may be in another order,
// but not the items of one kind.
func (l *Lock) HasItems(items []Item) bool {
	if len(items) != len(l.Items) {
		return false
	}
	had := make([]bool, len(items))
	at := 0
	for i := range items {
		ref := items[i].Ref
		if i == 0 || ref.Kind != items[i-1].Ref.Kind {
			at = l.ItemAt(ref)
		}
		if at < 0 ||
			at == len(l.Items) ||
			had[at] ||
			!l.Items[at].Equal(&items[i]) {
			return false
		}
		had[at] = true
		at++
	}
	return true
}

// SetItem replaces the entry with the same ref, or adds it.
func (l *Lock) SetItem(it Item) {
	l.ownItems()
	i, found := slices.BinarySearchFunc(l.Items, it.Ref, func(x Item, ref item.Ref) int {
		return CompareRefs(x.Ref, ref)
	})
	if !found {
		l.Items = slices.Insert(l.Items, i, it)
		return
	}
	l.Items[i] = it
}

// SetItems makes the entries those given, of which the last one of a ref counts.
func (l *Lock) SetItems(items []Item) {
	items = slices.Clone(items)
	slices.Reverse(items)
	slices.SortStableFunc(items, func(a, b Item) int {
		return CompareRefs(a.Ref, b.Ref)
	})
	l.Items = slices.CompactFunc(items, func(a, b Item) bool {
		return a.Ref == b.Ref
	})
}

// RemoveItem removes the entry of an item and reports whether there was one.
func (l *Lock) RemoveItem(ref item.Ref) bool {
	l.ownItems()
	n := len(l.Items)
	l.Items = slices.DeleteFunc(l.Items, func(it Item) bool {
		return it.Ref == ref
	})
	return len(l.Items) < n
}

// CompareRefs compares refs as their strings. It makes these only for kinds of which one
// begins with the other.
func CompareRefs(a, b item.Ref) int {
	switch {
	case a.Kind == b.Kind:
		return cmp.Compare(a.ID, b.ID)
	case strings.HasPrefix(string(a.Kind), string(b.Kind)),
		strings.HasPrefix(string(b.Kind), string(a.Kind)):
		return cmp.Compare(a.String(), b.String())
	}
	return cmp.Compare(a.Kind, b.Kind)
}

// Sort sorts the entries, and the lists whose order has no meaning.
func (l *Lock) Sort() {
	slices.SortStableFunc(l.Bundles, func(a, b Bundle) int {
		return a.ID.Compare(b.ID)
	})
	slices.SortStableFunc(l.Adopted, compareAdopted)
	for i := range l.Adopted {
		a := &l.Adopted[i]
		a.Use = sorted(a.Use, cmp.Compare[string])
		a.Exec = sorted(a.Exec, cmp.Compare[string])
		a.Reviews = sorted(a.Reviews, compareReviewed)
	}
	slices.SortStableFunc(l.Registries, func(a, b Registry) int {
		return cmp.Compare(a.Host, b.Host)
	})
	slices.SortStableFunc(l.Members, func(a, b Member) int {
		return cmp.Compare(a.Path, b.Path)
	})
	if !l.asRead() {
		slices.SortStableFunc(l.Items, func(a, b Item) int {
			return CompareRefs(a.Ref, b.Ref)
		})
		for i := range l.Items {
			l.Items[i].Uses = sorted(l.Items[i].Uses, compareLinks)
		}
	}
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

func compareLinks(a, b Link) int {
	return cmp.Or(
		CompareRefs(a.Ref, b.Ref),
		bytes.Compare(a.Digest[:], b.Digest[:]),
	)
}

func compareModules(a, b Module) int {
	return cmp.Or(
		a.ID.Compare(b.ID),
		cmp.Compare(a.Version, b.Version),
	)
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

// Missing returns the error for a project that requires bundles and has no lock.
func Missing() error {
	return diag.New(diag.LockMissing, "reading %s: it does not exist, and %s requires bundles", LockFile, ProjectFileName)
}
