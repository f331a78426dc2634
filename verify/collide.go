package verify

import (
	"hash/maphash"
	"strings"

	"github.com/ryeos/rye/diag"
)

// collisions remembers which file gave an id, and an id without regard to case,
// as indexes into the files of a walk: a hundred thousand refs as texts would be
// most of what a walk holds.
type collisions struct {
	seed      maphash.Seed
	ids, fold map[uint64]int32
}

func newCollisions() *collisions {
	return &collisions{maphash.MakeSeed(), map[uint64]int32{}, map[uint64]int32{}}
}

// collide finds two files that give one id, or ids that differ by case only. It
// is asked before the file joins the others.
func (w *walk) collide(rel string, c *collisions) {
	p, ok := w.table.Place(rel)
	if !ok || p.Ref.IsZero() {
		return
	}
	ref, at := p.Ref.String(), int32(len(w.files))
	if other, taken := w.taken(c.ids, c.hash(ref)); taken {
		f := diag.Errorf(diag.AmbiguousItem, 0, 0, "%s gives the same id as %s: %s", w.root.Display(rel), w.root.Display(other), p.Ref)
		f.Fix = "remove or rename one of them"
		w.finding(f, rel)
		return
	}
	c.ids[c.hash(ref)] = at
	low := c.hash(strings.ToLower(ref))
	if other, taken := w.taken(c.fold, low); taken {
		f := diag.Errorf(diag.AmbiguousItem, 0, 0, "%s differs from %s only by case: file systems exist that hold one of them", w.root.Display(rel), w.root.Display(other))
		f.Fix = "rename one of them"
		w.finding(f, rel)
	}
	c.fold[low] = at
}

func (c *collisions) hash(s string) uint64 { return maphash.String(c.seed, s) }

func (w *walk) taken(m map[uint64]int32, key uint64) (rel string, ok bool) {
	i, ok := m[key]
	if !ok || int(i) >= len(w.files) {
		return "", false
	}
	return w.files[i], true
}
