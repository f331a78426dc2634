package search

import (
	"fmt"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

func catalogOf() *Catalog {
	ref := func(kind item.Kind, id string) item.Ref { return item.Ref{Kind: kind, ID: id} }
	return NewCatalog([]Described{
		{Ref: ref(item.Tool, "gh/issue"), Description: "Opens an issue of a repository.", Tags: []string{"github"}, Body: []string{"acme.io/tools net:api.github.com"}},
		{Ref: ref(item.Directive, "gh/triage"), Description: "Sorts new issues and answers them.", Signers: []sign.Fingerprint{{0xab, 0xcd}}},
		{Ref: ref(item.Tool, "pdf/text"), Description: "Reads the text of a PDF."},
		{Ref: ref(item.Tool, "gh/issue"), Description: "Another tool with the same id."},
	})
}

// A catalog has the grammar of the index: words are optional, forms of a word match, fields
// and scopes restrict, and two items of one ref are both found.
func TestCatalog(t *testing.T) {
	c := catalogOf()
	for _, test := range []struct {
		Query
		want string
	}{
		{Query{Text: "open issue github"}, "[0 3 1]"},
		{Query{Text: "+pdf"}, "[2]"},
		{Query{Text: "issue NOT github"}, "[3 1]"},
		{Query{Text: "issues", Scope: "directive"}, "[1]"},
		{Query{Text: "*", Scope: "tool.gh.*"}, "[0 3]"},
		{Query{Text: "tags:github"}, "[0]"},
		{Query{Text: "signed-by:abcd"}, "[1]"},
		{Query{Text: "isue"}, "[0 3]"},
		{Query{Text: "*", Limit: 2, Offset: 2}, "[1 2]"},
		{Query{Text: "nothing like this at all, zebra"}, "[]"},
	} {
		query, want := test.Query, test.want
		got, err := c.Search(query)
		if err != nil {
			t.Fatalf("%+v: %v", query, err)
		}
		var numbers []int
		for _, f := range got.Found {
			numbers = append(numbers, f.Number)
		}
		if fmt.Sprint(numbers) != want && !(want == "[]" && len(numbers) == 0) {
			t.Errorf("%q in %q: %v, want %s", query.Text, query.Scope, numbers, want)
		}
	}
	if _, err := c.Search(Query{Text: "a AND ("}); diag.CodeOf(err) != diag.Usage {
		t.Errorf("an invalid query: %v", err)
	}
	if got, err := NewCatalog(nil).Search(Query{Text: "x"}); err != nil || got.Total != 0 || got.Note == "" {
		t.Errorf("an empty catalog: %+v, %v", got, err)
	}
	some := catalogOf()
	got, err := some.Search(Query{Text: "*", Shown: func(r item.Ref) bool { return r.ID == "pdf/text" }})
	if err != nil || got.Total != 1 || got.Found[0].Number != 2 {
		t.Errorf("only what is shown: %+v, %v", got, err)
	}
}

// BenchmarkCatalog has the bundles of registry.md: its aim is 20 ms for a query.
func BenchmarkCatalog(b *testing.B) {
	var list []Described
	for i := range 20_000 {
		list = append(list, Described{Ref: item.Ref{Kind: item.Tool, ID: fmt.Sprintf("ns%d/tool%d", i%300, i)},
			Description: fmt.Sprintf("Converts format%d of vendor%d to a table and sends the result", i%700, i%90), Tags: []string{fmt.Sprintf("tag%d", i%50)}})
	}
	start := time.Now()
	c := NewCatalog(list)
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/build")
	for b.Loop() {
		if a, err := c.Search(Query{Text: "convert format7 table vendor3"}); err != nil || a.Total == 0 {
			b.Fatal(a, err)
		}
	}
}
