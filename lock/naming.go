package lock

import (
	"iter"
	"slices"

	"github.com/ryeos/rye/item"
)

// Refs returns the items that have entries.
func (l *Lock) Refs() iter.Seq[item.Ref] {
	return func(yield func(item.Ref) bool) {
		for i := range l.Items {
			if !yield(l.Items[i].Ref) {
				return
			}
		}
	}
}

// Naming returns the items whose chains or uses have one of some items. The chain of a tool
// begins with the tool itself.
func (l *Lock) Naming(refs map[item.Ref]bool) []item.Ref {
	var out []item.Ref
	for i := range l.Items {
		if l.Items[i].naming(refs) {
			out = append(out, l.Items[i].Ref)
		}
	}
	return out
}

func (it *Item) naming(refs map[item.Ref]bool) bool {
	has := func(l Link) bool { return refs[l.Ref] }
	return slices.ContainsFunc(it.Chain, has) || slices.ContainsFunc(it.Uses, has)
}
