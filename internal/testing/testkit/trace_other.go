//go:build !linux || !(amd64 || arm64)

package testkit

import (
	"fmt"
	"runtime"
)

func noTracer() error {
	return fmt.Errorf("%w: only linux on amd64 and arm64 has a tracer, not %s/%s", ErrNoTracer, runtime.GOOS, runtime.GOARCH)
}

// FilterMain returns an error: there is no tracer for this system.
func FilterMain([]string) error { return noTracer() }

// Run returns an error: there is no tracer for this system.
func (p Trace) Run() (Traced, error) { return Traced{}, noTracer() }
