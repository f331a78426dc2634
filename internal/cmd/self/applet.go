package self

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/applet"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// runApplet runs an applet. SIGPIPE is caught: if it ended the applet when the
// caller exits, the processes that the applet started would remain. Those do not
// get the boundary, which names the user's directories.
func runApplet(ctx context.Context, w *cli.World) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return applet.Run(ctx, w.Args[1], applet.Params{
		Stdin:  w.Stdin,
		Stdout: w.Stdout,
		Stderr: w.Stderr,
		Getenv: w.Getenv,
		Environ: func() []string {
			return forPrograms(w.Environ())
		},
		Now: w.Now,
	})
}

// forPrograms returns the environment of an applet without the boundary.
func forPrograms(environ []string) []string {
	return slices.DeleteFunc(environ, func(kv string) bool {
		return strings.HasPrefix(kv, policy.BoundaryVar+"=")
	})
}

// AppletHere runs an applet in this process.
func AppletHere(ctx context.Context, c exec.AppletCall) int {
	getenv := func(name string) string {
		value, _ := proc.Lookup(c.Env, name)
		return value
	}
	return applet.Run(ctx, c.Name, applet.Params{
		Stdin:  bytes.NewReader(c.Stdin),
		Stdout: c.Stdout,
		Stderr: c.Live,
		Dir:    c.Dir,
		Run:    c.Run,
		Here:   true,
		Getenv: getenv,
		Environ: func() []string {
			return forPrograms(slices.Clone(c.Env))
		},
	})
}
