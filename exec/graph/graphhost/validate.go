package graphhost

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
)

// Validate returns every finding about a graph, which need not be signed.
func Validate(ctx context.Context, p *project.Project, ref item.Ref) ([]diag.Finding, error) {
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !itemcheck.IsGraph(it) {
		return nil, diag.New(diag.Usage, "validating %s: it is not a graph", ref).
			WithReason("not_graph").
			WithDetail("ref", ref.String())
	}
	fs := append(
		graphdef.Check(
			ctx,
			it.Ref,
			it.Path(),
			itemcheck.Doc(it),
			p.GraphItems(),
		),
		it.Findings...,
	)
	diag.Sort(fs)
	return fs, nil
}
