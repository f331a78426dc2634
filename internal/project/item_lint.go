package project

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/draft"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// itemCheck returns the check of items by the code that uses them, for resolve.Params: what
// a run would refuse is not signed, and rye verify reports it. natives may be nil.
func itemCheck(natives func() map[string]exec.Native) func(context.Context, *resolve.Resolver, *resolve.Item) []diag.Finding {
	return func(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
		return checkItem(ctx, r, it, draft.Rules{Graphs: graphItems{r: r, find: r.Inspect}, Natives: natives})
	}
}

// checkSubmitted is the check of a bundle by itself: the items that its graphs call may be
// in bundles that it requires.
func checkSubmitted(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
	return checkItem(ctx, r, it, draft.Rules{Graphs: graphItems{r: r, find: r.Inspect, partial: true}})
}

// checkItem returns the findings of an item that sign and verify report: a price of a
// provider that is wrong would be found when it was billed, a permission that offers nothing
// when a model missed its tool.
func checkItem(ctx context.Context, r *resolve.Resolver, it *resolve.Item, rules draft.Rules) []diag.Finding {
	if it.Ref.Kind == item.Directive {
		return primary.CheckPermits(ctx, r, it)
	}
	if !IsGraph(it) {
		return draft.Lint(ctx, r, it, rules)
	}
	out := graphFaults(ctx, it, rules)
	out = append(out, graph.CheckHooks(graphDoc(it))...)
	out = append(out, graph.CheckValues(graphDoc(it), riskOf(ctx, r), func(ref item.Ref) any {
		called, err := r.Inspect(ctx, ref)
		if err != nil {
			return nil // reported with the action
		}
		return called.Meta.Fields["config_schema"]
	})...)
	out = diag.WithPath(out, it.Path())
	errs := slices.DeleteFunc(slices.Clone(out), func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
	out = slices.DeleteFunc(out, func(f diag.Finding) bool { // a warning about what is an error too
		return f.Severity != diag.SeverityError && slices.ContainsFunc(errs, func(e diag.Finding) bool {
			return e.Location() == f.Location() && e.Message == f.Message
		})
	})
	diag.Sort(out)
	return slices.CompactFunc(out, diag.Finding.Equal)
}

// graphFaults returns the errors of rye graph validate. A bundle is judged by its author,
// and a graph that is signed runs as far as it did: there only what every run refuses is
// an error.
func graphFaults(ctx context.Context, it *resolve.Item, rules draft.Rules) []diag.Finding {
	refused := draft.Lint(ctx, nil, it, draft.Rules{})
	if it.Root.ReadOnly() || diag.Failed(refused) {
		return refused
	}
	out := draft.Lint(ctx, nil, it, rules)
	if it.Verdict.OK() {
		for i := range out {
			out[i].Severity = diag.SeverityWarning
		}
	}
	return out
}
