package search

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Described is an item, or a bundle, that is not on this computer: what a registry
// describes it by.
type Described struct {
	Ref         item.Ref
	Title       string
	Description string
	Tags        []string
	Body        []string           // further words, for example the capabilities that it asks for
	Signers     []sign.Fingerprint // the first one answers signed-by
}

// Catalog finds described items: with the grammar and the order of an Index, and without
// files. It is safe for concurrent use.
type Catalog struct {
	fields *fields
	view   *view
	size   int
}

// Found is a match of a catalog.
type Found struct {
	Number int // of the item, in the order in which New read them
	Score  float64
}

// Answer is one page of the matches of a catalog.
type Answer struct {
	Found       []Found
	Total       int
	NextOffset  int
	Note        string
	Suggestions []string
}

// catalogFields returns the search fields of described items, and their weights, as the
// extractors of the system have them.
func catalogFields() map[string]float64 {
	return map[string]float64{
		"name":        3,
		"title":       3,
		"description": 2,
		"category":    1.5,
		"tags":        2,
		"body":        0.5,
	}
}

// NewCatalog returns a catalog of the items, which can be of any kind.
func NewCatalog(list []Described) *Catalog {
	f := &fields{}
	for _, d := range list {
		if !slices.Contains(f.kinds, d.Ref.Kind) {
			f.kinds = append(f.kinds, d.Ref.Kind)
		}
	}
	for name := range catalogFields() {
		f.names = append(f.names, name)
	}
	slices.Sort(f.names)
	weights := make([]float64, len(f.names))
	for i, name := range f.names {
		weights[i] = catalogFields()[name]
	}
	for range f.kinds {
		f.weights = append(f.weights, weights)
	}
	b := newBuilder(f)
	for _, d := range list {
		b.add(f.described(d))
	}
	seg, ok := openSegment(string(b.bytes()), f)
	if !ok {
		panic("search: a segment that was just written cannot be read")
	}
	c := &Catalog{fields: f, size: len(list), view: newView(f, nil, []part{{seg: seg, live: allBits(seg.docs)}})}
	c.view.labels = [][]string{{}}
	c.view.same = nil // items of two bundles may have one ref, and none shadows the other
	return c
}

func (f *fields) described(d Described) *document {
	out := f.blank(d.Ref, "")
	add := func(name string, texts ...string) {
		for _, t := range texts {
			out.fields[f.number(name)].text(t)
		}
	}
	add("title", d.Title)
	add("description", d.Description)
	add("tags", d.Tags...)
	add("body", d.Body...)
	if len(d.Signers) > 0 {
		out.signer = string(d.Signers[0][:])
	}
	return out
}

// Search runs a query. Of q, Space and Executable have no meaning here. It has the errors of
// Index.Search.
func (c *Catalog) Search(q Query) (*Answer, error) {
	kinds := slices.Clone(c.fields.kinds)
	for _, k := range []item.Kind{item.Directive, item.Tool, item.Knowledge} { // a kind that no item has is known, too
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if err := q.bounds(); err != nil {
		return nil, err
	}
	node, err := parse(q.Text, names{fields: c.fields.names, kinds: kinds})
	if err != nil {
		return nil, err
	}
	constraints, err := parseScope(q.Scope, kinds)
	if err != nil {
		return nil, err
	}
	if q.Kinds != nil {
		constraints = append(constraints, filter{"type", joinKinds(q.Kinds)})
	}
	return c.answer(&question{Query: q, node: node, constraints: constraints}), nil
}

func (c *Catalog) answer(q *question) *Answer {
	s := &ranker{corpus: c.view, roots: []*space.Root{}}
	var shown func(location) bool
	if q.Shown != nil {
		shown = func(at location) bool {
			return q.Shown(at.ref)
		}
	}
	found := s.matching(q.node, q.constraints, shown)
	if q.Shown != nil || q.Kinds != nil {
		found.unknown = nil // as in Index.answer
	}
	out := &Answer{
		Found:       []Found{},
		Total:       len(found.list),
		Note:        found.note(q),
		Suggestions: suggestions(q.Text, found.unknown),
	}
	upTo := min(len(found.list), q.Offset+q.Limit)
	if q.Offset >= upTo {
		return out
	}
	for _, m := range s.first(found, upTo)[q.Offset:] {
		out.Found = append(out.Found, Found{int(m.doc), m.score})
	}
	if upTo < len(found.list) {
		out.NextOffset = upTo
	}
	return out
}

// bounds checks the limit and the offset, and sets the default limit.
func (q *Query) bounds() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return diag.New(diag.Usage, "searching items: the limit %d is not between 1 and %d", q.Limit, MaxLimit)
	case q.Offset < 0:
		return diag.New(diag.Usage, "searching items: the offset %d is less than 0", q.Offset)
	case q.Limit == 0:
		q.Limit = DefaultLimit
	}
	return nil
}
