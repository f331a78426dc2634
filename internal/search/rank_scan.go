package search

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// rawCorpus is the corpus without an index: every document as it was read. It
// compares each word of each document with each part of a query. It shares only
// the reading of documents and the formula of the score with the index, so tests
// compare the two.
type rawCorpus struct {
	docs   []document
	root   []int
	labels [][]string
	stats  statistics
	scorer *scorer
	refs   map[item.Ref][]uint32
}

// newRawCorpus returns the corpus of documents with the root of each, in order of
// precedence.
func newRawCorpus(f *fields, roots []*space.Root, docs []document, root []int) *rawCorpus {
	p := &rawCorpus{docs: docs, root: root, stats: newStatistics(len(f.names)), refs: map[item.Ref][]uint32{}}
	for _, r := range roots {
		p.labels = append(p.labels, rootNames(r))
	}
	p.stats.items = len(docs)
	for i, d := range docs {
		p.refs[d.ref] = append(p.refs[d.ref], uint32(i))
		for n, t := range d.fields {
			p.stats.add(n, uint32(len(t.list)))
		}
	}
	p.scorer = newScorer(f, &p.stats)
	return p
}

// location implements corpus.
func (p *rawCorpus) location(doc uint32) location {
	d := &p.docs[doc]
	return location{d.ref, p.root[doc], d.rel, d.signer}
}

// copies implements corpus.
func (p *rawCorpus) copies(doc uint32) []uint32 {
	if same := p.refs[p.docs[doc].ref]; len(same) > 1 {
		return same
	}
	return nil
}

// near implements corpus.
func (p *rawCorpus) near(word string, limit int, fn func(word string, distance, docs int)) {
	docCount := map[string]int{}
	for i := range p.docs {
		seen := map[string]bool{}
		for _, f := range p.docs[i].fields {
			for _, t := range f.list {
				if !seen[t.text] && !strings.Contains(t.text, "/") {
					seen[t.text] = true
					docCount[t.text]++
				}
			}
		}
	}
	for w, n := range docCount {
		if d := edits(word, w, limit); d <= limit {
			fn(w, d, n)
		}
	}
}

// find implements corpus.
func (p *rawCorpus) find(n node) (out []match) {
	test := p.test(n)
	for i := range p.docs {
		if score, ok := test(uint32(i)); ok {
			out = append(out, match{uint32(i), score})
		}
	}
	return out
}

// test returns the function that matches and scores a document for a part of a
// query.
func (p *rawCorpus) test(n node) func(doc uint32) (float64, bool) {
	switch n := n.(type) {
	case *word:
		return p.test(n.kid)
	case *leaf:
		return p.leafTest(n)
	case not:
		kid := p.test(n.kid)
		return func(doc uint32) (float64, bool) { _, ok := kid(doc); return 0, !ok }
	case filter:
		return func(doc uint32) (float64, bool) { return 0, n.accepts(p.location(doc), p.labels) }
	case and:
		return p.combined(n.kids, func(matched int) bool { return matched == len(n.kids) })
	case or:
		return p.combined(n.kids, func(matched int) bool { return matched > 0 })
	}
	return func(uint32) (float64, bool) { return 0, true }
}

func (p *rawCorpus) combined(kids []node, enough func(matched int) bool) func(doc uint32) (float64, bool) {
	var tests []func(uint32) (float64, bool)
	for _, k := range kids {
		tests = append(tests, p.test(k))
	}
	return func(doc uint32) (sum float64, ok bool) {
		matched := 0
		for _, t := range tests {
			if score, ok := t(doc); ok {
				sum += score
				matched++
			}
		}
		return sum, enough(matched)
	}
}

// leafTest first counts the matches in all documents: the score needs their
// number.
func (p *rawCorpus) leafTest(l *leaf) func(doc uint32) (float64, bool) {
	parts := map[uint32]float64{}
	for i := range p.docs {
		d := &p.docs[i]
		for f, t := range d.fields {
			if l.field >= 0 && l.field != f {
				continue
			}
			if n := l.count(t.list); n > 0 {
				parts[uint32(i)] += p.scorer.part(d.kind, f, n, uint32(len(t.list)))
			}
		}
	}
	rarity := p.stats.rarity(len(parts))
	return func(doc uint32) (float64, bool) {
		score, ok := parts[doc]
		if l.form == exists {
			return 0, ok
		}
		return float64(rarity * score), ok
	}
}

// count returns the weighted number of matches of a leaf in a field.
func (l *leaf) count(list []token) (n float64) {
	for i := range list {
		switch l.form {
		case exists:
			n++
		case term:
			if list[i].text == l.words[0] {
				n++
			}
		case phrase:
			if l.phraseAt(list[i:]) {
				n++
			}
		case near:
			if l.nearEnding(list[:i+1]) {
				n++
			}
		case wildcard, fuzzy:
			n += float64(l.tokenWeight(list[i].text))
		}
	}
	return n
}

// phraseAt reports whether a list begins with the phrase.
func (l *leaf) phraseAt(list []token) bool {
	if len(list) < len(l.words) {
		return false
	}
	for i, w := range l.words {
		if list[i].text != w || list[i].pos != list[0].pos+uint32(i) {
			return false
		}
	}
	return true
}

// nearEnding reports whether the last token of a list ends a window that contains
// all words and at most n further tokens.
func (l *leaf) nearEnding(list []token) bool {
	last := list[len(list)-1]
	missing := slices.Clone(l.words)
	if !slices.Contains(missing, last.text) {
		return false
	}
	for i := len(list) - 1; i >= 0 && int(last.pos-list[i].pos)+1 <= len(l.words)+l.n; i-- {
		if at := slices.Index(missing, list[i].text); at >= 0 {
			missing = slices.Delete(missing, at, at+1)
		}
		if len(missing) == 0 {
			return true
		}
	}
	return false
}
