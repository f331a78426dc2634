package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// weighted returns copies of the compiled-in extractors with these weights.
func weighted(t testing.TB, weights map[string]float64) *extract.Table {
	t.Helper()
	table := &extract.Table{}
	for _, e := range extract.Boot().All() {
		own := *e
		own.Search = weights
		if err := table.Add(&own); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// shelfOf is a library of knowledge with these titles and bodies, in memory.
func shelfOf(t *testing.T, texts ...[2]string) (*fields, *ranker) {
	t.Helper()
	f := newFields(weighted(t, map[string]float64{"title": 3, "body": 1}))
	b := newBuilder(f)
	for i, text := range texts {
		d := f.blank(item.Ref{Kind: item.Knowledge, ID: fmt.Sprintf("a/k%d", i)}, "")
		d.fields[f.number("title")].text(text[0])
		d.fields[f.number("body")].text(text[1])
		b.add(d)
	}
	seg, ok := openSegment(string(b.bytes()), f)
	if !ok {
		t.Fatal("a segment that was just written")
	}
	roots := []*space.Root{space.NewDir(space.Project, "", t.TempDir(), false)}
	v := newView(f, roots, []part{{seg: seg, live: allBits(seg.docs)}})
	return f, &ranker{v, roots, ranks(roots)}
}

// The scores are those of the formula, written down here a second time: BM25F with
// k1 1.2 and b 0.75 over the average of the items that have the field, and the
// share of the query's words that an item has.
func TestScores(t *testing.T) {
	t.Parallel()
	f, s := shelfOf(t, [2]string{"zebra stripes", "zebra zebra lion grass"}, [2]string{"grass", "zebra"}, [2]string{"lion", ""}, [2]string{"grass lion okapi", "grass grass grass"})
	idf := func(n float64) float64 { return math.Log(1 + (4-n+0.5)/(n+0.5)) }
	part := func(weight, tf, length, average float64) float64 { return weight * tf / (0.25 + 0.75*length/average) }
	sat := func(parts ...float64) (tf float64) {
		for _, p := range parts {
			tf += p
		}
		return tf * 2.2 / (tf + 1.2)
	}
	const title, body = (2 + 1 + 1 + 3) / 4.0, (4 + 1 + 3) / 3.0
	zebra := []float64{idf(2) * sat(part(3, 1, 2, title), part(1, 2, 4, body)), idf(2) * sat(part(1, 1, 1, body))}
	stripes := idf(1) * sat(part(3, 1, 2, title))
	some := 0.9 + 0.1*idf(2)/(idf(1)+idf(2))
	for text, want := range map[string][]float64{
		"zebra":                {zebra[0], zebra[1]},
		"zebra NOT lion":       {0, zebra[1]},
		"title:zebra":          {idf(1) * sat(part(3, 1, 2, title))},
		`"lion grass"`:         {idf(1) * sat(part(1, 1, 4, body))},
		"zebra type:knowledge": {zebra[0], zebra[1]},
		"zebra OR stripes":     {zebra[0] + stripes, zebra[1] * some},
		"zebra AND stripes":    {zebra[0] + stripes},
		"zebra +stripes":       {zebra[0] + stripes},
		"okapi*":               {0, 0, 0, idf(1) * sat(part(3, 1, 3, title))},
		"okapo~1":              {0, 0, 0, idf(1) * sat(part(3, 0.5, 3, title))},
		"okapo":                {0, 0, 0, 0.5 * idf(1) * sat(part(3, 1, 3, title))},
		"title:lion*":          {0, 0, idf(2) * sat(part(3, 1, 1, title)), idf(2) * sat(part(3, 1, 3, title))},
		"giraffe zebra":        {zebra[0], zebra[1]},
	} {
		n, err := parse(text, names{fields: f.names, kinds: f.kinds})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 4)
		r := s.matching(n, nil, nil)
		for _, m := range s.best(r.list, 10) {
			got[m.doc] = m.score
		}
		for i := range got {
			if i < len(want) && math.Abs(got[i]-want[i]) > 0.51e-4 || i >= len(want) && got[i] != 0 {
				t.Errorf("%s: scores %v, want %v", text, got, want)
				break
			}
		}
	}
}

// Words that are as near to one another as in the query add up to a fifth.
func TestProximity(t *testing.T) {
	t.Parallel()
	f, s := shelfOf(t, [2]string{"", "roll it back"}, [2]string{"", "roll back it"}, [2]string{"", "back it roll"}, [2]string{"", "nothing at all"})
	n, err := parse("roll back", names{fields: f.names, kinds: f.kinds})
	if err != nil {
		t.Fatal(err)
	}
	r := s.matching(n, nil, nil)
	base := r.list[0].score
	var order []uint32
	for _, m := range s.first(r, 10) {
		order = append(order, m.doc)
		if m.doc == 1 && math.Abs(m.score-1.2*base) > 1e-4 {
			t.Errorf("adjacent words: %v, want %v", m.score, 1.2*base)
		}
	}
	if !slices.Equal(order, []uint32{1, 0, 2}) {
		t.Errorf("order %v", order)
	}
}

// A document never ranks below the same document with another word in place of one
// of the query's words.
func TestMoreWordsRankHigher(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	words := []string{"lion", "zebra", "grass", "okapi", "time", "zone", "the", "how", "lions", "timezone", "river"}
	for range 300 {
		var texts [][2]string
		text := func(n int) string {
			out := make([]string, n)
			for i := range out {
				out[i] = words[r.IntN(len(words))]
			}
			return strings.Join(out, " ")
		}
		for range 2 + r.IntN(12) {
			texts = append(texts, [2]string{text(r.IntN(4)), text(r.IntN(12))})
		}
		query := strings.Fields(text(1 + r.IntN(5)))
		slices.Sort(query)
		query = slices.Compact(query)
		r.Shuffle(len(query), func(i, j int) { query[i], query[j] = query[j], query[i] })
		whole := append(strings.Fields(text(r.IntN(5))), query...)
		r.Shuffle(len(whole), func(i, j int) { whole[i], whole[j] = whole[j], whole[i] })
		without := query[r.IntN(len(query))]
		less := strings.Fields(strings.ReplaceAll(" "+strings.Join(whole, "  ")+" ", " "+without+" ", " filler "))
		title := text(1)
		texts = append(texts, [2]string{title, strings.Join(whole, " ")}, [2]string{title, strings.Join(less, " ")})
		f, s := shelfOf(t, texts...)
		n, err := parse(strings.Join(query, " "), names{fields: f.names, kinds: f.kinds})
		if err != nil {
			t.Fatal(err)
		}
		full, rest := 0.0, 0.0
		for _, m := range s.first(s.matching(n, nil, nil), len(texts)) {
			switch int(m.doc) {
			case len(texts) - 2:
				full = m.score
			case len(texts) - 1:
				rest = m.score
			}
		}
		if full < rest {
			t.Fatalf("%q: %q has %v, %q has %v\nof %q", query, whole, full, less, rest, texts)
		}
	}
}

// Ties are by space, then id, then kind; what differs by less than 1e-4 is one.
func TestOrder(t *testing.T) {
	t.Parallel()
	_, s := shelfOf(t, [2]string{"", ""}, [2]string{"", ""}, [2]string{"", ""})
	in := []match{{doc: 2, score: 1.00001}, {doc: 1, score: 1.00002}, {doc: 0, score: 1.00004}}
	if got := s.best(slices.Clone(in), 3); got[0].doc != 0 || got[1].doc != 1 || got[2].doc != 2 {
		t.Errorf("%v", got)
	}
	if got := s.best([]match{{doc: 2, score: 1}, {doc: 1, score: 1.0002}, {doc: 0, score: 1.0001}}, 2); len(got) != 2 || got[0].doc != 1 || got[1].doc != 0 {
		t.Errorf("%v", got)
	}
}
