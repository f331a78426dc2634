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

// Alike says how easily two ids are taken for each other. Two versions of one
// bundle, and two addresses of one repository, are not alike but the same.
func Alike(a, b ID) Likeness {
	x, y := a.place(), b.place()
	if x == y || a.Kind == PathID || b.Kind == PathID {
		return Unlike
	}
	if glance(x) == glance(y) {
		return Lookalike
	}
	xs, ys := strings.Split(x, "/"), strings.Split(y, "/")
	if len(xs) != len(ys) {
		return Unlike
	}
	differ := -1
	for i := range xs {
		if xs[i] == ys[i] {
			continue
		}
		if differ >= 0 {
			return Unlike
		}
		differ = i
	}
	if slip(xs[differ], ys[differ]) {
		return Close
	}
	return Unlike
}

// OneRepository reports whether two different ids are two addresses of one bundle.
func OneRepository(a, b ID) bool {
	return a != b && a.Kind != PathID && b.Kind != PathID && a.Major == b.Major && a.place() == b.place()
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
