package self

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/vtmode"
	"github.com/ryeos/rye/packages/source/git"
	"github.com/ryeos/rye/stdlib"
)

// memory is where garbage is collected eagerly, in bytes. It refuses nothing: without it
// the garbage of files of 64 MiB, which a remote can choose, doubles the memory.
const memory = 128 << 20

// garbage is GOGC of a program that ends soon: the work of a command allocates a few megabytes,
// and collecting them costs more time than the memory is worth.
const garbage = 400

// Main returns the exit status of one run of a program. start is called before the command line is
// read; a run that it ended has its status.
func Main(
	ctx context.Context,
	w *cli.World,
	start func(context.Context, *cli.World) (status int, ended bool),
) int {
	if w.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	if w.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	// Applets are dispatched before the command line is read, because every call of
	// a standard tool starts one and pays for the work before it.
	if len(w.Args) > 1 && w.Args[0] == "applet" {
		return interruptible(ctx, func(ctx context.Context) int {
			return runApplet(ctx, w)
		})
	}
	if len(w.Args) == 2 && w.Args[0] == ToolRelay {
		// The first signal ends the program that started the relay, which then closes its input.
		return interruptible(ctx, func(context.Context) int {
			return relayTools(w)
		})
	}
	if len(w.Args) == 1 && w.Args[0] == git.ChildVerb {
		return interruptible(ctx, func(ctx context.Context) int {
			return git.Child(ctx, w.Stdin, w.Stdout, w.Stderr)
		})
	}
	if status, ended := start(ctx, w); ended {
		return status
	}
	return interruptible(ctx, func(ctx context.Context) int {
		restore, known := vtmode.Enable(w.Stdout, w.Stderr)
		defer restore()
		w.NoEscapes = w.NoEscapes || !known
		return cli.Run(ctx, w)
	})
}

// interruptible calls run with a context that ends with the first signal.
func interruptible(ctx context.Context, run func(context.Context) int) int {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return run(ctx)
}

// World returns the streams, environment and clock of this process, for a program with these
// commands.
func World(commands func(only string) []*cli.Command) *cli.World {
	path, _ := os.Executable() // "" is an error of the command that needs it
	dir, _ := os.Getwd()
	return &cli.World{
		Args:     os.Args[1:],
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Getenv:   os.Getenv,
		Environ:  os.Environ,
		Now:      time.Now,
		Rand:     rand.Reader,
		Self:     path,
		Program:  cli.ReadVersion(),
		Stdlib:   stdlib.FS(),
		Dir:      dir,
		Isatty:   cli.IsTerminal,
		Commands: commands,
	}
}
