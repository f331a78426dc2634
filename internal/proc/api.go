package proc

import (
	"context"
	"errors"
)

// Run starts c, waits for its end and returns what it did.
func Run(ctx context.Context, c Cmd) (Result, error) { return Result{}, errors.ErrUnsupported }

// Err returns nil for exit 0, else TIMEOUT, CANCELLED or EXECUTION_FAILED with the facts.
func (r Result) Err(what string) error { return errors.ErrUnsupported }

// LookPath finds name in the PATH of env.
func LookPath(name string, env []string) (string, error) { return "", errors.ErrUnsupported }

// Base keeps of environ what every program may see.
func Base(environ []string) []string { return nil }

// Merge joins layers of KEY=VALUE, the later winning, sorted by name.
func Merge(layers ...[]string) []string { return nil }

// Environ renders a map as KEY=VALUE, sorted.
func Environ(vars map[string]string) []string { return nil }

// IsLoaderVar reports whether a variable changes which code a program loads.
func IsLoaderVar(name string) bool { return true }
