package lock

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/item"
)

// Render returns the canonical text of the lock. It does not depend on the order of
// the entries.
func (l *Lock) Render() []byte {
	c := l.sorted()
	b := append(make([]byte, 0, c.size()), c.aboveText()...)
	before := c.canonical.reader()
	for i := range c.Items {
		text := before.of(&c.Items[i])
		if b = append(b, text...); text == "" {
			b = c.Items[i].record().append(b)
		}
	}
	return b
}

// size estimates the length of the text.
func (l *Lock) size() int {
	known := 512 + 1024*(len(l.Bundles)+len(l.Adopted)+len(l.Registries)+len(l.Members))
	if l.canonical == nil {
		return known + 512*len(l.Items)
	}
	return known + len(l.canonical.text) + 512*max(
		64,
		len(l.Items)-len(l.canonical.items),
	)
}

// canonical is a text whose items are written as Render writes them, at its end. Few entries
// change between reading and writing a lock; of the others the text is copied.
type canonical struct {
	text   string
	items  []Item // sorted by ref
	starts []int  // of their entries in the text
}

// reader returns a reader that finds the texts of entries in the order of their refs. It finds
// none in nil.
func (c *canonical) reader() *canonicalReader {
	if c == nil {
		c = &canonical{}
	}
	return &canonicalReader{canonical: c}
}

type canonicalReader struct {
	*canonical
	at int // the next item
}

// of returns the text of an entry that is as it was read, else "". Each call must have a
// later ref.
func (r *canonicalReader) of(it *Item) string {
	for r.at < len(r.items) && CompareRefs(r.items[r.at].Ref, it.Ref) < 0 {
		r.at++
	}
	if r.at == len(r.items) || !r.items[r.at].Equal(it) {
		return ""
	}
	end := len(r.text)
	if r.at+1 < len(r.starts) {
		end = r.starts[r.at+1]
	}
	return r.text[r.starts[r.at]:end]
}

// inOrder returns the head and the entries of a sorted lock.
func (l *Lock) inOrder() iter.Seq[record] {
	return func(yield func(record) bool) {
		for r := range l.aboveItems() {
			if !yield(r) {
				return
			}
		}
		for i := range l.Items {
			if !yield(l.Items[i].record()) {
				return
			}
		}
	}
}

// aboveItems returns the head and the entries before the items.
func (l *Lock) aboveItems() iter.Seq[record] {
	return func(yield func(record) bool) {
		if !yield(l.head()) {
			return
		}
		for i := range l.Bundles {
			if !yield(l.Bundles[i].record()) {
				return
			}
		}
		for i := range l.Adopted {
			if !yield(l.Adopted[i].record()) {
				return
			}
		}
		for i := range l.Registries {
			if !yield(l.Registries[i].record()) {
				return
			}
		}
		for i := range l.Members {
			if !yield(l.Members[i].record()) {
				return
			}
		}
	}
}

// aboveText returns the text before the items.
func (l *Lock) aboveText() (b []byte) {
	for r := range l.aboveItems() {
		b = r.append(b)
	}
	return b
}

// Clone copies the entries. They share the lists that they contain, which no function of
// this package changes.
func (l *Lock) Clone() *Lock {
	c := *l
	c.Bundles, c.Members, c.Registries = slices.Clone(l.Bundles), slices.Clone(l.Members), slices.Clone(l.Registries)
	c.Adopted = slices.Clone(l.Adopted)
	c.TakeItems(l)
	return &c
}

func (l *Lock) head() record {
	format := strconv.Itoa(LockFormat)
	if l.Minor > 0 {
		format += "." + strconv.Itoa(l.Minor)
	}
	var r record
	r.word("rye-lock", format)
	r.word("manifest", l.Manifest)
	if l.System != (System{}) {
		r.fields = append(r.fields, wordField(
			"system",
			l.System.ID,
			l.System.Version,
			l.System.Sum,
		))
	}
	if words := l.Revoked.words(); words != nil {
		r.fields = append(r.fields, field{key: "revocations", list: true, words: words})
	}
	r.extra(l.Extra)
	return r
}

func (b Bundle) record() record {
	r := record{kind: "bundle", name: b.ID.String()}
	r.word("version", b.Version)
	r.word("require", b.Require)
	r.list("use", b.Use)
	r.word("replace", b.Replace.String())
	r.word("url", b.URL)
	r.word("ref", b.Ref)
	r.word("tag", b.Tag)
	r.word("commit", b.Commit)
	r.word("tree", b.Tree)
	r.word("archive", b.Archive)
	r.word("log", b.Log)
	r.word("sum", b.Sum)
	r.list("exec", b.Exec)
	r.digest("manifest", b.Manifest)
	if len(b.Signers) > 1 {
		r.list("signers", b.Signers)
	} else if len(b.Signers) == 1 {
		r.word("signer", b.Signers[0])
	}
	r.list("caps", b.Caps)
	r.modules("needs", b.Needs)
	r.modules("via", b.Via)
	r.extra(b.Extra)
	return r
}

func (x Registry) record() record {
	r := record{kind: "registry", name: x.Host}
	r.word("key", x.Key)
	r.fields = append(r.fields, wordField("checkpoint", strings.Fields(x.Checkpoint)...))
	r.extra(x.Extra)
	return r
}

func (m Member) record() record {
	r := record{kind: "member", name: m.Path}
	r.word("name", m.ID.String())
	r.word("manifest", m.Manifest)
	r.modules("needs", m.Needs)
	r.extra(m.Extra)
	return r
}

// hasText reports whether Render writes the entry like this.
func (it Item) hasText(text string) bool {
	it.Uses = sorted(it.Uses, compareLinks)
	return string(it.record().append(nil)) == text
}

func (it Item) record() record {
	r := record{kind: "item", name: it.Ref.String()}
	r.digest("digest", it.Digest)
	r.links("chain", it.Chain)
	r.links("uses", it.Uses)
	r.deps("deps", it.Deps)
	r.extra(it.Extra)
	return r
}

// word adds a field if it is not empty.
func (r *record) word(key, value string) {
	if value != "" {
		r.fields = append(r.fields, wordField(key, value))
	}
}

func (r *record) digest(key string, d item.Digest) {
	if d != (item.Digest{}) {
		r.word(key, d.String())
	}
}

func (r *record) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	f := field{key: key, list: true}
	for _, v := range values {
		f.words = append(f.words, []string{v})
	}
	r.fields = append(r.fields, f)
}

func (r *record) deps(key string, deps []Dep) {
	if len(deps) == 0 {
		return
	}
	f := field{key: key, list: true}
	for _, d := range SortDeps(deps) {
		f.words = append(f.words, []string{d.Name, d.Version, d.Digest.String()})
	}
	r.fields = append(r.fields, f)
}

func (r *record) links(key string, links []Link) {
	if len(links) == 0 {
		return
	}
	f := field{key: key, list: true}
	for _, l := range links {
		f.words = append(f.words, []string{l.Ref.String(), l.Digest.String()})
	}
	r.fields = append(r.fields, f)
}

func (r *record) modules(key string, mods []Module) {
	if len(mods) == 0 {
		return
	}
	f := field{key: key, list: true}
	for _, m := range mods {
		words := []string{m.ID.String()}
		if m.Version != "" {
			words = append(words, m.Version)
		}
		f.words = append(f.words, words)
	}
	r.fields = append(r.fields, f)
}

func (r *record) extra(fields []Field) {
	for _, f := range fields {
		r.fields = append(r.fields, field{key: f.Key, raw: f.Text})
	}
}
