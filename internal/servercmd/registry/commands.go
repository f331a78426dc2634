package registry

import "github.com/ryeos/rye/internal/cli"

// Commands returns the commands, in the order of the help of rye registry.
func Commands() []*cli.Command {
	return []*cli.Command{
		serveCommand(),
		exportCommand(),
		importCommand(),
		witnessCommand(),
		adminCommand(),
	}
}
