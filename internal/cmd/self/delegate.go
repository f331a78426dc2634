package self

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/sibling"
)

// Program returns this program.
func Program(w *cli.World) sibling.Program {
	return sibling.Program{
		Path: sibling.Resolved(w.Self),
		Build: sibling.Build{
			Version:  w.Program.Version,
			Revision: w.Program.Revision,
			Bundle:   SystemBundle(w.Stdlib),
		},
	}
}

// Search returns where this program searches the other one. Directories of the project that the
// command is about never have it.
func Search(w *cli.World) sibling.Search {
	return sibling.Search{
		Self:    w.Self,
		Environ: w.Environ(),
		Dirs:    append(w.ProjectFlags(), w.Dir),
	}
}

// Server returns the rye-server that commands start. It is an error if none is installed, or one that
// is not built from the same source.
func Server(ctx context.Context, w *cli.World) (sibling.Program, error) {
	rye := Program(w)
	path, err := sibling.Find("rye-server", Search(w))
	if err == nil && path == "" {
		err = sibling.Missing("rye registry serve", rye)
	}
	if err != nil {
		return sibling.Program{}, err
	}
	server, err := sibling.Ask(ctx, path, w.Environ())
	if err != nil {
		return sibling.Program{}, err
	}
	return server, sibling.Compare(rye, server)
}

// StartServer runs a command of rye-server, such as registry serve, in place of this process, and
// returns the exit status. It must be called before signals are caught.
func StartServer(ctx context.Context, w *cli.World, command string) int {
	status, err := startServer(w, command)
	if err != nil {
		return cli.Fail(ctx, w, command, err)
	}
	return status
}

func startServer(w *cli.World, command string) (status int, err error) {
	// The path of a link would name a directory that has no rye-server.
	rye := Program(w)
	path, err := sibling.Find("rye-server", Search(w))
	if err == nil && path == "" {
		err = sibling.Missing("rye "+command, rye)
	}
	if err != nil {
		return 0, err
	}
	return sibling.Start(path, w.Args, w.Environ(), rye)
}
