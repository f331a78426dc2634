package transfer

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/importing"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/ryeos"
	"github.com/ryeos/rye/primary"
)

// importOptions are the flags of rye import.
type importOptions struct {
	from, to   string
	legacyKeys []string
	dryRun     bool
}

// fromOriginal is the program whose projects rye copies.
const fromOriginal = "ryeos"

func ImportCommand() *cli.Command {
	var o importOptions
	return &cli.Command{
		Name:  "import",
		Group: "Items",
		Usage: "bring in workflows of other programs, or a project of the Python original",
		Args:  "[PATH…]",
		Long: `Writes unsigned items into the project, lists what they were made of and what has no
counterpart in rye, and prints the commands to run next. Nothing is signed, run or
permitted: read what was written, and sign it. rye recognises skills (a folder with
SKILL.md), agents and commands of Claude Code, prompts of Codex, recipes of goose, rules
such as AGENTS.md and .cursor/rules, and lists of MCP servers; --from names the format
if it does not. A folder is all of these in it and in the folders below.

With --from ryeos it copies the items below DIR/.ai to a new project and prepares them
for their first signatures. DIR stays as it is.

A valid old signature is checked and removed; what it did not cover is listed. An item
whose old signature is not valid keeps it, and a pattern does not sign that item. What
the original accepted and rye writes differently is rewritten where it is certain. Keys,
lock files, caches, threads, manifests, extractors and the original's own library are
left out.

rye then lists the work for a person, and the commands to run next. The exit status
is 0 if rye sign '*' would sign every item of the copy. Old keys come from
.ai/trusted_keys in your home and from --legacy-key, never from DIR.`,
		Examples: []string{
			"rye import . --dry-run",
			"rye import .claude",
			"rye import AGENTS.md recipes/triage.yaml",
			"rye import --from command notes/review.md --to team/review",
			"rye import --from ryeos shop --dry-run",
			"rye import --from ryeos shop --to shop-new",
			"rye import --from ryeos ~ --to old-items --legacy-key old/public_key.pem",
		},
		Codes: []diag.Code{
			diag.ItemNotFound,
			diag.ValidationFailed,
			diag.HiddenChars,
			diag.AmbiguousItem,
			diag.TooLarge,
			diag.PolicyDenied,
			diag.FileSystemError,
		},
		Flags: []cli.Flag{
			cli.String(&o.from, "from", "`FORMAT` of what is imported").OneOf(append(interop.Formats(), fromOriginal)...),
			cli.String(&o.to, "to", "`ID` of the item; of a project of the original, the directory of the copy, which is new or empty (default: DIR-rye)"),
			cli.Strings(&o.legacyKeys, "legacy-key", "also check old signatures with the public key in `FILE`"),
			cli.Bool(&o.dryRun, "dry-run", "print the same and write nothing"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runImport(ctx, c, &o)
		},
	}
}

// runImport copies the items below .ai only: the rest of a project may be large, or a home
// directory. The result replaces .ai; the old one remains for comparison.
func runImport(ctx context.Context, c *cli.Call, o *importOptions) error {
	switch {
	case o.from == "" && len(c.Args) == 0:
		return diag.New(diag.Usage, "reading arguments: %q needs a file or a folder, or --from", "rye import").WithReason("import_nothing")
	case o.from != fromOriginal:
		return importOthers(ctx, c, o)
	case len(c.Args) > 1:
		return diag.New(diag.Usage, "reading arguments: --from %s copies one project", fromOriginal)
	}
	dir := c.Base
	if c.Arg(0) != "" {
		dir = c.Path(c.Arg(0))
	}
	if filepath.Base(dir) == ".ai" {
		dir = filepath.Dir(dir)
	}
	to := dir + "-rye"
	if o.to != "" {
		to = c.Path(o.to)
	}
	keys := make([]string, len(o.legacyKeys))
	for i, file := range o.legacyKeys {
		keys[i] = c.Path(file)
	}
	done, err := importing.Project(ctx, env.Of(c), importing.Call{
		From:       dir,
		To:         to,
		LegacyKeys: keys,
		DryRun:     o.dryRun,
		Init: func(ctx context.Context, stage string) error {
			at := *c
			at.Base = stage
			at.Named = stage
			_, err := env.InitProject(stage, filepath.Base(to))
			if err != nil {
				return err
			}
			_, err = relock.Create(ctx, env.Of(&at))
			return err
		},
	})
	if err != nil {
		return err
	}
	return showImported(c, done, to, o)
}

// showImported prints the result. What rye sign would refuse decides the exit status.
func showImported(c *cli.Call, done *importing.Result, to string, o *importOptions) error {
	counts := map[primary.ImportStatus]int{}
	for _, rep := range done.Items {
		cli.FillFixes(rep.Findings)
		counts[rep.Status]++
	}
	fs := done.Findings()
	cli.FillFixes(fs)
	next := importCommands(c, done, to)
	data := map[string]any{
		"to":          to,
		"dry_run":     o.dryRun,
		"items":       done.Items,
		"other_files": len(done.Others),
		"left_out":    done.Left,
		"findings":    fs,
		"next":        next,
	}
	for _, s := range []primary.ImportStatus{primary.Ready, primary.Rewritten, primary.Held, primary.Broken} {
		data[string(s)] = counts[s]
	}
	err := diag.FromFindings("importing", fs)
	human := func() {
		showImportChanges(c.UI, done)
		for _, f := range fs {
			c.UI.Finding(f)
			if f.Fix != "" {
				c.UI.Out("    %s", c.UI.Style(cli.Cyan, f.Fix))
			}
		}
		c.UI.Note("%s%s: %d ready, %d rewritten, %d held, %d to repair, %s",
			cli.Pick(o.dryRun, "would be copied to ", "copied to "), env.FromHere(c, to),
			counts[primary.Ready], counts[primary.Rewritten], counts[primary.Held], counts[primary.Broken], cli.Plural(len(done.Others), "other file"))
		for _, line := range next {
			c.UI.Note("next: %s", line)
		}
	}
	if err == nil {
		return c.UI.Show(data, human)
	}
	if !c.UI.AsJSON {
		human()
	}
	return cli.Shown(err, data)
}

// showImportChanges prints the rewrites and the omitted files.
func showImportChanges(u *cli.UI, done *importing.Result) {
	for _, rep := range done.Items {
		for _, f := range rep.Changes {
			u.Out("%s  %s: %s", u.Style(cli.Green, "rewritten"), f.Location(), f.Message)
		}
	}
	for _, l := range done.Left {
		if !l.Reason.ForPerson() {
			u.Out(
				"%s  %s (%s)",
				u.Style(cli.Dim, "left out "),
				l.Path,
				cli.Plural(l.Files, "file"),
			)
		}
	}
}

// importCommands returns the commands to run next.
func importCommands(c *cli.Call, done *importing.Result, to string) []string {
	at := ryeos.Quote(env.FromHere(c, to))
	var out []string
	if !done.HasKey {
		out = append(out, "rye key new")
	}
	return append(out, "rye -C "+at+" sign '*'", "rye -C "+at+" verify")
}
