package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// commands is the table of verbs, in the order of the help text. A verb is one
// file with a constructor; adding it here is all it takes.
func commands() []*command {
	return []*command{
		initCommand(),
		newCommand(),
		runCommand(),
		signCommand(),
		verifyCommand(),
		hookCommand(),
		listCommand(),
		searchCommand(),
		showCommand(),
		chainCommand(),
		loadCommand(),
		deltaCommand(),
		configCommand(),
		keyCommand(),
		trustCommand(),
		addCommand(),
		removeCommand(),
		lockCommand(),
		syncCommand(),
		treeCommand(),
		whyCommand(),
		pruneCommand(),
		updateCommand(),
		outdatedCommand(),
		infoCommand(),
		vendorCommand(),
		cacheCommand(),
		bundleCommand(),
		mcpCommand(),
		serveCommand(),
		auditCommand(),
		sbomCommand(),
		tourCommand(),
		doctorCommand(),
		versionCommand(),
		explainCommand(),
		completionCommand(),
		completeCommand(),
		helpCommand(),
	}
}

// globalFlags are accepted before and after every verb.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document instead of text"},
		&cli.StringFlag{Name: "project", Aliases: []string{"C"}, Usage: "the project is `DIR`; paths are relative to it"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print more about what happens"},
		&cli.BoolFlag{Name: "no-color", Usage: "print without colour (as NO_COLOR does)"},
		&cli.BoolFlag{Name: "offline", Usage: "use no network"},
		&cli.StringFlag{Name: "trust-root", Usage: "take the trust documents in `FILE`, or a folder of them, as anchors"},
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print the help of a command"},
	}
}

// rootCommand returns the command above the verbs.
func (w *world) rootCommand() *command {
	subs := w.Commands
	if subs == nil {
		subs = commands()
	}
	return &command{name: "rye", usage: "signed, locked, verified items for agent workflows", flags: globalFlags(), subs: subs}
}

// dispatch finds the command that the words name and runs it.
func dispatch(ctx context.Context, w *world, u *ui) error {
	root := w.rootCommand()
	l, err := sortArgs(root, w.Args)
	u.command = l.name()
	if err != nil {
		return err
	}
	if l.help || l.cmd() == root {
		return showHelp(u, root, l.path)
	}
	return l.app(func(flags *cli.Context) error {
		c, err := newCall(w, u, l, flags)
		if err != nil {
			return err
		}
		u.settle(c)
		defer c.servers.Close()
		return l.cmd().run(ctx, c)
	}).RunContext(ctx, l.words())
}

// app returns an urfave application that knows only the commands on the path:
// what is not called costs nothing at start.
func (l *line) app(action cli.ActionFunc) *cli.App {
	a := &cli.App{
		Name:     "rye",
		Flags:    l.path[0].flags,
		HideHelp: true, HideVersion: true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              usageError,
		// The default handler exits for every error with an ExitCode method,
		// and *exec.ExitError has one.
		ExitErrHandler: func(*cli.Context, error) {},
	}
	slot := &a.Commands
	for i, c := range l.path[1:] {
		cc := &cli.Command{Name: c.name, Flags: c.flags, HideHelp: true, OnUsageError: usageError}
		if i == len(l.path)-2 {
			cc.Action = action
		}
		*slot = []*cli.Command{cc}
		slot = &cc.Subcommands
	}
	return a
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return diag.New(diag.Usage, "reading arguments: %w", err)
}
