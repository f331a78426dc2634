package main

import (
	"slices"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
)

// verb is a row of the table of verbs. Its constructor is called for one command, or to
// list all of them: 150 commands with their flags take longer than a short command.
type verb struct {
	name string
	make func() *cli.Command
}

// commands returns the verbs in the order of the help text, or one of them alone if it
// has the name only. A new verb needs a file with a constructor and a row here.
func commands(only string) []*cli.Command {
	table := []verb{
		{"setup", setupCommand},
		{"init", initCommand},
		{"import", importCommand},
		{"export", exportCommand},
		{"status", statusCommand},
		{"new", newCommand},
		{"run", func() *cli.Command { return runCommand(offerSetup) }},
		{"graph", graphCommand},
		{"spawn", spawnCommand},
		{"threads", threadsCommand},
		{"approve", approveCommand},
		{"deny", denyCommand},
		{"test", testCommand},
		{"provider", providerCommand},
		{"sign", signCommand},
		{"verify", verifyCommand},
		{"hook", hookCommand},
		{"list", listCommand},
		{"search", searchCommand},
		{"show", showCommand},
		{"chain", chainCommand},
		{"load", loadCommand},
		{"delta", deltaCommand},
		{"config", configCommand},
		{"key", keyCommand},
		{"trust", trustCommand},
		{"add", addCommand},
		{"remove", removeCommand},
		{"lock", lockCommand},
		{"sync", syncCommand},
		{"tree", treeCommand},
		{"why", whyCommand},
		{"prune", pruneCommand},
		{"update", updateCommand},
		{"diff", diffCommand},
		{"outdated", outdatedCommand},
		{"info", infoCommand},
		{"vendor", vendorCommand},
		{"cache", cacheCommand},
		{"bundle", bundleCommand},
		{"registry", registryCommand},
		{"mcp", mcpCommand},
		{"serve", serveCommand},
		{"audit", auditCommand},
		{"sbom", sbomCommand},
		{"tour", tourCommand},
		{"doctor", doctorCommand},
		{"version", self.VersionCommand},
		{"explain", cli.ExplainCommand},
		{"completion", cli.CompletionCommand},
		{"__complete", cli.CompleteCommand},
		{"help", cli.HelpCommand},
		{"thread-process", threadProcessCommand},
	}
	if i := slices.IndexFunc(table, func(v verb) bool { return v.name == only }); i >= 0 {
		return []*cli.Command{table[i].make()}
	}
	out := make([]*cli.Command, len(table))
	for i, v := range table {
		out[i] = v.make()
	}
	return out
}
