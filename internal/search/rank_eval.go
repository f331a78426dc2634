package search

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
)

// find implements corpus.
func (v *view) find(n node) matches {
	switch n := n.(type) {
	case *word:
		return v.word(n)
	case *leaf:
		return v.scored(v.leaf(n), n, 1, false)
	case or:
		return alternatives(v.any(n.kids))
	case group:
		return v.joint(n)
	case not, filter, every, only:
		return v.joint(all(n))
	}
	return matches{}
}

// word finds the documents that have any form of a word. All forms are one word.
func (v *view) word(w *word) matches {
	var out []match
	for _, form := range w.forms {
		list := v.leaf(form)
		if form.share > 0 {
			for i := range list {
				list[i].score = float64(form.share * list[i].score)
			}
		}
		out = either(out, list)
	}
	m := v.scored(out, w.forms[0], w.scale, commonWord(w.text))
	w.items = len(m.list)
	w.weight = m.weight
	return m
}

// scored turns the frequencies of a word into scores.
func (v *view) scored(list []match, l *leaf, scale float64, common bool) matches {
	if l.form == exists {
		return matches{list: list}
	}
	m := matches{list: list, words: countedWords(common), weight: v.stats.weight(len(list), scale, common)}
	for i := range list {
		list[i].words = m.words
		list[i].weight = m.weight
		list[i].score = float64(m.weight * saturated(list[i].score))
	}
	return m
}

// any finds the documents that match at least one part.
func (v *view) any(kids []node) (out matches) {
	found := make([]matches, len(kids))
	size := 0
	for i, kid := range kids {
		found[i] = v.find(kid)
		out.words += found[i].words
		out.weight += found[i].weight
		size += len(found[i].list)
	}
	const sparse = 8
	if len(kids) > 2 && size > int(v.width)/sparse {
		out.list = v.union(found)
		return out
	}
	for _, f := range found {
		out.list = either(out.list, f.list)
	}
	return out
}

// union joins long lists in a table of all documents.
func (v *view) union(found []matches) []match {
	sums := make([]match, v.width)
	seen := newBits(int(v.width))
	for _, f := range found {
		for i := range f.list {
			m := &f.list[i]
			sums[m.doc] = sums[m.doc].plus(*m)
			setBit(seen, m.doc)
		}
	}
	out := sums[:0]
	joined := part{live: seen}
	joined.each(func(doc uint32) {
		m := sums[doc]
		m.doc = doc
		out = append(out, m)
	})
	return out
}

// joint first finds the documents by text. Filters and negations then test these
// only.
func (v *view) joint(n group) (out matches) {
	first := true
	for _, kid := range n.must {
		if tests(kid) {
			continue
		}
		m := v.find(kid)
		out.words += m.words
		out.weight += m.weight
		if first {
			out.list = m.list
			first = false
		} else {
			out.list = both(out.list, m.list)
		}
	}
	if len(n.may) > 0 {
		m := v.any(n.may)
		switch {
		case first:
			out.list = m.list
			first = false
		case !n.hasWords(): // what is required only tests
			out.list = both(out.list, m.list)
		default:
			out.list = also(out.list, m.list)
		}
		out.words += m.words
		out.weight += m.weight
	}
	if first {
		out.list = v.all()
	}
	for _, kid := range n.must {
		switch kid := kid.(type) {
		case filter:
			out.list = v.filtered(out.list, kid)
		case not:
			out.list = without(out.list, v.find(kid.kid).list)
		case only:
			out.list = within(out.list, v.find(kid.kid).list)
		}
	}
	return out
}

// tests reports whether a part only tests documents that were found.
func tests(n node) bool {
	switch n.(type) {
	case not, filter, every, only:
		return true
	}
	return false
}

func (v *view) all() []match {
	out := make([]match, 0, v.stats.items)
	for i := range v.parts {
		p := &v.parts[i]
		p.each(func(doc uint32) {
			out = append(out, match{doc: p.base + doc})
		})
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
			if f.value == RecordSpace {
				break
			}
			return !slices.Contains(v.labels[p.root], f.value)
		}
		at := p.seg.location(m.doc - p.base)
		at.root = p.root
		return !f.accepts(at, v.labels)
	})
}

