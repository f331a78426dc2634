package servercmd

import (
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/servercmd/config"
	"github.com/ryeos/rye/internal/servercmd/gateway"
	"github.com/ryeos/rye/internal/servercmd/registry"
)

// Commands returns the commands of rye-server, all of them whatever the name is: they are few. People
// type them after rye, which has the other commands of rye registry.
func Commands(string) []*cli.Command {
	return []*cli.Command{
		{
			Name:  "registry",
			Group: "Bundles",
			Usage: "serve and operate a registry of bundles",
			Subs:  registry.Commands(),
		},
		gateway.Command(),
		config.Command(),
		self.VersionCommand(),
		cli.CompleteCommand(),
		cli.HelpCommand(),
	}
}
