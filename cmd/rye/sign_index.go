package main

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
)

// runSignStaged is rye sign --staged.
func runSignStaged(ctx context.Context, c *cli.Call, o *signOptions) error {
	if len(c.Args) > 0 {
		return diag.New(diag.Usage, "reading arguments: --staged signs all staged items and takes no arguments, not %q", c.Args[0])
	}
	git, err := gitcmd.New(gitcmd.Params{Dir: c.Base, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	s, err := signingEnv(c, o).SignStaged(ctx, git, project.StagedCall{
		Check: o.check, IndexOnly: o.indexOnly, Ask: askAboutStaged(c), Differing: o.differing,
	})
	if err != nil {
		return err
	}
	noteLeft(c, s)
	return stagedReport(c, s, "signing", o)
}

// stagedReport shows what became of the staged items.
func stagedReport(c *cli.Call, s *githook.Report, doing string, o *signOptions) error {
	if err := diag.FromFindings(doing, s.Findings); err != nil {
		data := map[string]any{"files": s.Files, "findings": s.Findings}
		return c.UI.Report(err, data, s.Findings, func() {
			for _, f := range s.Findings {
				c.UI.Finding(f)
			}
		})
	}
	return showSigned(c.UI, s.Files, o)
}

func noteLeft(c *cli.Call, s *githook.Report) {
	if s.Relocked {
		c.UI.Note("rye: %s is up to date", lock.LockFile)
	}
	for _, path := range s.Left {
		c.UI.Note("rye: %s has edits that are not staged: the commit holds it %s, the file stays as it is", path, pick(filepath.Base(path) == lock.LockFile, "up to date", "signed"))
	}
}

// askAboutStaged returns how a user is asked about a staged text that differs from its
// file, nil without a terminal that shows it.
func askAboutStaged(c *cli.Call) func(context.Context, string, string) (bool, error) {
	if !c.Isatty(c.Stdin) || !c.Isatty(c.Stdout) || !c.Isatty(c.Stderr) || c.UI.AsJSON || c.Getenv("GIT_TERMINAL_PROMPT") == "0" {
		return nil
	}
	return func(ctx context.Context, text, question string) (bool, error) {
		c.UI.Text(text)
		return c.ConfirmWithin(ctx, question)
	}
}
