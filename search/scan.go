package search

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// scan answers a query by reading every item.
func (x *Index) scan(ctx context.Context, q Query) (*Result, error) {
	table, err := x.p.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	res := &Result{Hits: []Hit{}}
	for _, ext := range table.All() {
		entries, err := x.p.Resolver.All(ctx, ext.Kind)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if h, ok := x.open(ctx, e); ok && strings.Contains(h.ID+h.Description, strings.Trim(q.Text, "*")) {
				res.Hits = append(res.Hits, h)
			}
		}
	}
	res.Total = len(res.Hits)
	return res, nil
}

// open reads and judges one file for a page of hits. ok is false for a support
// file, which is no item.
func (x *Index) open(ctx context.Context, e resolve.Entry) (h Hit, ok bool) {
	h = Hit{Type: e.Ref.Kind, ID: e.Ref.ID, Source: e.Root.Label(), Shadowed: e.Shadow, Path: e.Root.Display(e.Rel)}
	it, err := x.p.Resolver.Open(ctx, e)
	if err != nil {
		h.Trust = string(diag.CodeOf(err))
		return h, true
	}
	h.Trust = string(it.Verdict.Code)
	if it.Verdict.OK() {
		h.Trust = string(it.Verdict.Status)
	}
	h.Version, h.Title, h.Description = it.Meta.Version, it.Meta.Title, it.Meta.Description
	return h, !it.Support()
}
