package verify

import (
	"hash/maphash"
	"strings"

	"github.com/ryeos/rye/diag"
)

// collisions maps the hashes of ids, and of ids in lower case, to the files that
// give them, as indexes into the files of a walk. With 100,000 items the refs
// themselves would need most of the memory of a walk.
type collisions struct {
	seed      maphash.Seed
	ids, fold map[uint64]int32
}

func newCollisions() *collisions {
	return &collisions{maphash.MakeSeed(), map[uint64]int32{}, map[uint64]int32{}}
}

// collide reports a file that gives the id of an earlier file, or an id that
// differs from it only by case. It must run before the file is added to w.files.
func (w *walk) collide(rel string, c *collisions) {
	p, ok := w.table.Classify(rel)
	if !ok || p.Ref.IsZero() {
		return
	}
	ref := p.Ref.String()
	at := int32(len(w.files))
	other, taken := w.taken(c.ids, c.hash(ref))
	if taken {
		f := diag.Errorf(
			diag.AmbiguousItem,
			0,
			0,
			"%s gives the same id as %s: %s",
			w.root.Display(rel),
			w.root.Display(other),
			p.Ref,
		)
		w.finding(f, rel)
		return
	}
	c.ids[c.hash(ref)] = at
	low := c.hash(strings.ToLower(ref))
	if other, taken := w.taken(c.fold, low); taken {
		f := diag.Errorf(
			diag.AmbiguousItem,
			0,
			0,
			"%s differs from %s only by case: some file systems can store only one of them",
			w.root.Display(rel),
			w.root.Display(other),
		)
		w.finding(f, rel)
	}
	c.fold[low] = at
}

func (c *collisions) hash(s string) uint64 {
	return maphash.String(c.seed, s)
}

func (w *walk) taken(m map[uint64]int32, key uint64) (rel string, ok bool) {
	i, ok := m[key]
	if !ok || int(i) >= len(w.files) {
		return "", false
	}
	return w.files[i], true
}
