package sibling

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Start runs a program and returns its exit status. It has the streams and the console of this
// process and ends with it. Ctrl-C and Ctrl-Break reach both: this process leaves the decision
// to the program.
func Start(path string, args, environ []string, caller Program) (status int, err error) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	// Without a job the program would remain if this process is killed. It starts nevertheless:
	// a system that refuses jobs ends it together with the console.
	_ = proc.EndTogether()
	cmd := exec.Command(path, args...)
	cmd.Env = append(withoutMark(environ), mark(caller))
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, diag.New(diag.ExecutionFailed, "starting %s: %w", path, err).WithReason("server_start").WithDetail("path", path)
	}
	return cmd.ProcessState.ExitCode(), nil
}
