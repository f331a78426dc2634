package lock

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock/treehash"
)

// adoptedMinor is the minor number of the format that has entries of adopted sources.
const adoptedMinor = 2

// Adopted is a source without a manifest at one commit, whose components are used under
// reviews.
type Adopted struct {
	ID      ID
	Version string   // a tag, or the pseudo-version of the commit
	Require string   // the version or commit in the project file
	Use     []string // the components that the project file names; nil: all of them
	URL     string
	Ref     string
	Tag     string
	Commit  string
	Tree    string
	Sum     string   // treehash.Of the install directory
	Exec    []string // its executable files
	Reviews []Reviewed
	Extra   []Field
}

// Reviewed is a review that was valid when the lock was written.
type Reviewed struct {
	Key    string // ed25519: and the fingerprint
	Digest item.Digest
}

// Module returns id and version.
func (a Adopted) Module() Module {
	return Module{ID: a.ID, Version: a.Version}
}

// AdoptedSource returns the entry of an adopted source, or nil. A nil lock has none.
func (l *Lock) AdoptedSource(id ID) *Adopted {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Adopted, func(a Adopted) bool {
		return a.ID == id
	})
	if i < 0 {
		return nil
	}
	return &l.Adopted[i]
}

// SetAdopted replaces the entry of a lock with the same id, or adds it.
func SetAdopted(l *Lock, a Adopted) {
	l.Adopted = slices.DeleteFunc(slices.Clone(l.Adopted), func(x Adopted) bool {
		return x.ID == a.ID
	})
	l.Adopted = append(l.Adopted, a)
	slices.SortFunc(l.Adopted, compareAdopted)
}

// IsAdopted reports whether one of the locks, such as both sides of a merge, has an adopted
// source.
func IsAdopted(id ID, locks ...*Lock) bool {
	return slices.ContainsFunc(locks, func(l *Lock) bool {
		return l.AdoptedSource(id) != nil
	})
}

// KeepAdopted returns the entries of the adopted sources that a project requires, as the
// locks have them. The error names those that the project changed: a change needs a review.
func KeepAdopted(project *ProjectFile, locks ...*Lock) (out []Adopted, err error) {
	for _, m := range project.Requires() {
		if !IsAdopted(m.ID, locks...) {
			continue
		}
		// The sides of a merge can have two commits: rye.yaml names one of them.
		i := slices.IndexFunc(locks, func(l *Lock) bool {
			a := l.AdoptedSource(m.ID)
			return a != nil && a.Require == m.Version && slices.Equal(sortedTexts(a.Use), sortedTexts(project.Use[m.ID]))
		})
		if i < 0 {
			return nil, diag.New(diag.ConsentRequired, "locking %s: %s requires another commit or other components of it than the lock has, which have no review", m.ID, ProjectFileName).
				WithReason("adopted_changed").WithDetail("source", m.ID.String())
		}
		out = append(out, *locks[i].AdoptedSource(m.ID))
	}
	return out, nil
}

func compareAdopted(a, b Adopted) int {
	return a.ID.Compare(b.ID)
}

// Written returns the minor number of the format in which Render writes the lock.
func (l *Lock) Written() int {
	switch {
	case l.Minor > LockMinor:
		return l.Minor
	case len(l.Adopted) > 0:
		return adoptedMinor
	}
	// Programs that do not know adopted sources read all other locks.
	return adoptedMinor - 1
}

func (a Adopted) record() record {
	r := record{kind: "adopted", name: a.ID.String()}
	r.word("version", a.Version)
	r.word("require", a.Require)
	r.list("use", a.Use)
	r.word("url", a.URL)
	r.word("ref", a.Ref)
	r.word("tag", a.Tag)
	r.word("commit", a.Commit)
	r.word("tree", a.Tree)
	r.word("sum", a.Sum)
	r.list("exec", a.Exec)
	f := field{key: "reviews", list: true}
	for _, x := range a.Reviews {
		f.words = append(f.words, []string{x.Key, x.Digest.String()})
	}
	r.fields = append(r.fields, f)
	r.extra(a.Extra)
	return r
}

func (f *fieldReader) adopted(name string) Adopted {
	var a Adopted
	id, err := ParseID(name)
	if err == nil && (id.String() != name || id.Kind == PathID || id.Kind == RegistryID) {
		err = errors.New("it is not the canonical id of a repository")
	}
	if err != nil {
		f.p.fault(diag.ParsingError, f.pos, "reading the id of an adopted source %q: %s", name, err)
		f.rest()
		return a
	}
	a.ID = id
	a.Version = f.checked("version", true, id.CheckVersion)
	a.Require = f.checked("require", true, func(s string) error {
		return checkRequire(id, s)
	})
	a.Use = f.list("use", checkPattern)
	a.URL = f.checked("url", true, func(s string) error {
		return checkOrigin(id, s)
	})
	a.Ref = f.checked("ref", false, checkRef)
	a.Tag = f.checked("tag", false, checkObject)
	a.Commit = f.checked("commit", true, checkObject)
	a.Tree = f.checked("tree", true, checkObject)
	a.Sum = f.checked("sum", true, CheckSum)
	a.Exec = f.list("exec", treehash.CheckPath)
	a.Reviews = f.reviews()
	a.Extra = f.rest()
	return a
}

func (f *fieldReader) reviews() (out []Reviewed) {
	elements, pos := f.elements("reviews")
	for _, words := range elements {
		if len(words) != 2 {
			f.p.fault(diag.ParsingError, pos, "reviews: an element is a key and a digest")
			continue
		}
		d, err := item.ParseDigest(words[1])
		if err := errors.Join(checkSigner(words[0]), err); err != nil {
			f.p.fault(diag.ParsingError, pos, "reviews: %s", err)
		}
		out = append(out, Reviewed{words[0], d})
	}
	// Without a review nothing states that a person accepted the files.
	if len(out) == 0 && !f.failed() {
		f.p.fault(diag.ParsingError, f.pos, "the field %q is missing", "reviews")
	}
	return out
}

func compareReviewed(a, b Reviewed) int {
	return cmp.Or(
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Digest.String(), b.Digest.String()),
	)
}

// mergeAdopted merges the entries of two locks that were made from one base. ok is false
// if both changed the entry of one source.
func mergeAdopted(base, ours, theirs *Lock) (out []Adopted, ok bool) {
	text := func(l *Lock, id ID) string {
		a := l.AdoptedSource(id)
		if a == nil {
			return ""
		}
		return string(a.record().append(nil))
	}
	seen := map[ID]bool{}
	for _, a := range slices.Concat(base.Adopted, ours.Adopted, theirs.Adopted) {
		if seen[a.ID] {
			continue
		}
		seen[a.ID] = true
		was := text(base, a.ID)
		our := text(ours, a.ID)
		their := text(theirs, a.ID)
		from := ours
		switch {
		case our == their || their == was:
		case our == was:
			from = theirs
		default:
			return nil, false
		}
		if entry := from.AdoptedSource(a.ID); entry != nil {
			out = append(out, *entry)
		}
	}
	slices.SortFunc(out, compareAdopted)
	return out, true
}
