package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Search finds items. Kinds that the caller may not search are left out; when
// none is left, the call is refused.
func (h *Verbs) Search(ctx context.Context, q search.Query) (*search.Result, error) {
	table, err := h.p.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	var held []item.Kind
	all := true
	for _, ext := range table.All() {
		if h.p.Caller.Holds(policy.Cap("rye.search." + string(ext.Kind))) {
			held = append(held, ext.Kind)
		} else {
			all = false
		}
	}
	if len(held) == 0 {
		return nil, diag.New(diag.PermissionDenied, "checking permission to search: no capability below rye.search is held").
			WithDetail("missing", "rye.search.*")
	}
	if !all {
		q.Kinds = held
	}
	return h.p.Index.Search(ctx, q)
}
