package draft

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/provider"
)

// Rules are what Lint compares a tool with. All fields may be nil.
type Rules struct {
	Graphs  graphdef.Items                // the items that graphs call
	Natives func() map[string]exec.Native // the functions that config.func may name
}

// Lint returns the faults of a tool by which each run of it would fail: the code that
// runs it reads it, as it does in a run. Unlike Check it requires no signature, and no
// item but those that a graph calls, so rye sign, rye verify and the commit hook use it.
func Lint(
	ctx context.Context,
	r *resolve.Resolver,
	it *resolve.Item,
	rules Rules,
) []diag.Finding {
	if it.Ref.Kind != item.Tool ||
		it.Support() ||
		diag.Failed(it.Findings) {
		return nil
	}
	doc := &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}
	switch it.Meta.ToolType {
	case GraphType:
		return lintGraph(ctx, it, doc, rules)
	case exec.ProviderType:
		_, out := provider.Parse(it.Ref.ID, doc)
		if diag.Failed(out) {
			return out
		}
	case mcpclient.ServerType:
		_, err := mcpclient.ReadServer(it)
		return errorsOf(findings(err))
	case item.Library:
		return nil
	}
	return exec.Lint(ctx, r, it, rules.Natives)
}

// GraphType is the tool_type of graphs.
const GraphType = "graph"

// lintGraph returns the errors of rye graph validate. Its warnings are advice about a
// graph that runs.
func lintGraph(
	ctx context.Context,
	it *resolve.Item,
	doc *tree.Doc,
	rules Rules,
) []diag.Finding {
	if rules.Graphs == nil {
		_, out := graphdef.Parse(it.Ref, it.Path(), doc)
		return errorsOf(out)
	}
	return errorsOf(graphdef.Check(ctx, it.Ref, it.Path(), doc, rules.Graphs))
}
