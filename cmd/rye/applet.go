package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/applet"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// forPrograms returns the environment of an applet without the boundary.
func forPrograms(environ []string) []string {
	return slices.DeleteFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, policy.BoundaryVar+"=") })
}

// appletHere runs an applet in this process.
func appletHere(ctx context.Context, c exec.AppletCall) int {
	getenv := func(name string) string {
		value, _ := proc.Lookup(c.Env, name)
		return value
	}
	return applet.Run(ctx, c.Name, applet.Params{
		Stdin: bytes.NewReader(c.Stdin), Stdout: c.Stdout, Stderr: c.Live, Dir: c.Dir, Run: c.Run, Here: true,
		Getenv: getenv, Environ: func() []string { return forPrograms(slices.Clone(c.Env)) },
	})
}
