//go:build !windows

package sibling

import (
	"syscall"

	"github.com/ryeos/rye/diag"
)

// Start replaces this process by a program, which keeps its id, terminal, streams and signals, and
// whose exit status becomes the exit status of this process. It returns only if that fails. The caller must not
// have changed the handling of signals: the program would not get those that arrive before it
// starts.
func Start(path string, args, environ []string, caller Program) (status int, err error) {
	env := append(withoutMark(environ), mark(caller))
	err = syscall.Exec(path, append([]string{path}, args...), env)
	return 0, diag.New(diag.ExecutionFailed, "starting %s: %w", path, err).
		WithReason("server_start").
		WithDetail("path", path)
}
