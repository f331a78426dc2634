package search

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// answer ranks the matches and opens the items of one page.
func (x *Index) answer(ctx context.Context, s *ranker, q *question) *Result {
	found, relaxed := answer(s.corpus, q.node, q.constraints)
	found = s.once(found)
	res := &Result{Hits: []Hit{}, Total: len(found), Relaxed: relaxed}
	if relaxed != AsWritten || len(found) == 0 {
		res.Suggestions = suggestions(s.corpus, q.Text, q.node)
	}
	upTo := len(found)
	if q.Limit < len(found)-q.Offset {
		upTo = q.Offset + q.Limit
	}
	if q.Offset >= upTo {
		return res
	}
	page := s.best(found, upTo)[q.Offset:]
	res.Hits = make([]Hit, len(page))
	parallel(ctx, len(page), func(i int) { res.Hits[i] = x.hit(ctx, s, page[i]) })
	if upTo < len(found) {
		res.NextOffset = upTo
	}
	return res
}

// hit opens an item. An item with an error is a hit, too.
func (x *Index) hit(ctx context.Context, s *ranker, m match) Hit {
	at := s.location(m.doc)
	root := s.roots[at.root]
	h := Hit{
		Type: at.ref.Kind, ID: at.ref.ID, Source: root.Label(), Path: root.Display(at.rel), Score: m.score,
		Shadowed: s.hidden(m.doc), Shadows: s.hides(m.doc),
	}
	it, err := x.p.Resolver.Open(ctx, resolve.Entry{Ref: at.ref, Root: root, Rel: at.rel, Shadow: h.Shadowed})
	if err != nil {
		h.Trust = string(diag.CodeOf(err))
		return h
	}
	h.Trust = it.Verdict.Word()
	h.Version = it.Meta.Version
	h.Title = oneLine(it.Meta.Title)
	h.Description = oneLine(it.Meta.Description)
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
func (x *Index) scan(ctx context.Context, f *fields, roots []*space.Root) (corpus, []string, error) {
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
		files = slices.DeleteFunc(files, func(c file) bool { return !root.Offers(c.location.Ref) })
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
