package search

import (
	"slices"

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
	words  map[string]int // see vocabulary
}

// newRawCorpus returns the corpus of documents with the root of each, in order of
// precedence.
func newRawCorpus(f *fields, roots []*space.Root, docs []document, root []int) *rawCorpus {
	p := &rawCorpus{
		docs:  docs,
		root:  root,
		stats: newStatistics(len(f.names)),
		refs:  map[item.Ref][]uint32{},
	}
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
	same := p.refs[p.docs[doc].ref]
	if len(same) > 1 {
		return same
	}
	return nil
}

// near implements corpus.
func (p *rawCorpus) near(word string, limit int, fn func(word string, distance, docs int)) {
	for w, n := range p.vocabulary() {
		d := edits(word, w, limit)
		if d <= limit && isID(w) == 0 {
			fn(w, d, n)
		}
	}
}

// vocabulary returns the number of documents that have each word.
func (p *rawCorpus) vocabulary() map[string]int {
	if p.words == nil {
		p.words = map[string]int{}
		last := map[string]int{}
		for i := range p.docs {
			for _, f := range p.docs[i].fields {
				for _, t := range f.list {
					if last[t.text] != i+1 {
						last[t.text] = i + 1
						p.words[t.text]++
					}
				}
			}
		}
	}
	return p.words
}

// known implements corpus.
func (p *rawCorpus) known(_ string, words []string) (out []string) {
	for _, w := range words {
		if p.vocabulary()[w] > 0 {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// find implements corpus.
func (p *rawCorpus) find(n node) matches {
	test, out := p.test(n)
	for i := range p.docs {
		if m, ok := test(uint32(i)); ok {
			m.doc = uint32(i)
			out.list = append(out.list, m)
		}
	}
	return out
}

// test is the match of a part of a query with a document.
type test func(doc uint32) (match, bool)

// test returns the test for a part of a query, and the words and the weight of
// the part.
func (p *rawCorpus) test(n node) (test, matches) {
	switch n := n.(type) {
	case *word:
		t, m, items := p.wordTest(n.forms, n.scale, commonWord(n.text))
		n.items = items
		n.weight = m.weight
		return t, m
	case *leaf:
		t, m, _ := p.wordTest([]*leaf{n}, 1, false)
		return t, m
	case not:
		kid, _ := p.test(n.kid)
		return func(doc uint32) (match, bool) { _, ok := kid(doc); return match{}, !ok }, matches{}
	case only:
		kid, _ := p.test(n.kid)
		return func(doc uint32) (match, bool) { _, ok := kid(doc); return match{}, ok }, matches{}
	case filter:
		return func(doc uint32) (match, bool) {
			return match{}, n.accepts(p.location(doc), p.labels)
		}, matches{}
	case group:
		return p.groupTest(n)
	case or:
		t, m := p.sumTest(n.kids, 1)
		m = alternatives(m)
		return func(doc uint32) (match, bool) {
			got, ok := t(doc)
			got.words = min(got.words, m.words)
			return got, ok
		}, m
	}
	return func(uint32) (match, bool) {
		return match{}, true
	}, matches{}
}

// sumTest adds the matches of the parts. At least enough of them must match.
func (p *rawCorpus) sumTest(kids []node, enough int) (test, matches) {
	var tests []test
	var m matches
	for _, k := range kids {
		t, part := p.test(k)
		tests = append(tests, t)
		m.words += part.words
		m.weight += part.weight
	}
	return func(doc uint32) (sum match, ok bool) {
		matched := 0
		for _, t := range tests {
			if got, ok := t(doc); ok {
				sum = sum.plus(got)
				matched++
			}
		}
		return sum, matched >= enough
	}, m
}

func (p *rawCorpus) groupTest(n group) (test, matches) {
	must, out := p.sumTest(n.must, len(n.must))
	if len(n.may) == 0 {
		return must, out
	}
	may, m := p.sumTest(n.may, 1)
	optional := n.hasWords()
	out.words += m.words
	out.weight += m.weight
	return func(doc uint32) (match, bool) {
		a, ok := must(doc)
		if !ok {
			return match{}, false
		}
		b, ok := may(doc)
		return a.plus(b), ok || optional
	}, out
}

// wordTest first counts the matches in all documents: the score needs their
// number, which it returns as well.
func (p *rawCorpus) wordTest(forms []*leaf, scale float64, common bool) (test, matches, int) {
	parts := p.frequencies(forms)
	if forms[0].form == exists {
		return func(doc uint32) (match, bool) { _, ok := parts[doc]; return match{}, ok }, matches{}, 0
	}
	m := matches{words: countedWords(common), weight: p.stats.weight(len(parts), scale, common)}
	return func(doc uint32) (match, bool) {
		frequency, ok := parts[doc]
		if !ok {
			return match{}, false
		}
		return match{words: m.words, weight: m.weight, score: float64(m.weight * saturated(frequency))}, true
	}, m, len(parts)
}

// frequencies returns the frequency of a word of several forms in each document.
func (p *rawCorpus) frequencies(forms []*leaf) map[uint32]float64 {
	out := map[uint32]float64{}
	for _, l := range forms {
		of := map[uint32]float64{}
		for i := range p.docs {
			d := &p.docs[i]
			for f, t := range d.fields {
				if l.field >= 0 && l.field != f {
					continue
				}
				if n := l.count(t.list); n > 0 {
					of[uint32(i)] += p.scorer.part(
						d.kind,
						f,
						n,
						uint32(len(t.list)),
					)
				}
			}
		}
		for doc, n := range of {
			if l.share > 0 {
				n = float64(l.share * n)
			}
			out[doc] += n
		}
	}
	return out
}

// countUpTo implements corpus.
func (p *rawCorpus) countUpTo(l *leaf, limit int) int {
	return min(len(p.frequencies([]*leaf{l})), limit)
}

// size implements corpus.
func (p *rawCorpus) size() int {
	return len(p.docs)
}

// rare implements corpus.
func (p *rawCorpus) rare() int {
	return p.stats.rare()
}

// positions implements corpus.
func (p *rawCorpus) positions(
	word string,
	docs []uint32,
	fn func(doc uint32, field int, at []uint32),
) {
	for _, doc := range docs {
		for f, t := range p.docs[doc].fields {
			var at []uint32
			for _, token := range t.list {
				if token.text == word {
					at = append(at, token.pos)
				}
			}
			if at != nil {
				fn(doc, f, at)
			}
		}
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
		if list[i].text != w ||
			list[i].pos != list[0].pos+uint32(i) {
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
		at := slices.Index(missing, list[i].text)
		if at >= 0 {
			missing = slices.Delete(missing, at, at+1)
		}
		if len(missing) == 0 {
			return true
		}
	}
	return false
}
