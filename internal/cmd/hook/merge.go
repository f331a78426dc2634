package hook

import (
	"context"
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/lock"
)

func hookMergeCommand() *cli.Command {
	return &cli.Command{
		Name:  "merge",
		Usage: "merge three versions of an item; git calls this",
		Args:  "BASE OURS THEIRS SIZE FILE",
		Long: `This is the merge driver that rye hook install sets. It removes the signature lines of
the three versions and merges the rest into OURS; conflicts have markers of SIZE
characters. If only one side changed more than its signature line, that version is the
result, with its signature. The commit hook signs any other result. Versions of rye.lock
are merged entry by entry, without entries of bundles that both sides changed. FILE is
the name of the item.`,
		Examples: []string{"rye hook merge base.sh ours.sh theirs.sh 7 .ai/tools/demo/hello.sh"},
		Codes:    []diag.Code{diag.ValidationFailed, diag.FileSystemError},
		Run:      runHookMerge,
	}
}

// runHookMerge merges one file. Where both branches changed one item, it takes one entry of
// rye.lock, and the hook of the commit writes the right one. Two changes of bundles are
// resolved by rye lock.
func runHookMerge(ctx context.Context, c *cli.Call) error {
	git, err := gitcmd.New(gitcmd.Params{Dir: c.Base, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	p := githook.MergeParams{
		Git:        git,
		Base:       c.Path(c.Arg(0)),
		Ours:       c.Path(c.Arg(1)),
		Theirs:     c.Path(c.Arg(2)),
		MarkerSize: c.Arg(3),
		Path:       c.Arg(4),
	}
	signed, conflict, err := githook.Merge(ctx, p)
	switch {
	case err != nil:
		return err
	case conflict && path.Base(p.Path) == lock.LockFile:
		return diag.New(diag.ValidationFailed, "merging %s: both sides changed more than entries of items", p.Path).
			WithReason("lock_conflict").WithDetail("path", p.Path)
	case conflict:
		return diag.New(diag.ValidationFailed, "merging %s: both sides changed the same lines", p.Path).
			WithReason("merge_conflict").WithDetail("path", p.Path)
	case !signed:
		c.UI.Note("rye: %s is merged and not signed: the commit hook signs it; after a rebase or cherry-pick, use rye sign", p.Path)
	}
	return nil
}
