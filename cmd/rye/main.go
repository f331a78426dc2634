// Command rye is the command line: it turns words into calls of the rooms,
// and their answers and errors into text, JSON and an exit status.
//
// It decides nothing about items, trust or execution; it is not a library, and
// no other package may import it.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ryeos/rye/internal/applet"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/stdlib"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(runMain(ctx, hostWorld()))
}

// runMain returns the exit status of one run of the program.
func runMain(ctx context.Context, w *cli.World) int {
	// Standard tools start as applets of this binary. They come first, because
	// every tool call pays for what happens before them.
	if len(w.Args) > 1 && w.Args[0] == "applet" {
		return runApplet(ctx, w)
	}
	return cli.Run(ctx, w)
}

// runApplet runs an applet. A caller that goes away must not end it by SIGPIPE:
// the processes that it started would stay.
func runApplet(ctx context.Context, w *cli.World) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return applet.Run(ctx, w.Args[1], applet.Params{
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, Getenv: w.Getenv, Environ: w.Environ, Now: w.Now,
	})
}

// hostWorld returns the world of this process.
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
		Stdlib:   stdlib.FS(),
		Dir:      dir,
		Isatty:   cli.IsTerminal,
		Commands: commands(),
	}
}
