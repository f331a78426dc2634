package project

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/provider"
)

// checkItem returns the findings of an item that sign and verify report: a price of a
// provider that is wrong would be found when it was billed, a permission that offers nothing
// when a model missed its tool.
func checkItem(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
	if it.Ref.Kind == item.Directive {
		return primary.CheckPermits(ctx, r, it)
	}
	if IsGraph(it) {
		return append(graph.CheckHooks(graphDoc(it)), graph.CheckValues(graphDoc(it), riskOf(ctx, r), func(ref item.Ref) any {
			called, err := r.Inspect(ctx, ref)
			if err != nil {
				return nil // rye graph validate reports it
			}
			return called.Meta.Fields["config_schema"]
		})...)
	}
	if it.Ref.Kind != item.Tool || it.Meta.ToolType != exec.ProviderType {
		return nil
	}
	_, findings := provider.Parse(it.Ref.ID, &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos})
	return findings
}
