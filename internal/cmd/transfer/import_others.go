package transfer

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/importing"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/ryeos"
)

// importOthers imports workflows of other programs.
func importOthers(ctx context.Context, c *cli.Call, o *importOptions) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	call := importing.OthersCall{
		Shown: func(p string) string {
			return env.FromHere(c, p)
		},
		Format: interop.Format(o.from),
		ID:     o.to,
		DryRun: o.dryRun,
	}
	for _, word := range c.Args {
		call.Paths = append(call.Paths, c.Path(word))
	}
	done, failed := importing.Others(ctx, h, call)
	findings := diag.FindingsOf(failed)
	if failed != nil && (done == nil || !diag.Failed(findings)) {
		return failed
	}
	var next []string
	for _, f := range done {
		if len(f.Items) > 0 {
			next = append(next, "rye sign "+strings.Join(f.Items, " "))
		}
		for _, words := range f.Next {
			for i := range words {
				words[i] = ryeos.Quote(words[i])
			}
			next = append(next, strings.Join(words, " "))
		}
	}
	data := map[string]any{"sources": done, "dry_run": o.dryRun, "next": next}
	return c.UI.Report(failed, data, findings, func() {
		for _, f := range findings {
			c.UI.Finding(f)
		}
		for _, f := range done {
			showOthers(c.UI, f, o.dryRun)
		}
		for _, line := range next {
			if !o.dryRun {
				c.UI.Note("next: %s", line)
			}
		}
	})
}

func showOthers(u *cli.UI, f importing.Imported, dryRun bool) {
	if f.Format == "" { // a link
		u.Out("%s", f.Path)
	} else {
		u.Out("%s %s", f.Path, u.Style(
			cli.Dim,
			"("+string(f.Format)+")",
		))
	}
	for _, file := range f.Files {
		label := cli.Pick(dryRun, "would write", "wrote      ")
		if slices.Contains(f.Kept, file) {
			label = "unchanged  "
		}
		u.Out("  %s  %s", u.Style(cli.Green, label), file)
	}
	for _, m := range f.Mapped {
		u.Out("  %s  %s: %s", u.Style(cli.Green, "carried    "), m.From, m.To)
	}
	for _, l := range f.Left {
		u.Out("  %s  %s: %s", u.Style(cli.Yellow, "not carried"), l.From, l.Why)
	}
}
