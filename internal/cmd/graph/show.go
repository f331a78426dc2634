package graph

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/control"
)

func graphValidateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Args:  "ID|PATH",
		Usage: "report every mistake in a graph that can be found before a run",
		Long: `Checks the keys, edges, templates and conditions of a graph, the items that it names
with their parameters and capabilities, and the keys of the state. The graph need not
be signed.`,
		Examples: []string{"rye graph validate team/release"},
		Codes:    []diag.Code{diag.ToolNotFound, diag.ValidationFailed},
		Complete: complete.Run,
		Run:      runGraphValidate,
	}
}

func runGraphValidate(ctx context.Context, c *cli.Call) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	ref, err := graphRef(ctx, p, c.Args[0])
	if err != nil {
		return err
	}
	findings, err := graphhost.Validate(ctx, p, ref)
	if err != nil {
		return err
	}
	err = diag.FromFindings("validating "+ref.String(), findings)
	if c.UI.AsJSON {
		return c.UI.Report(
			err,
			map[string]any{"graph": ref.String(), "findings": orEmpty(findings)},
			findings,
			nil,
		)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		c.UI.Finding(f)
	}
	c.UI.Out("%s has no errors", ref)
	return nil
}

// graphRef reads the id or the path of a graph, as rye run does.
func graphRef(ctx context.Context, p *project.Project, word string) (item.Ref, error) {
	if ref, err := item.ParseRef(word, item.Tool); err == nil {
		return ref, nil
	}
	ref, _, err := project.RefArgs(ctx, p, []string{word})
	return ref, err
}

func orEmpty(fs []diag.Finding) []diag.Finding {
	if fs == nil {
		return []diag.Finding{}
	}
	return fs
}

func graphShowCommand() *cli.Command {
	var format string
	var svg bool
	return &cli.Command{
		Name:  "show",
		Args:  "ID|RUN",
		Usage: "draw a graph, or what a run did with it",
		Long: `Draws the nodes and edges of a graph. With the id of a run it marks the nodes that the
run committed, those that failed, and those that are in flight.`,
		Examples:  []string{"rye graph show team/release", "rye graph show release-01jd --format mermaid", "rye graph show team/release --svg >release.svg"},
		Codes:     []diag.Code{diag.ToolNotFound, diag.ThreadNotFound, diag.ValidationFailed},
		Flags:     []cli.Flag{cli.String(&format, "format", "`FORMAT`: terminal, mermaid, dot or svg (default terminal)"), cli.Bool(&svg, "svg", "draw a picture: short for --format svg")},
		Exclusive: [][]any{{&format, &svg}},
		Complete:  complete.Run,
		Run: func(ctx context.Context, c *cli.Call) error {
			if svg {
				format = "svg"
			}
			return runGraphShow(ctx, c, format)
		},
	}
}

func runGraphShow(ctx context.Context, c *cli.Call, format string) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	name := c.Args[0]
	var ran graphdef.Ran
	if id, err := control.Find(ctx, p, name); err == nil {
		s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
		if err != nil {
			return err
		}
		if ran, err = graph.ReadRan(p.Spaces.ProjectDir, id); err != nil {
			return err
		}
		name = s.Graph
	}
	ref, err := graphRef(ctx, p, name)
	if err != nil {
		return err
	}
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return err
	}
	if !itemcheck.IsGraph(it) {
		return watch.NotGraph("showing", ref)
	}
	g, fs := graphhost.Parse(it)
	if g == nil {
		return diag.FromFindings("reading the graph "+ref.String(), fs)
	}
	var text string
	switch format {
	case "", "terminal":
		text = g.Terminal(ran)
	case "mermaid":
		text = g.Mermaid(ran)
	case "dot":
		text = g.Dot(ran)
	case "svg":
		text = g.SVG(ran)
	default:
		return diag.New(diag.Usage, "reading --format: %q is not terminal, mermaid, dot or svg", format)
	}
	return c.UI.Show(
		map[string]any{"graph": ref.String(), "picture": text},
		func() { c.UI.Raw(text) },
	)
}
