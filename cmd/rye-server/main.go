// Command rye-server serves people and machines over a network for long: it has the commands that
// serve and operate a registry. People type rye, which starts it.
//
// It is wiring only: its commands are below internal/servercmd.
package main

import (
	"context"
	"os"

	// The helper of the sandbox runs while packages are initialised, and never reaches main.
	_ "github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/servercmd"
)

func main() {
	// Start compares the builds first: a server of another version reads no argument.
	os.Exit(self.Main(
		context.Background(),
		self.World(servercmd.Commands),
		servercmd.Start,
	))
}
