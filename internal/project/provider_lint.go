package project

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/provider"
)

// checkItem returns the findings of a provider item, which sign and verify report: a
// price that is wrong would be found when it was billed.
func checkItem(it *resolve.Item) []diag.Finding {
	if IsGraph(it) {
		return graph.CheckHooks(graphDoc(it))
	}
	if it.Ref.Kind != item.Tool || it.Meta.ToolType != exec.ProviderType {
		return nil
	}
	_, findings := provider.Parse(it.Ref.ID, &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos})
	return findings
}
