package project

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/steps"
)

// ValidateGraph returns every finding about a graph, which need not be signed.
func (p *Project) ValidateGraph(ctx context.Context, ref item.Ref) ([]diag.Finding, error) {
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !IsGraph(it) {
		return nil, diag.New(diag.Usage, "validating %s: it is not a graph", ref).WithReason("not_graph").WithDetail("ref", ref.String())
	}
	fs := append(graph.Check(ctx, it.Ref, it.Path(), graphDoc(it), p.graphItems()), it.Findings...)
	diag.Sort(fs)
	return fs, nil
}

// graphItems describes items for graph.Check.
type graphItems struct {
	r      *resolve.Resolver
	find   func(context.Context, item.Ref) (*resolve.Item, error)
	locked func(item.Ref) bool // nil: there is no lock
	// partial states that an item which is not found may exist elsewhere.
	partial bool
}

// graphItems describes the items as a run finds them.
func (p *Project) graphItems() graphItems {
	d := graphItems{r: p.Resolver, find: p.Resolver.Find}
	if p.Lock != nil {
		d.locked = p.wasTool
	}
	return d
}

// Describe implements graph.Items.
func (d graphItems) Describe(ctx context.Context, ref item.Ref) (graph.Described, []string, error) {
	it, err := d.find(ctx, ref)
	if d.partial && diag.CodeOf(err).Class() == diag.ClassNotFound {
		return graph.Described{}, nil, nil
	}
	if err != nil {
		var similar []string
		if entries, lerr := d.r.All(ctx, ref.Kind); lerr == nil {
			for _, e := range entries {
				similar = append(similar, e.Ref.ID)
			}
		}
		return graph.Described{}, slices.Compact(similar), err
	}
	if ref.Kind == item.Directive {
		return d.directive(ctx, it)
	}
	out := graph.Described{Graph: IsGraph(it), Output: it.Meta.Fields["output_schema"], Schema: it.Meta.Fields["config_schema"], Project: it.Root.Space == space.Project && d.locked != nil}
	if applet, _ := it.Meta.Config["applet"].(string); applet == "bash" && out.Output == nil {
		out.Output = bashOutput()
	}
	if strings.HasPrefix(ref.ID, steps.Dir) {
		// The thread puts what a node of its loop passes below params, next to what it
		// knows of itself.
		out.Schema = nil
	}
	if out.Project {
		out.Locked = d.locked(ref)
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
func (d graphItems) Risk(ctx context.Context) *policy.Risk { return riskOf(ctx, d.r) }

// riskOf returns what programs do with their arguments, nil if the configuration cannot be
// read: then every run that asks for it fails.
func riskOf(ctx context.Context, r *resolve.Resolver) *policy.Risk {
	risk, err := resolve.Risk(ctx, r)
	if err != nil {
		return nil
	}
	return risk
}

// directive describes a directive by its inputs, and by the result of its thread.
func (d graphItems) directive(ctx context.Context, it *resolve.Item) (graph.Described, []string, error) {
	parsed, _, err := d.r.Directive(ctx, it)
	if err != nil {
		return graph.Described{}, nil, err
	}
	outputs := map[string]any{}
	for _, o := range parsed.Outputs {
		outputs[o.Name] = map[string]any{"type": o.Type}
	}
	return graph.Described{Thread: true, Schema: primary.InputSchema(parsed.Inputs), Output: outputs}, nil, nil
}
