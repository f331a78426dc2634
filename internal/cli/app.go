package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// globalFlags are accepted before and after every verb.
func globalFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "json", Usage: "print one JSON document instead of text"},
		&urfave.StringFlag{Name: "project", Aliases: []string{"C"}, Usage: "the project is `DIR`; paths are relative to it"},
		&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
		&urfave.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print more about what happens"},
		&urfave.BoolFlag{Name: "no-color", Usage: "print without colour (as NO_COLOR does)"},
		&urfave.BoolFlag{Name: "offline", Usage: "use no network"},
		&urfave.StringFlag{Name: "trust-root", Usage: "take the trust documents in `FILE`, or a folder of them, as anchors"},
		&urfave.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print the help of a command"},
	}
}

// rootCommand returns the command above the verbs.
func (w *World) RootCommand() *Command {
	return &Command{Name: "rye", Usage: "signed, locked, verified items for agent workflows", Flags: globalFlags(), Subs: w.Commands}
}

// dispatch finds the command that the words name and runs it.
func dispatch(ctx context.Context, w *World, u *UI) error {
	root := w.RootCommand()
	l, err := SortArgs(root, w.Args)
	u.Command = l.name()
	if err != nil {
		return err
	}
	if l.Help || l.cmd() == root {
		return showHelp(u, root, l.Path)
	}
	return l.app(func(flags *urfave.Context) error {
		c, err := newCall(w, u, l, flags)
		if err != nil {
			return err
		}
		u.settle(c)
		defer c.close()
		return l.cmd().Run(ctx, c)
	}).RunContext(ctx, l.Words())
}

// app returns an urfave application that knows only the commands on the path:
// what is not called costs nothing at start.
func (l *line) app(action urfave.ActionFunc) *urfave.App {
	a := &urfave.App{
		Name:     "rye",
		Flags:    l.Path[0].Flags,
		HideHelp: true, HideVersion: true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              usageError,
		// The default handler exits for every error with an ExitCode method,
		// and *exec.ExitError has one.
		ExitErrHandler: func(*urfave.Context, error) {},
	}
	slot := &a.Commands
	for i, c := range l.Path[1:] {
		cc := &urfave.Command{Name: c.Name, Flags: c.Flags, HideHelp: true, OnUsageError: usageError}
		if i == len(l.Path)-2 {
			cc.Action = action
		}
		*slot = []*urfave.Command{cc}
		slot = &cc.Subcommands
	}
	return a
}

func usageError(_ *urfave.Context, err error, _ bool) error {
	return diag.New(diag.Usage, "reading arguments: %w", err)
}
