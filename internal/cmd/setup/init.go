package setup

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/hook"
	"github.com/ryeos/rye/internal/cmd/key"
	"github.com/ryeos/rye/internal/cmd/serve"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/modelsetup"
)

// initOptions are the flags of rye init. The key that it can make takes the same
// --owner as rye key new.
type initOptions struct {
	owner   string
	hook    bool
	mcp, ci string

	version string // of rye, for the workflow
}

func InitCommand() *cli.Command {
	var o initOptions
	return &cli.Command{
		Name:  "init",
		Group: "Items",
		Usage: "make a project here",
		Args:  "[DIR]",
		Long: `Makes .ai with its directories, rye.yaml, an empty rye.lock, and the lines in
.gitattributes and .gitignore that keep git from changing signed bytes. Existing files
stay, so that the command can be repeated. Your home directory and / are never a
project. If you have no key, it offers to make one at a terminal and prints the command
elsewhere.

--hook installs the git hooks, as rye hook install does. --ci writes a workflow that
verifies every push and every pull request. It trusts your key and the signers of
locked bundles that you trust: their fingerprints are in the workflow, and their
documents are copied to .ai/trust. It installs the version of rye that wrote it.`,
		Examples: []string{"rye init", "rye init support-agents", "rye init --hook --ci github", "rye init --mcp claude"},
		Codes:    []diag.Code{diag.FileSystemError, diag.SourceNotFound},
		Flags: []cli.Flag{
			cli.String(&o.owner, "owner", "`NAME` on a new key"),
			cli.Bool(&o.hook, "hook", "also install the git hooks"),
			cli.String(
				&o.mcp,
				"mcp",
				"also configure `CLIENT`: "+strings.Join(serve.McpClients(), ", "),
			).OneOf(serve.McpClients()...),
			cli.String(&o.ci, "ci", "also write a workflow for `SYSTEM`: github or gitlab").OneOf(ciSystems()...),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runInit(ctx, c, &o)
		},
	}
}

func runInit(ctx context.Context, c *cli.Call, o *initOptions) (err error) {
	dir := c.Base
	if c.Arg(0) != "" {
		dir = c.Path(c.Arg(0))
	}
	if err := env.Of(c).CheckNewProject(dir); err != nil {
		return err
	}
	// What cannot be done is an error before anything is written.
	if o.hook {
		err := revision.CheckHooks(ctx, env.Of(c), dir)
		if err != nil {
			return err
		}
	}
	if o.ci != "" {
		if o.version, err = installable(c); err != nil {
			return err
		}
	}
	made, err := env.InitProject(dir, filepath.Base(dir))
	if err != nil {
		return err
	}
	at := *c
	at.Base = dir
	at.Named = dir
	if wrote, err := relock.Create(ctx, env.Of(&at)); err != nil {
		return err
	} else if wrote {
		made = append(made, lock.LockFile)
	}
	h, hasKey, err := keyForInit(ctx, &at, o.owner)
	if err != nil {
		return err
	}
	x, err := initExtras(ctx, &at, h, o)
	if err != nil {
		return err
	}
	made = append(made, x.made...)
	noteProviders(ctx, c, h)
	data := map[string]any{"project": dir, "created": made, "has_key": hasKey}
	if x.hooks != nil {
		data["hooks"] = x.hooks
	}
	if x.ci != nil {
		data["ci"] = x.ci
	}
	return c.UI.Show(data, func() {
		for _, f := range made {
			c.UI.Out("created %s", env.FromHere(c, filepath.Join(dir, filepath.FromSlash(f))))
		}
		hook.ShowHooks(c, x.hooks)
		if len(made) == 0 {
			c.UI.Out("nothing to do: %s is a project", dir)
		}
		if x.ci != nil {
			showCI(c, x.ci)
		}
	})
}

// keyForInit opens the new project. If the user has no key, it offers to make one,
// before the workflow of CI names it.
func keyForInit(ctx context.Context, c *cli.Call, owner string) (*project.Project, bool, error) {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, false, err
	}
	_, err = h.Keys.OwnKey("")
	if diag.CodeOf(err) != diag.AuthRequired {
		return h, true, nil
	}
	made, err := offerKey(ctx, c, h, owner)
	if err != nil || !made {
		return h, false, err
	}
	h, err = env.Of(c).Open(ctx, project.Lenient)
	return h, true, err
}

// noteProviders states at a terminal how to add a provider of models, if none can be used.
func noteProviders(ctx context.Context, c *cli.Call, h *project.Project) {
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return
	}
	all, err := modelhost.States(ctx, h)
	usable := func(s *modelhost.State) bool {
		return s.Usable && len(s.Keys) > 0
	}
	if err != nil || slices.ContainsFunc(all, usable) {
		return
	}
	found, err := modelsetup.FindServices(ctx, h, all)
	if err == nil && len(found.Choices) == 0 {
		c.UI.Note("No model service is set up yet. Set one up with rye setup.")
	}
}

// offerKey makes a key if the user accepts at a terminal, and reports whether it
// did; elsewhere it prints the command.
func offerKey(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	owner string,
) (bool, error) {
	answer := ""
	if c.Isatty(c.Stdin) && !c.UI.AsJSON {
		var err error
		if answer, err = c.Ask("You have no key to sign with. Make one now? [Y/n] "); diag.CodeOf(err) == diag.Cancelled {
			return false, err
		}
		if answer == "" && err == nil { // the end of the input is not Enter
			answer = "y"
		}
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		c.UI.Note("You have no key yet. Make one with rye key new.")
		return false, nil
	}
	k, err := key.MakeKey(
		ctx,
		c,
		h,
		&key.KeyOptions{Owner: owner, Kind: key.KeyUser, Expires: key.DefaultExpiry},
	)
	if err != nil {
		return false, err
	}
	c.UI.Note("key %s, valid until %s", k.Fingerprint, k.NotAfter.Format("2006-01-02"))
	c.UI.Note("Keep %s offline: anybody who has it can revoke this key.", k.Revocation)
	return true, nil
}
