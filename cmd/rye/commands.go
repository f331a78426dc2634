package main

import "github.com/ryeos/rye/internal/cli"

// commands returns the table of verbs, in the order of the help text. A new verb
// needs a file with a constructor and a row here.
func commands() []*cli.Command {
	return []*cli.Command{
		initCommand(),
		importCommand(),
		statusCommand(),
		newCommand(),
		runCommand(),
		graphCommand(),
		threadsCommand(),
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
		diffCommand(),
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
		cli.ExplainCommand(),
		cli.CompletionCommand(),
		cli.CompleteCommand(),
		cli.HelpCommand(),
	}
}
