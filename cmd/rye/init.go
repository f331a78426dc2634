package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// initOptions are the flags of rye init. The key that it can make takes the same
// --owner as rye key new.
type initOptions struct {
	owner   string
	hook    bool
	mcp, ci string
}

func initCommand() *cli.Command {
	var o initOptions
	return &cli.Command{
		Name: "init", Group: "Items",
		Usage: "make a project here", Args: "[DIR]",
		Long: `Makes .ai with its directories, rye.yaml, and the lines in .gitattributes and
.gitignore that keep git from changing signed bytes. Existing files stay, so that the
command can be repeated. Your home directory and / are never a project. If you have no
key, it offers to make one at a terminal and prints the command elsewhere.

--hook installs the git hooks, as rye hook install does. --ci writes a workflow that
verifies every push with the keys in the variable RYE_TRUST_ROOT.`,
		Examples: []string{"rye init", "rye init support-agents", "rye init --hook --ci github", "rye init --mcp claude"},
		Codes:    []diag.Code{diag.FileSystemError, diag.SourceNotFound},
		Flags: []cli.Flag{
			cli.String(&o.owner, "owner", "`NAME` on a new key"),
			cli.Bool(&o.hook, "hook", "also install the git hooks"),
			cli.String(&o.mcp, "mcp", "also configure `CLIENT`: "+strings.Join(mcpClients(), ", ")).OneOf(mcpClients()...),
			cli.String(&o.ci, "ci", "also write a workflow for `SYSTEM`: github or gitlab").OneOf(ciSystems()...),
		},
		Run: func(ctx context.Context, c *cli.Call) error { return runInit(ctx, c, &o) },
	}
}

// initLines are the lines that init adds to files of git, if they are missing.
func initLines() map[string][]string {
	return map[string][]string{
		".gitattributes": {space.Dir + "/** -text", "rye.yaml -text", "*.lock -text", "*.sum -text", "rye.sum merge=union"},
		".gitignore":     {space.Dir + "/threads/", space.Dir + "/cache/", space.Dir + "/knowledge/threads/", space.Dir + "/knowledge/graphs/"},
	}
}

func runInit(ctx context.Context, c *cli.Call, o *initOptions) error {
	dir := c.Base
	if c.Arg(0) != "" {
		dir = c.Path(c.Arg(0))
	}
	if err := envOf(c).CheckNewProject(dir); err != nil {
		return err
	}
	made, err := initProject(dir)
	if err != nil {
		return err
	}
	more, hooks, err := initExtras(ctx, c, dir, o)
	if err != nil {
		return err
	}
	made = append(made, more...)
	e := envOf(c)
	e.Base, e.Named = dir, dir
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	_, noKey := h.OwnKey("")
	data := map[string]any{"project": dir, "created": made, "has_key": diag.CodeOf(noKey) != diag.AuthRequired}
	if hooks != nil {
		data["hooks"] = hooks
	}
	err = c.UI.Show(data, func() {
		for _, f := range made {
			c.UI.Out("created %s", fromHere(c, filepath.Join(dir, filepath.FromSlash(f))))
		}
		showHooks(c, hooks)
		if len(made) == 0 {
			c.UI.Out("nothing to do: %s is a project", dir)
		}
	})
	if err != nil || diag.CodeOf(noKey) != diag.AuthRequired {
		return err
	}
	return offerKey(ctx, c, h, o.owner)
}

// fromHere returns a path relative to the working directory.
func fromHere(c *cli.Call, path string) string {
	if rel, err := filepath.Rel(c.Dir, path); c.Dir != "" && err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// offerKey makes a key if the user accepts at a terminal; elsewhere it prints the
// command.
func offerKey(ctx context.Context, c *cli.Call, h *project.Project, owner string) error {
	answer := ""
	if c.Isatty(c.Stdin) && !c.UI.AsJSON {
		answer, _ = c.Ask("You have no key to sign with. Make one now? [Y/n] ")
		if answer == "" {
			answer = "y"
		}
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		c.UI.Note("You have no key yet. Make one with rye key new.")
		return nil
	}
	k, err := makeKey(ctx, c, h, &keyOptions{owner: owner, kind: keyUser, expires: "1y"})
	if err != nil {
		return err
	}
	c.UI.Note("key %s, valid until %s", k.Fingerprint, k.NotAfter.Format("2006-01-02"))
	c.UI.Note("Keep %s offline: anybody who has it can revoke this key.", k.Revocation)
	return nil
}

// initProject creates what is missing and returns the names of what it made.
func initProject(dir string) ([]string, error) {
	fail := func(err error) ([]string, error) { return nil, diag.Doing("making a project", err) }
	base := atomicfile.Project(dir)
	var made []string
	for _, k := range []string{"directives", "tools", "knowledge", "config"} {
		p := space.Dir + "/" + k
		_, missing := base.Stat(p)
		if err := base.MkdirAll(p); err != nil {
			return fail(err)
		}
		if missing != nil {
			made = append(made, p)
		}
	}
	switch err := base.Create("rye.yaml", []byte(newManifest(dir)), 0o644); {
	case err == nil:
		made = append(made, "rye.yaml")
	case !errors.Is(err, fs.ErrExist):
		return fail(err)
	}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		changed, err := project.AddLines(dir, name, initLines()[name])
		if err != nil {
			return fail(err)
		}
		if changed {
			made = append(made, name)
		}
	}
	return made, nil
}

func newManifest(dir string) string {
	name := strings.Map(func(r rune) rune {
		if item.CheckID(string(r)) == nil || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	return "rye: 1\nname: " + yamlx.Scalar(name, 0) + "\n"
}
