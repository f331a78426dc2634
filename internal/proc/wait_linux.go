package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// waiter separates the end of a program from its reaping: until reap the process is
// a zombie, and its process and group numbers are not reused.
type waiter struct{ p *os.Process }

func (w *waiter) exited() {
	for unix.Waitid(unix.P_PID, w.p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

func (w *waiter) reap() (*os.ProcessState, error) {
	return w.p.Wait()
}
