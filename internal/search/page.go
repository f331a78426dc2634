package search

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// answer ranks what matches and opens the items of one page.
func (x *Index) answer(ctx context.Context, s *shelf, q *question) *Result {
	found, relaxed := answer(s.library, q.node, q.demands)
	found = s.once(found)
	res := &Result{Hits: []Hit{}, Total: len(found), Relaxed: relaxed}
	if relaxed != AsWritten || len(found) == 0 {
		res.Suggestions = suggestions(s.library, q.Text, q.node)
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

// hit opens an item. Whatever is wrong with it, it is shown.
func (x *Index) hit(ctx context.Context, s *shelf, m match) Hit {
	at := s.place(m.doc)
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
	h.Version, h.Title, h.Description = it.Meta.Version, oneLine(it.Meta.Title), oneLine(it.Meta.Description)
	return h
}

// ready returns why a root cannot be searched, "" when it can.
func ready(root *space.Root) string {
	if err := root.Ready(); err != nil {
		return "what it holds is not found: " + err.Error()
	}
	return ""
}

// scan reads every item of every root.
func (x *Index) scan(ctx context.Context, f *fields, roots []*space.Root) (library, []string, error) {
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
		files = slices.DeleteFunc(files, func(c file) bool { return !root.Offers(c.place.Ref) })
		err = f.documents(ctx, root, files, nil, func(_ int, _ *content, d *document) {
			if d != nil {
				docs, of = append(docs, *d), append(of, i)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return newPile(f, roots, docs, of), notes, nil
}
