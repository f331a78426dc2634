package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// Globals are the flags that every command accepts, before and after its name.
type Globals struct {
	JSON, Quiet, Verbose, NoColor, Plain, Wide bool

	Project   string // the project's directory
	Offline   bool
	TrustRoot string // a file or directory of trust documents that are anchors
	help      bool
}

func (g *Globals) flags() []Flag {
	return []Flag{
		Bool(&g.JSON, "json", "print one JSON document instead of text"),
		String(&g.Project, "project", "project `DIR`; paths are relative to it").Alias("C"),
		Bool(&g.Quiet, "quiet", "print results and errors only").Alias("q"),
		Bool(&g.Verbose, "verbose", "print more details").Alias("v"),
		Bool(&g.NoColor, "no-color", "print without colour (as NO_COLOR does)"),
		Bool(&g.Plain, "plain", "only append lines, for screen readers (as RYE_PLAIN=1 does)"),
		Bool(&g.Wide, "wide", "print tables with every column and whole cells, as in a pipe"),
		Bool(&g.Offline, "offline", "do not use the network"),
		String(&g.TrustRoot, "trust-root", "trust the documents in `FILE` or a directory as anchors"),
		Bool(&g.help, "help", "print the help of a command (-h is short)").Alias("h"),
	}
}

// RootCommand returns the command above the verbs.
func (w *World) RootCommand() *Command {
	return w.rootOf("")
}

// rootOf returns the command above one verb, or above all if there is none of this name.
func (w *World) rootOf(verb string) *Command {
	g := &Globals{}
	return &Command{
		globals: g,
		Name:    "rye",
		Usage:   "signed, locked, verified items for agent workflows",
		Flags:   g.flags(),
		Subs:    w.Commands(verb),
	}
}

// dispatch finds the command that the words name and runs it.
func dispatch(ctx context.Context, w *World, u *UI) error {
	root, l, err := w.sort()
	u.Command = l.name()
	if err != nil {
		return l.explainFlags(ctx, w, u, err)
	}
	if l.Help != noHelp || l.cmd() == root {
		return showHelp(u, root, l.Path, l.Help)
	}
	return l.app(func(*urfave.Context) error {
		c, err := newCall(ctx, w, u, l)
		if err != nil {
			return err
		}
		u.settle(c.Globals)
		defer c.close()
		if err := l.cmd().checkFlags(); err != nil {
			return err
		}
		return l.cmd().Run(ctx, c)
	}).RunContext(ctx, l.Words())
}

// explainFlags has the command explain the flags that it does not have. It runs
// with the flags that are known, because --project chooses where items are found.
func (l *line) explainFlags(ctx context.Context, w *World, u *UI, err error) error {
	explain := l.cmd().UnknownFlag
	if explain == nil || len(l.unknown) == 0 {
		return err
	}
	explained := false
	_ = l.app(func(*urfave.Context) error {
		c, err := newCall(ctx, w, u, l)
		if err != nil {
			return err
		}
		defer c.close()
		for _, f := range l.unknown {
			near := explain(ctx, c, f.name, f.value)
			if near != "" {
				f.err.WithReason("parameter").WithDetail("nearest", near)
				explained = true
			}
		}
		return nil
	}).RunContext(ctx, l.Words())
	if explained {
		return joinProblems(l.problems)
	}
	return err
}

// versionAsCommand reads the flag that other programs have as rye version. It is
// not a global flag, because commands have a --version of their own.
func versionAsCommand(words []string) []string {
	if len(words) > 0 && (words[0] == "--version" || words[0] == "-V") {
		return append([]string{"version"}, words[1:]...)
	}
	return words
}

// app returns an urfave application that knows only the commands on the path:
// what is not called costs nothing at start.
func (l *line) app(action urfave.ActionFunc) *urfave.App {
	a := &urfave.App{
		Name:                      "rye",
		Flags:                     l.Path[0].Flags,
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              usageError,
		// The default handler exits for every error with an ExitCode method,
		// and *exec.ExitError has one.
		ExitErrHandler: func(*urfave.Context, error) {},
	}
	slot := &a.Commands
	for i, c := range l.Path[1:] {
		cc := &urfave.Command{
			Name:         c.Name,
			Flags:        c.Flags,
			HideHelp:     true,
			OnUsageError: usageError,
		}
		if i == len(l.Path)-2 {
			cc.Action = action
		}
		*slot = []*urfave.Command{cc}
		slot = &cc.Subcommands
	}
	return a
}

// usageError writes flags as rye does: package flag names them with one dash.
func usageError(_ *urfave.Context, err error, _ bool) error {
	return diag.New(diag.Usage, "reading arguments: %s", strings.Replace(err.Error(), " for flag -", " for flag --", 1))
}
