package lock

import (
	"bytes"
	"slices"

	"github.com/ryeos/rye/item"
)

// Merge merges two locks that were made from one base. An item that both sides changed
// keeps the entry of ours: it is stale until the signer of the merged item updates it.
// Versions of bundles must be resolved together, so the locks do not merge, and ok
// is false, if both sides changed more than the entries of items.
func Merge(base, ours, theirs *Lock) (merged *Lock, ok bool) {
	b := base.withoutItems()
	o := ours.withoutItems()
	t := theirs.withoutItems()
	switch {
	case bytes.Equal(o, t), bytes.Equal(t, b):
		merged = ours.Clone()
	case bytes.Equal(o, b):
		merged = theirs.Clone()
	default:
		return nil, false
	}
	adopted, ok := mergeAdopted(base, ours, theirs)
	if !ok {
		return nil, false
	}
	merged.Adopted = adopted
	merged.Items = mergeItems(base, ours, theirs)
	return merged, true
}

func (l *Lock) withoutItems() []byte {
	c := *l
	c.Items = nil
	c.Adopted = nil
	return c.Render()
}

func mergeItems(base, ours, theirs *Lock) []Item {
	out := Lock{}
	for _, it := range slices.Concat(base.Items, ours.Items, theirs.Items) {
		was := base.itemText(it.Ref)
		our := ours.itemText(it.Ref)
		their := theirs.itemText(it.Ref)
		from := ours
		if our == was || our == "" && their != was { // a removed entry gives way to a changed one
			from = theirs
		}
		if entry := from.Item(it.Ref); entry != nil {
			out.SetItem(*entry)
		}
	}
	return out.Items
}

// itemText returns the text of an entry, "" without one.
func (l *Lock) itemText(ref item.Ref) string {
	it := l.Item(ref)
	if it == nil {
		return ""
	}
	return string(it.record().append(nil))
}
