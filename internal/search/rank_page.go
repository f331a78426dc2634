package search

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// ranking is the matches of a query.
type ranking struct {
	list    []match // in no order
	node    node    // the query with other spellings
	unknown []unknown
	partial bool // no item has all words
}

// matching finds the matches of a query under constraints, among the items that are
// shown; nil shows all.
func (s *ranker) matching(q node, constraints []node, shown func(location) bool) *ranking {
	x := expander{lib: s.corpus, wide: maxWide}
	r := &ranking{node: x.expand(q), unknown: x.unknown, partial: true}
	m := s.find(all(append([]node{r.node}, constraints...)...))
	if shown != nil {
		m.list = slices.DeleteFunc(m.list, func(m match) bool {
			return !shown(s.location(m.doc))
		})
	}
	r.list = s.once(m.list)
	for i := range r.list {
		hit := &r.list[i]
		hit.score = covered(hit.score, hit.weight, m.weight)
		r.partial = r.partial && hit.words < m.words
	}
	return r
}

// first returns the first n matches in order. The nearness of the words changes
// the order of the best matches only, whatever n is.
func (s *ranker) first(r *ranking, n int) []match {
	pairs := s.pairs(r.node, s.size())
	if len(pairs) == 0 {
		return s.best(r.list, n)
	}
	top := s.best(r.list, max(n, nearFirst))
	near := top[:min(len(top), nearFirst)]
	s.proximity(pairs, near)
	for i := range near {
		near[i].score = rounded(near[i].score)
	}
	s.sort(near)
	return top[:min(len(top), n)]
}

// answer ranks the matches and opens the items of one page.
func (x *Index) answer(ctx context.Context, s *ranker, q *question) *Result {
	found := s.matching(q.node, q.constraints, x.shown(q))
	if q.Shown != nil || q.Kinds != nil {
		found.unknown = nil // corrected words can be words of items that are not shown
	}
	res := &Result{
		Hits:        []Hit{},
		Total:       len(found.list),
		Note:        found.note(q),
		Suggestions: suggestions(q.Text, found.unknown),
	}
	upTo := len(found.list)
	if q.Limit < upTo-q.Offset {
		upTo = q.Offset + q.Limit
	}
	if q.Offset >= upTo {
		return res
	}
	page := s.first(found, upTo)[q.Offset:]
	res.Hits = make([]Hit, len(page))
	parallel(ctx, len(page), func(i int) {
		res.Hits[i] = x.hit(ctx, s, page[i])
	})
	if upTo < len(found.list) {
		res.NextOffset = upTo
	}
	return res
}

// shown returns which items the answer may have: those that the caller may see, and
// records only for a query that names their space. Nil is all.
func (x *Index) shown(q *question) func(location) bool {
	record := func(at location) bool {
		return x.p.Record != nil &&
			!q.records &&
			trust.IsRecord(at.ref) &&
			x.p.Record(at.signer)
	}
	switch {
	case q.Shown != nil:
		return func(at location) bool {
			return q.Shown(at.ref) && !record(at)
		}
	case x.p.Record != nil && !q.records:
		return func(at location) bool { return !record(at) }
	}
	return nil
}

// note explains a result without matches, or without an item that has all words.
// A restricted search has no suggestions of words: a corrected word can be one that only hidden
// items have.
func (r *ranking) note(q *question) string {
	var corrected, missing []string
	for _, w := range r.unknown {
		switch {
		case commonWord(w.text):
		case len(w.similar) > 0:
			corrected = append(corrected, strconv.Quote(w.text))
		default:
			missing = append(missing, strconv.Quote(w.text))
		}
	}
	switch {
	case len(r.list) == 0 && q.narrow():
		return "nothing matches: use fewer or other words, a wider scope or space, or the query * to list all items"
	case len(r.list) == 0:
		return "nothing matches: use fewer or other words, or the query * to list all items"
	case len(missing) > 0:
		return "no item has " + strings.Join(missing, ", ") + "; these have other words of the query"
	case len(corrected) > 0:
		return "no item has " + strings.Join(corrected, ", ") + "; these have similar words"
	case r.partial:
		return "no item has all words; these have some of them"
	}
	return ""
}

// narrow reports whether a query searches a part of the items.
func (q *question) narrow() bool {
	everywhere := []string{"", "all"}
	return !slices.Contains(everywhere, q.Scope) || !slices.Contains(everywhere, q.Space)
}

// hit opens an item. An item with an error is a hit, too.
// An id of several spaces is one hit, the item that runs. If that does not match, the next one
// is, marked as shadowed.
func (x *Index) hit(ctx context.Context, s *ranker, m match) Hit {
	at := s.location(m.doc)
	root := s.roots[at.root]
	h := Hit{
		Type:     at.ref.Kind,
		ID:       at.ref.ID,
		Source:   root.Label(),
		Path:     root.Display(at.rel),
		Score:    m.score,
		Shadowed: s.hidden(m.doc),
		Shadows:  s.hides(m.doc),
	}
	it, err := x.p.Resolver.Open(ctx, resolve.Entry{
		Ref:    at.ref,
		Root:   root,
		Rel:    at.rel,
		Shadow: h.Shadowed,
	})
	if err != nil {
		h.Trust = string(diag.CodeOf(err))
		return h
	}
	h.Trust = it.Verdict.Word()
	h.Version = it.Meta.Version
	h.Title = OneLine(it.Meta.Title)
	h.Description = OneLine(it.Meta.Description)
	return h
}

// ready returns the note about a root that cannot be searched, or "".
func ready(root *space.Root) string {
	if err := root.Ready(); err != nil {
		return "its items are not searched: " + err.Error()
	}
	return ""
}

// scan reads every item of every root.
func (x *Index) scan(
	ctx context.Context,
	f *fields,
	roots []*space.Root,
) (corpus, []string, error) {
	var docs []document
	var of []int
	var notes []string
	for i, root := range roots {
		if why := ready(root); why != "" {
			notes = append(notes, why)
			continue
		}
		files, err := f.files(ctx, root)
		if err != nil {
			notes = append(notes, listing(root, err))
		}
		files = slices.DeleteFunc(files, func(c file) bool {
			return !root.Offers(c.location.Ref)
		})
		err = f.documents(ctx, root, files, nil, func(_ int, _ *content, d *document) {
			if d != nil {
				docs = append(docs, *d)
				of = append(of, i)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return newRawCorpus(f, roots, docs, of), notes, nil
}
