package lock

import (
	"path"
	"strings"
	"sync"
)

// Likeness is how easily one id is mistaken for another.
type Likeness int

// The values of Likeness.
const (
	Unlike    Likeness = iota
	Close              // one letter is added, missing, different or swapped
	Lookalike          // the same at a glance: rn for m, 0 for o
)

// minTypoLength is the length from which one different letter is a typo. Shorter
// words, such as lib and lab, are different words.
const minTypoLength = 5

// Look is the comparable form of an id.
type Look struct {
	ID       ID
	location string // of the repository, independent of the protocol
	skeleton string // location with lookalike letters replaced
}

// LookOf returns the comparable form of an id.
func LookOf(id ID) Look {
	location := id.location()
	return Look{id, location, confusables().Replace(location)}
}

// Looks returns the comparable forms of the ids of the bundles, in their order.
func (l *Lock) Looks() []Look {
	out := make([]Look, len(l.Bundles))
	for i, b := range l.Bundles {
		out[i] = LookOf(b.ID)
	}
	return out
}

// Alike returns how easily two ids are mistaken for each other. Two versions of one
// bundle, and two addresses of one repository, are Unlike.
func (a Look) Alike(b Look) Likeness {
	switch {
	case a.location == b.location || a.ID.Kind == PathID || b.ID.Kind == PathID:
	case a.skeleton == b.skeleton:
		return Lookalike
	case a.oneTypo(b):
		return Close
	}
	return Unlike
}

// oneTypo reports whether one element of the path differs, by one typo.
func (a Look) oneTypo(b Look) bool {
	d := len(a.location) - len(b.location)
	if d < -1 || d > 1 {
		return false
	}
	xs := strings.Split(a.location, "/")
	ys := strings.Split(b.location, "/")
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
	return typo(xs[differ], ys[differ])
}

// Same reports whether two different ids are two addresses of one bundle.
func (a Look) Same(b Look) bool {
	return a.ID != b.ID &&
		a.ID.Kind != PathID &&
		b.ID.Kind != PathID &&
		a.ID.Major == b.ID.Major &&
		a.location == b.location
}

// location returns the location of a repository, which is the same for all
// protocols.
func (id ID) location() string {
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

// confusables maps letters that look alike to one of them.
var confusables = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "0", "o", "1", "l", "i", "l", "5", "s", "_", "-", ".", "-", "--", "-")
})

// typo reports whether adding, removing, changing or swapping one letter turns one
// word into the other. Digits are never typos: tools2 is not tools1.
func typo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < minTypoLength || len(b)-len(a) > 1 {
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

func digit(s string, i int) bool {
	return i < len(s) && s[i] >= '0' && s[i] <= '9'
}
