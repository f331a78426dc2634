// Command rye is the command line: one file per verb, with its flags, its call of
// the libraries, and the text and JSON of its result.
//
// It makes no decision about items, trust or execution, and no other package may
// import it.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	// The helper of the sandbox runs while packages are initialised, and never reaches
	// main. It must be linked also if nothing else of the sandbox is.
	_ "github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/applet"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/vtmode"
	"github.com/ryeos/rye/stdlib"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(runMain(ctx, hostWorld()))
}

// memory is where garbage is collected eagerly, in bytes. It refuses nothing: without it
// the garbage of files of 64 MiB, which a remote can choose, doubles the memory.
const memory = 128 << 20

// runMain returns the exit status of one run of the program.
func runMain(ctx context.Context, w *cli.World) int {
	if w.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	// Applets are dispatched before the command line is read, because every call of
	// a standard tool starts one and pays for the work before it.
	if len(w.Args) > 1 && w.Args[0] == "applet" {
		return runApplet(ctx, w)
	}
	if len(w.Args) == 2 && w.Args[0] == toolRelay {
		return relayTools(w)
	}
	w.Numbers = numbers(context.WithoutCancel(ctx), w)
	restore, known := vtmode.Enable(w.Stdout, w.Stderr)
	defer restore()
	w.NoEscapes = w.NoEscapes || !known
	return cli.Run(ctx, w)
}

// runApplet runs an applet. SIGPIPE is caught: if it ended the applet when the
// caller exits, the processes that the applet started would remain. Those do not
// get the boundary, which names the user's directories.
func runApplet(ctx context.Context, w *cli.World) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return applet.Run(ctx, w.Args[1], applet.Params{
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, Getenv: w.Getenv, Environ: func() []string { return forPrograms(w.Environ()) }, Now: w.Now,
	})
}

// hostWorld returns the streams, environment and clock of this process.
func hostWorld() *cli.World {
	self, _ := os.Executable()
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
		Self:     self,
		Program:  cli.ReadVersion(),
		Stdlib:   stdlib.FS(),
		Dir:      dir,
		Isatty:   cli.IsTerminal,
		Commands: commands,
	}
}
