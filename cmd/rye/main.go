// Command rye is the command line: the process and the table of commands. Each command is
// in a package of internal/cmd.
//
// It makes no decision about items, trust or execution, and no other package may
// import it.
package main

import (
	"context"
	"os"

	// The helper of the sandbox runs while packages are initialised, and never reaches
	// main. It must be linked also if nothing else of the sandbox is.
	_ "github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/self"
)

func main() {
	os.Exit(self.Main(context.Background(), self.World(commands), start))
}

// start runs the commands of rye-server, before signals are caught: those that arrive are for it. It
// gives other runs the numbers of threads and runs, which hints and tables show.
func start(ctx context.Context, w *cli.World) (status int, ended bool) {
	if command := w.Delegated(); command != "" {
		return self.StartServer(ctx, w, command), true
	}
	w.Numbers = env.Numbers(ctx, w)
	return 0, false
}
