package sign

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/revision"
)

// runSignStaged is rye sign --staged.
func runSignStaged(ctx context.Context, c *cli.Call, o *view.SignOptions) error {
	if len(c.Args) > 0 {
		return diag.New(diag.Usage, "reading arguments: --staged signs all staged items and takes no arguments, not %q", c.Args[0])
	}
	git, err := gitcmd.New(gitcmd.Params{Dir: c.Base, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	s, err := revision.SignStaged(ctx, signingEnv(c, o), git, revision.StagedCall{
		Check:     o.Check,
		IndexOnly: o.IndexOnly,
		Ask:       ask.AboutStaged(c),
		Differing: o.Differing,
	})
	if err != nil {
		return err
	}
	view.NoteLeft(c, s)
	return view.StagedReport(c, s, "signing", o)
}
