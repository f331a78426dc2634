package search

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
)

// find implements corpus.
func (v *view) find(n node) []match {
	switch n := n.(type) {
	case *word:
		return v.find(n.kid)
	case *leaf:
		return v.leaf(n)
	case or:
		var out []match
		for _, kid := range n.kids {
			out = either(out, v.find(kid))
		}
		return out
	case and:
		return v.and(n)
	case not, filter, every:
		return v.and(and{[]node{n}})
	}
	return nil
}

// and first finds the documents by text. Filters and negations then test these
// only.
func (v *view) and(n and) []match {
	var out []match
	first := true
	for _, kid := range n.kids {
		switch kid.(type) {
		case not, filter, every:
			continue
		}
		if list := v.find(kid); first {
			out, first = list, false
		} else {
			out = both(out, list)
		}
	}
	if first {
		out = v.all()
	}
	for _, kid := range n.kids {
		switch kid := kid.(type) {
		case filter:
			out = v.filtered(out, kid)
		case not:
			out = without(out, v.find(kid.kid))
		}
	}
	return out
}

func (v *view) all() []match {
	out := make([]match, 0, v.stats.items)
	for i := range v.parts {
		p := &v.parts[i]
		p.each(func(doc uint32) { out = append(out, match{doc: p.base + doc}) })
	}
	return out
}

// filtered returns the matches that pass a filter. It reads the location of a
// document only if the kind and the root do not decide.
func (v *view) filtered(list []match, f filter) []match {
	wanted := make([]bool, len(v.fields.kinds))
	for i, k := range v.fields.kinds {
		wanted[i] = slices.Contains(strings.Fields(f.value), string(k))
	}
	return slices.DeleteFunc(list, func(m match) bool {
		p := v.at(m.doc)
		switch f.by {
		case "type":
			return !wanted[p.seg.kind(m.doc-p.base)]
		case "space":
			return !slices.Contains(v.labels[p.root], f.value)
		}
		at := p.seg.location(m.doc - p.base)
		at.root = p.root
		return !f.accepts(at, v.labels)
	})
}

// leaf returns the documents that match, each with its score.
func (v *view) leaf(l *leaf) []match {
	var out []match
	for i := range v.parts {
		p := &v.parts[i]
		switch l.form {
		case term:
			out = v.term(out, p, l)
		case phrase, near:
			out = v.sequence(out, p, l)
		case wildcard, fuzzy:
			out = v.several(out, p, l)
		case exists:
			p.each(func(doc uint32) {
				if p.seg.length(doc, l.field) > 0 {
					out = append(out, match{doc: p.base + doc})
				}
			})
		}
	}
	rarity := v.stats.rarity(len(out))
	for i := range out {
		out[i].score = float64(rarity * out[i].score)
	}
	return out
}

// put adds the score of tf words in one field to the last match of a list if it
// is the same document, else appends a match.
func (v *view) put(list []match, p *part, doc uint32, field int, tf float64) []match {
	s := v.scorer.part(p.seg.kind(doc), field, tf, p.seg.length(doc, field))
	if n := len(list); n > 0 && list[n-1].doc == p.base+doc {
		list[n-1].score += s
		return list
	}
	return append(list, match{p.base + doc, s})
}

func (v *view) term(out []match, p *part, l *leaf) []match {
	e, ok := p.seg.find(l.words[0])
	if !ok {
		return out
	}
	for at := p.seg.read(e); at.next(); {
		if p.alive(at.doc) && (l.field < 0 || l.field == at.field) {
			out = v.put(out, p, at.doc, at.field, float64(at.tf))
		}
	}
	return out
}

// several finds all matching words of the dictionary and counts them as one word.
// A word with typing errors has a smaller weight.
func (v *view) several(out []match, p *part, l *leaf) []match {
	n := len(v.fields.names)
	var tf []float32
	var touched []uint64
	p.seg.each(l.prefix(), func(e entry) {
		weight := l.tokenWeight(e.term)
		if weight == 0 {
			return
		}
		if tf == nil {
			tf, touched = make([]float32, p.seg.docs*n), newBits(p.seg.docs)
		}
		for at := p.seg.read(e); at.next(); {
			if l.field < 0 || l.field == at.field {
				tf[int(at.doc)*n+at.field] += weight * float32(at.tf)
				setBit(touched, at.doc)
			}
		}
	})
	if tf == nil {
		return out
	}
	for i := range touched {
		touched[i] &= p.live[i]
	}
	matched := part{live: touched}
	matched.each(func(doc uint32) {
		for f := range n {
			if c := tf[int(doc)*n+f]; c > 0 {
				out = v.put(out, p, doc, f, float64(c))
			}
		}
	})
	return out
}

