package packages

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/interop/scan"
	"github.com/ryeos/rye/internal/report"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve"
)

// showSource prints the report of a source without a manifest. It writes nothing.
func showSource(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	look := *o
	look.Look = true
	x, err := env.OpenPackages(ctx, c, &look)
	if err != nil {
		return err
	}
	defer x.Close()
	q, err := packages.ParseQuery(c.Arg(0))
	if err != nil {
		return err
	}
	origin, err := x.Source.Resolve(ctx, q.ID, q.Version)
	if err != nil {
		return err
	}
	// skills are outside of .ai, which is all that a bundle has
	origin.Whole = true
	snap, err := x.Source.Fetch(ctx, origin)
	if err != nil {
		return err
	}
	r, err := sourceReport(ctx, x, snap)
	if err != nil {
		return err
	}
	x.Close() // removes the progress line
	return c.UI.Show(r, func() {
		for _, line := range r.Lines() {
			c.UI.Out("%s", line)
		}
	})
}

// sourceReport returns the report of the files of a commit. Its patterns are the ones of
// the system and the user: the project that is open has no part in it.
func sourceReport(ctx context.Context, x *deps.Packages, snap *source.Snapshot) (*report.Report, error) {
	layers, err := resolve.WideLayers(ctx, x.Project.Resolver, report.ConfigID)
	if err != nil {
		return nil, err
	}
	rules, err := report.ReadRules(layers)
	if err != nil {
		return nil, err
	}
	shell, err := resolve.Risk(ctx, x.Project.Resolver)
	if err != nil {
		return nil, err
	}
	files := scan.Of(snap)
	content, err := scan.Components(files)
	if err != nil {
		return nil, err
	}
	return report.Make(report.Call{
		Report: report.Report{
			Source: snap.Origin.ID.String(),
			URL:    snap.Origin.URL,
			Commit: snap.Origin.Commit,
			Made:   snap.Origin.Time,
		},
		Files:   files,
		Content: content,
		Rules:   rules,
		Shell:   shell,
	})
}