// leaf returns the documents that match, each with the frequency in place of a
// score.
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
	return out
}

// put adds the frequency of tf words in one field to the last match of a list if it
// is the same document, else appends a match.
func (v *view) put(
	list []match,
	p *part,
	doc uint32,
	field int,
	tf float64,
) []match {
	s := v.scorer.part(
		p.seg.kind(doc),
		field,
		tf,
		p.seg.length(doc, field),
	)
	n := len(list)
	if n > 0 && list[n-1].doc == p.base+doc {
		list[n-1].score += s
		return list
	}
	return append(list, match{doc: p.base + doc, score: s})
}

func (v *view) term(out []match, p *part, l *leaf) []match {
	e, ok := p.seg.find(l.words[0])
	if !ok {
		return out
	}
	out = slices.Grow(out, max(0, min(e.docs, p.seg.docs)))
	p.seg.frequencies(e, func(doc uint32, field int, tf uint32) {
		if p.alive(doc) && (l.field < 0 || l.field == field) {
			out = v.put(out, p, doc, field, float64(tf))
		}
	})
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
func isID(s string) int {
	return min(strings.Count(s, "/"), 1)
}

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
		if !strings.ContainsAny(want, "?[") &&
			glob.Text(want, token) &&
			isID(token) <= isID(want) {
			return 1
		}
		return 0
	}
	n := edits(want, token, l.n)
	if n <= l.n && isID(token) <= isID(want) {
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
		doc := lists[0].doc
		field := lists[0].field
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
	return p.pos == "" ||
		p.doc < q.doc ||
		p.doc == q.doc && p.field < q.field
}

// near implements corpus.
func (v *view) near(word string, limit int, fn func(word string, distance, docs int)) {
	type found struct{ distance, docs int }
	all := map[string]found{}
	for i := range v.parts {
		p := &v.parts[i]
		p.seg.each("", func(e entry) {
			d := edits(word, e.term, limit)
			if d <= limit && isID(e.term) == 0 {
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

// countUpTo implements corpus.
func (v *view) countUpTo(l *leaf, limit int) (n int) {
	if l.form != term {
		return min(len(v.leaf(l)), limit)
	}
	for i := range v.parts {
		p := &v.parts[i]
		e, ok := p.seg.find(l.words[0])
		if !ok {
			continue
		}
		last := -1
		for at := p.seg.read(e); n < limit && at.next(); {
			if int(at.doc) != last &&
				p.alive(at.doc) &&
				(l.field < 0 || l.field == at.field) {
				n++
				last = int(at.doc)
			}
		}
	}
	return n
}

// known implements corpus.
func (v *view) known(prefix string, words []string) (out []string) {
	for i := range v.parts {
		p := &v.parts[i]
		p.seg.each(prefix, func(e entry) {
			if slices.Contains(words, e.term) &&
				!slices.Contains(out, e.term) &&
				p.hasDoc(e) {
				out = append(out, strings.Clone(e.term))
			}
		})
	}
	slices.Sort(out)
	return out
}

// hasDoc reports whether a live document has a term.
func (p *part) hasDoc(e entry) bool {
	for at := p.seg.read(e); at.next(); {
		if p.alive(at.doc) {
			return true
		}
	}
	return false
}

// size implements corpus.
func (v *view) size() int {
	return v.stats.items
}

// rare implements corpus.
func (v *view) rare() int {
	return v.stats.rare()
}

// positions implements corpus.
func (v *view) positions(
	word string,
	docs []uint32,
	fn func(doc uint32, field int, at []uint32),
) {
	var buf []uint32
	for i := range v.parts {
		p := &v.parts[i]
		for len(docs) > 0 && docs[0] < p.base {
			docs = docs[1:]
		}
		e, ok := p.seg.find(word)
		if !ok {
			continue
		}
		for at := p.seg.read(e); len(docs) > 0 && at.next(); {
			for len(docs) > 0 && docs[0] < p.base+at.doc {
				docs = docs[1:]
			}
			if len(docs) > 0 && docs[0] == p.base+at.doc {
				buf = p.seg.positions(at.posting, buf[:0])
				fn(docs[0], at.field, buf)
			}
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
