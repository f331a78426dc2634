package main

import (
	"slices"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/bundle"
	"github.com/ryeos/rye/internal/cmd/chat"
	"github.com/ryeos/rye/internal/cmd/config"
	"github.com/ryeos/rye/internal/cmd/doctor"
	"github.com/ryeos/rye/internal/cmd/gateway"
	"github.com/ryeos/rye/internal/cmd/graph"
	"github.com/ryeos/rye/internal/cmd/hook"
	"github.com/ryeos/rye/internal/cmd/items"
	"github.com/ryeos/rye/internal/cmd/key"
	"github.com/ryeos/rye/internal/cmd/mcp"
	"github.com/ryeos/rye/internal/cmd/packages"
	"github.com/ryeos/rye/internal/cmd/provider"
	"github.com/ryeos/rye/internal/cmd/registry"
	"github.com/ryeos/rye/internal/cmd/run"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/cmd/serve"
	"github.com/ryeos/rye/internal/cmd/setup"
	"github.com/ryeos/rye/internal/cmd/sign"
	"github.com/ryeos/rye/internal/cmd/test"
	"github.com/ryeos/rye/internal/cmd/threads"
	"github.com/ryeos/rye/internal/cmd/tour"
	"github.com/ryeos/rye/internal/cmd/transfer"
	"github.com/ryeos/rye/internal/cmd/trust"
	"github.com/ryeos/rye/internal/cmd/verify"
)

// verb is a row of the table of verbs. Its constructor is called for one command, or to
// list all of them: 150 commands with their flags take longer than a short command.
type verb struct {
	name string
	make func() *cli.Command
}

// commands returns the verbs in the order of the help text, or one of them alone if it
// has the name only. A new verb needs a constructor in the package of its noun and a row here.
func commands(only string) []*cli.Command {
	table := []verb{
		{"setup", setup.Command},
		{"init", setup.InitCommand},
		{"import", transfer.ImportCommand},
		{"export", transfer.ExportCommand},
		{"status", verify.StatusCommand},
		{"new", sign.NewCommand},
		{"run", func() *cli.Command {
			return run.Command(setup.OfferSetup)
		}},
		{"chat", chat.Command},
		{"graph", graph.Command},
		{"spawn", run.SpawnCommand},
		{"threads", threads.Command},
		{"approve", threads.ApproveCommand},
		{"deny", threads.DenyCommand},
		{"test", test.Command},
		{"provider", provider.Command},
		{"sign", sign.Command},
		{"verify", verify.Command},
		{"hook", hook.Command},
		{"list", items.ListCommand},
		{"search", items.SearchCommand},
		{"show", items.ShowCommand},
		{"chain", items.ChainCommand},
		{"load", items.LoadCommand},
		{"delta", items.DeltaCommand},
		{"config", config.Command},
		{"key", key.Command},
		{"trust", trust.Command},
		{"add", packages.AddCommand},
		{"remove", packages.RemoveCommand},
		{"review", packages.ReviewCommand},
		{"lock", packages.LockCommand},
		{"sync", packages.SyncCommand},
		{"tree", packages.TreeCommand},
		{"why", packages.WhyCommand},
		{"prune", packages.PruneCommand},
		{"update", packages.UpdateCommand},
		{"diff", items.DiffCommand},
		{"outdated", packages.OutdatedCommand},
		{"info", packages.InfoCommand},
		{"vendor", packages.VendorCommand},
		{"cache", packages.CacheCommand},
		{"bundle", bundle.Command},
		{"registry", registry.Command},
		{"mcp", mcp.Command},
		{"serve", serve.Command},
		{"gateway", gateway.Command},
		{"audit", packages.AuditCommand},
		{"sbom", packages.SbomCommand},
		{"tour", tour.Command},
		{"doctor", doctor.Command},
		{"version", self.VersionCommand},
		{"explain", cli.ExplainCommand},
		{"completion", cli.CompletionCommand},
		{"__complete", cli.CompleteCommand},
		{"help", cli.HelpCommand},
		{"thread-process", run.ThreadProcessCommand},
	}
	i := slices.IndexFunc(table, func(v verb) bool {
		return v.name == only
	})
	if i >= 0 {
		return []*cli.Command{table[i].make()}
	}
	out := make([]*cli.Command, len(table))
	for i, v := range table {
		out[i] = v.make()
	}
	return out
}
