package primary

import (
	"context"

	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Search finds the items that a caller may search. It returns PERMISSION_DENIED if
// the caller may search no kind.
func (v *Verbs) Search(
	ctx context.Context,
	held policy.Held,
	q search.Query,
) (*search.Result, error) {
	table, err := v.p.Resolver.Readable(ctx)
	if err != nil {
		return nil, err
	}
	var kinds []item.Kind
	for _, ext := range table.All() {
		kinds = append(kinds, ext.Kind)
	}
	may, shown, err := held.Searchable(kinds)
	if err != nil {
		return nil, err
	}
	if len(may) < len(kinds) {
		q.Kinds = may
	}
	q.Shown = shown
	return v.p.Index.Search(ctx, q)
}
