package search

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// shelfOf is a library of knowledge with these titles and bodies, in memory.
func shelfOf(t *testing.T, texts ...[2]string) (*fields, *ranker) {
	t.Helper()
	table := extract.Boot()
	for _, e := range table.All() {
		e.Search = map[string]float64{"title": 3, "body": 1}
	}
	f := newFields(table)
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

// The scores are those of the formula, written down here a second time: BM25
// with k1 1.2 and b 0.75 over the average of the items that have the field.
func TestScores(t *testing.T) {
	t.Parallel()
	f, s := shelfOf(t, [2]string{"zebra stripes", "zebra zebra lion grass"}, [2]string{"grass", "zebra"}, [2]string{"lion", ""}, [2]string{"grass lion okapi", "grass grass grass"})
	idf := func(n float64) float64 { return math.Log(1 + (4-n+0.5)/(n+0.5)) }
	part := func(weight, tf, length, average float64) float64 {
		return weight * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/average))
	}
	const title, body = (2 + 1 + 1 + 3) / 4.0, (4 + 1 + 3) / 3.0
	zebra := []float64{idf(2) * (part(3, 1, 2, title) + part(1, 2, 4, body)), idf(2) * part(1, 1, 1, body)}
	for text, want := range map[string][]float64{
		"zebra":                {zebra[0], zebra[1]},
		"zebra NOT lion":       {0, zebra[1]},
		"title:zebra":          {idf(1) * part(3, 1, 2, title)},
		`"lion grass"`:         {idf(1) * part(1, 1, 4, body)},
		"zebra type:knowledge": {zebra[0], zebra[1]},
		"zebra OR stripes":     {zebra[0] + idf(1)*part(3, 1, 2, title), zebra[1]},
		"zebra stripes":        {zebra[0] + idf(1)*part(3, 1, 2, title)},
		"okapi*":               {0, 0, 0, idf(1) * part(3, 1, 3, title)},
		"okapo~1":              {0, 0, 0, idf(1) * part(3, 0.5, 3, title)},
		"title:lion*":          {0, 0, idf(2) * part(3, 1, 1, title), idf(2) * part(3, 1, 3, title)},
	} {
		n, err := parse(text, names{fields: f.names, kinds: f.kinds})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 4)
		for _, m := range s.best(s.find(n), 10) {
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

// Ties are by space, then id, then kind; what differs by less than 1e-4 is one.
func TestOrder(t *testing.T) {
	t.Parallel()
	_, s := shelfOf(t, [2]string{"", ""}, [2]string{"", ""}, [2]string{"", ""})
	in := []match{{2, 1.00001}, {1, 1.00002}, {0, 1.00004}}
	if got := s.best(slices.Clone(in), 3); got[0].doc != 0 || got[1].doc != 1 || got[2].doc != 2 {
		t.Errorf("%v", got)
	}
	if got := s.best([]match{{2, 1}, {1, 1.0002}, {0, 1.0001}}, 2); len(got) != 2 || got[0].doc != 1 || got[1].doc != 0 {
		t.Errorf("%v", got)
	}
}
