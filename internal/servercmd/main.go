package servercmd

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/sibling"
)

// Start ends the run if rye-server and the rye of this machine are not built from the same source.
func Start(ctx context.Context, w *cli.World) (status int, ended bool) {
	if err := checkRye(ctx, w); err != nil {
		return cli.Fail(ctx, w, "", err), true
	}
	return 0, false
}

// checkRye compares this program with the rye that started it. If a person or a service started it, it
// compares itself with the rye that is installed. A server works without one.
func checkRye(ctx context.Context, w *cli.World) error {
	server := self.Program(w)
	if rye, started := sibling.Caller(w.Getenv); started {
		return sibling.Compare(rye, server)
	}
	if len(w.Args) > 0 && w.Args[0] == "version" {
		return nil // rye asks for the version, to compare it itself
	}
	path, err := sibling.Find("rye", self.Search(w))
	if err != nil || path == "" {
		return err
	}
	rye, err := sibling.Ask(ctx, path, w.Environ())
	if err != nil {
		return err
	}
	return sibling.Compare(rye, server)
}