// isID returns 1 for a token with the slash of an id, else 0.
func isID(s string) int { return min(strings.Count(s, "/"), 1) }

// prefix returns the prefix of all tokens that the leaf can match.
func (l *leaf) prefix() string {
	if l.form != wildcard {
		return ""
	}
	before, _, _ := strings.Cut(l.words[0], "*")
	return before
}

// tokenWeight returns the weight of a token, 0 if it does not match. Only a word
// with a slash matches an id.
func (l *leaf) tokenWeight(token string) float32 {
	want := l.words[0]
	if l.form == wildcard {
		// Only * is special in queries; no token contains ? or [.
		if !strings.ContainsAny(want, "?[") && glob.Text(want, token) && isID(token) <= isID(want) {
			return 1
		}
		return 0
	}
	if n := edits(want, token, l.n); n <= l.n && isID(token) <= isID(want) {
		return 1 / float32(int(1)<<n)
	}
	return 0
}

// sequence finds phrases and "…"~N.
func (v *view) sequence(out []match, p *part, l *leaf) []match {
	words, need := distinct(l.words)
	lists := make([]*postings, len(words))
	for i, w := range words {
		e, ok := p.seg.find(w)
		if !ok {
			return out
		}
		lists[i] = p.seg.read(e)
	}
	at := make([][]uint32, len(words))
	for advanceAll(lists) {
		doc, field := lists[0].doc, lists[0].field
		if !p.alive(doc) || l.field >= 0 && l.field != field {
			continue
		}
		for i, f := range lists {
			at[i] = p.seg.positions(f.posting, at[i][:0])
		}
		var n uint32
		if l.form == near {
			n = countWindows(at, need, l.n)
		} else {
			n = countPhrases(inOrder(l.words, words, at))
		}
		if n > 0 {
			out = v.put(out, p, doc, field, float64(n))
		}
	}
	return out
}

// distinct returns each word once, with its number of occurrences.
func distinct(in []string) (words []string, need []int) {
	for _, w := range in {
		if i := slices.Index(words, w); i >= 0 {
			need[i]++
			continue
		}
		words = append(words, w)
		need = append(need, 1)
	}
	return words, need
}

// inOrder returns the positions of each word of a phrase.
func inOrder(phrase, words []string, at [][]uint32) [][]uint32 {
	out := make([][]uint32, len(phrase))
	for i, w := range phrase {
		out[i] = at[slices.Index(words, w)]
	}
	return out
}

// advanceAll moves all lists to the next field of a document that is in all of
// them, and reports whether there is one.
func advanceAll(lists []*postings) bool {
	if !lists[0].next() {
		return false
	}
	for i := 1; i < len(lists); {
		switch first := lists[0]; {
		case lists[i].before(first.posting):
			if !lists[i].next() {
				return false
			}
		case first.before(lists[i].posting):
			if !first.next() {
				return false
			}
			i = 1
		default:
			i++
		}
	}
	return true
}

// before reports whether the current posting of a list is before q. A list that
// was not started is before every posting.
func (p *postings) before(q posting) bool {
	return p.pos == "" || p.doc < q.doc || p.doc == q.doc && p.field < q.field
}

// near implements corpus.
func (v *view) near(word string, limit int, fn func(word string, distance, docs int)) {
	type found struct{ distance, docs int }
	all := map[string]found{}
	for i := range v.parts {
		p := &v.parts[i]
		p.seg.each("", func(e entry) {
			if d := edits(word, e.term, limit); d <= limit && isID(e.term) == 0 {
				all[e.term] = found{d, all[e.term].docs + p.docCount(e)}
			}
		})
	}
	for w, f := range all {
		if f.docs > 0 {
			fn(w, f.distance, f.docs)
		}
	}
}

// docCount returns the number of live documents that have a term.
func (p *part) docCount(e entry) (n int) {
	last := -1
	for at := p.seg.read(e); at.next(); last = int(at.doc) {
		if int(at.doc) != last && p.alive(at.doc) {
			n++
		}
	}
	return n
}
