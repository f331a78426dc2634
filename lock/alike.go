package lock

import (
	"path"
	"strings"
	"sync"
)

// Likeness says how easily one id is taken for another.
type Likeness int

// The likenesses.
const (
	Unlike    Likeness = iota
	Close              // one letter more, less, other or in another place
	Lookalike          // the same at a glance: rn for m, 0 for o
)

// shortest is the length from which one letter is a slip: lib and lab are two
// words.
const shortest = 5

// Look is an id as it is compared with others.
type Look struct {
	ID     ID
	place  string // where it leads
	glance string // what a hurried reader sees of that
}

// LookOf returns how an id looks.
func LookOf(id ID) Look {
	p := id.place()
	return Look{id, p, glance(p)}
}

// Looks returns how the ids of the bundles look, in their order.
func (l *Lock) Looks() []Look {
	out := make([]Look, len(l.Bundles))
	for i, b := range l.Bundles {
		id, _ := ParseID(b.ID) // one that cannot be read is like none
		out[i] = LookOf(id)
	}
	return out
}

// Alike says how easily two ids are taken for each other. Two versions of one
// bundle, and two addresses of one repository, are not alike but the same.
func (a Look) Alike(b Look) Likeness {
	switch {
	case a.place == b.place || a.ID.Kind == PathID || b.ID.Kind == PathID:
	case a.glance == b.glance:
		return Lookalike
	case a.close(b):
		return Close
	}
	return Unlike
}

// close reports whether one element differs, by a slip.
func (a Look) close(b Look) bool {
	if d := len(a.place) - len(b.place); d < -1 || d > 1 {
		return false
	}
	xs, ys := strings.Split(a.place, "/"), strings.Split(b.place, "/")
	if len(xs) != len(ys) {
		return false
	}
	differ := -1
	for i := range xs {
		if xs[i] == ys[i] {
			continue
		}
		if differ >= 0 {
			return false
		}
		differ = i
	}
	return slip(xs[differ], ys[differ])
}

// Same reports whether two different ids are two addresses of one bundle.
func (a Look) Same(b Look) bool {
	return a.ID != b.ID && a.ID.Kind != PathID && b.ID.Kind != PathID && a.ID.Major == b.ID.Major && a.place == b.place
}

// place is where an id leads, whatever way is taken there.
func (id ID) place() string {
	repo := strings.ToLower(id.Repo)
	if _, rest, ok := strings.Cut(repo, "://"); ok {
		repo = rest
	}
	if id.Kind == URLID {
		if _, rest, ok := strings.Cut(repo, "@"); ok {
			repo = rest
		}
		repo = strings.TrimSuffix(strings.Replace(repo, ":", "/", 1), ".git")
	}
	return path.Join(repo, strings.ToLower(id.Subdir))
}

// glance is what a hurried reader sees of an id.
func glance(s string) string { return hurried().Replace(s) }

var hurried = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "0", "o", "1", "l", "i", "l", "5", "s", "_", "-", ".", "-", "--", "-")
})

// slip reports whether one letter more, less, other, or swapped with its
// neighbour makes one word of the other. Numbers count: tools2 is not tools1.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < shortest || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case digit(b, i) || digit(a, i) && len(a) == len(b):
		return false
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]:
		return true
	}
	return a[i+1:] == b[i+1:]
}

func digit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
