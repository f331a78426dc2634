package itemcheck

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/draft"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/steps"
)

// New returns the check of items by the code that uses them, for resolve.Params: what
// a run would refuse is not signed, and rye verify reports it. natives may be nil.
func New(natives func() map[string]exec.Native) func(context.Context, *resolve.Resolver, *resolve.Item) []diag.Finding {
	return func(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
		return check(ctx, r, it, draft.Rules{Graphs: Items{Resolver: r, Find: r.Inspect}, Natives: natives})
	}
}

// Submitted is the check of a bundle by itself: the items that its graphs call may be
// in bundles that it requires.
func Submitted(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
	return check(ctx, r, it, draft.Rules{Graphs: Items{Resolver: r, Find: r.Inspect, partial: true}})
}

// check returns the findings of an item that sign and verify report: a price of a
// provider that is wrong would be found when it was billed, a permission that offers nothing
// when a model missed its tool.
func check(
	ctx context.Context,
	r *resolve.Resolver,
	it *resolve.Item,
	rules draft.Rules,
) []diag.Finding {
	if it.Ref.Kind == item.Directive {
		return primary.CheckPermits(ctx, r, it)
	}
	if !IsGraph(it) {
		return draft.Lint(ctx, r, it, rules)
	}
	out := graphFaults(ctx, it, rules)
	out = append(out, graphdef.CheckHooks(Doc(it))...)
	out = append(out, graphdef.CheckValues(Doc(it), Risk(ctx, r), func(ref item.Ref) any {
		called, err := r.Inspect(ctx, ref)
		if err != nil {
			return nil // reported with the action
		}
		return called.Meta.Fields["config_schema"]
	})...)
	out = diag.WithPath(out, it.Path())
	errs := slices.DeleteFunc(slices.Clone(out), func(f diag.Finding) bool {
		return f.Severity != diag.SeverityError
	})
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

// Items describes items for graph.Check.
type Items struct {
	Resolver *resolve.Resolver
	Find     func(context.Context, item.Ref) (*resolve.Item, error)
	Locked   func(item.Ref) bool // nil: there is no lock
	// partial states that an item which is not found may exist elsewhere.
	partial bool
}

// Describe implements graph.Items.
func (d Items) Describe(ctx context.Context, ref item.Ref) (graphdef.Described, []string, error) {
	it, err := d.Find(ctx, ref)
	if d.partial && diag.CodeOf(err).Class() == diag.ClassNotFound {
		return graphdef.Described{}, nil, nil
	}
	if err != nil {
		var similar []string
		entries, lerr := d.Resolver.All(ctx, ref.Kind)
		if lerr == nil {
			for _, e := range entries {
				similar = append(similar, e.Ref.ID)
			}
		}
		return graphdef.Described{}, slices.Compact(similar), err
	}
	if ref.Kind == item.Directive {
		return d.directive(ctx, it)
	}
	out := graphdef.Described{
		Graph:   IsGraph(it),
		Output:  it.Meta.Fields["output_schema"],
		Schema:  it.Meta.Fields["config_schema"],
		Project: it.Root.Space == space.Project && d.Locked != nil,
	}
	applet, _ := it.Meta.Config["applet"].(string)
	if applet == "bash" && out.Output == nil {
		out.Output = bashOutput()
	}
	if strings.HasPrefix(ref.ID, steps.Dir) {
		// The thread puts what a node of its loop passes below params, next to what it
		// knows of itself.
		out.Schema = nil
	}
	if out.Project {
		out.Locked = d.Locked(ref)
	}
	return out, nil, nil
}

// bashOutput returns the types of what the applet bash returns.
func bashOutput() map[string]any {
	props := map[string]any{}
	for name, kind := range map[string]string{"stdout": "string", "stderr": "string", "output": "string", "exit_code": "integer", "duration_ms": "integer"} {
		props[name] = map[string]any{"type": kind}
	}
	return map[string]any{"type": "object", "properties": props}
}

// Risk implements graph.Items.
func (d Items) Risk(ctx context.Context) *policy.Risk {
	return Risk(ctx, d.Resolver)
}

// Risk returns the risk of programs with their arguments, nil if the configuration cannot be
// read: then every run that asks for it fails.
func Risk(ctx context.Context, r *resolve.Resolver) *policy.Risk {
	risk, err := resolve.Risk(ctx, r)
	if err != nil {
		return nil
	}
	return risk
}

// directive describes a directive by its inputs, and by the result of its thread.
func (d Items) directive(ctx context.Context, it *resolve.Item) (graphdef.Described, []string, error) {
	parsed, _, err := d.Resolver.Directive(ctx, it)
	if err != nil {
		return graphdef.Described{}, nil, err
	}
	outputs := map[string]any{}
	for _, o := range parsed.Outputs {
		outputs[o.Name] = map[string]any{"type": o.Type}
	}
	return graphdef.Described{Thread: true, Schema: primary.InputSchema(parsed.Inputs), Output: outputs}, nil, nil
}

// Doc returns the document of a graph with its positions.
func Doc(it *resolve.Item) *tree.Doc {
	return &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}
}

// IsGraph reports whether an item is a graph.
func IsGraph(it *resolve.Item) bool {
	return it.Ref.Kind == item.Tool && it.Meta.ToolType == "graph"
}
