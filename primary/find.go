package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/trust"
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

func (p *Place) search(ctx context.Context, args map[string]any) (any, error) {
	q := search.Query{Text: text(args, "query"), Scope: text(args, "scope"), Space: text(args, "space"), Limit: number(args, "limit"), Offset: number(args, "offset")}
	res, err := p.Verbs.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range res.Hits {
		if h := &res.Hits[i]; h.Trust != string(trust.Trusted) && h.Trust != trust.AgentWord {
			h.Title, h.Description = "", "not shown, for nobody vouches for it: "+h.Trust // it would be read as instructions
		}
	}
	return res, nil
}

func text(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

func number(args map[string]any, name string) int {
	switch n := args[name].(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
