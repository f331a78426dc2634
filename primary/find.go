package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Search finds items of the kinds that the caller may search. It returns
// PERMISSION_DENIED if there is none.
func (v *Verbs) Search(ctx context.Context, q search.Query) (*search.Result, error) {
	table, err := v.p.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	var held []item.Kind
	all := true
	for _, ext := range table.All() {
		if v.p.Caller.Holds(policy.Cap("rye.search." + string(ext.Kind))) {
			held = append(held, ext.Kind)
		} else {
			all = false
		}
	}
	if len(held) == 0 {
		return nil, diag.New(diag.PermissionDenied, "checking permission to search: the caller has no capability rye.search.*").
			WithDetail("missing", "rye.search.*")
	}
	if !all {
		q.Kinds = held
	}
	return v.p.Index.Search(ctx, q)
}
