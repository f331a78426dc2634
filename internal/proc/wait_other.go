//go:build !linux

package proc

import "os"

// waiter waits for a program. The end and the reaping are one here, so that a
// group killed after the end could, in theory, be a new one of the same number.
type waiter struct {
	p     *os.Process
	state *os.ProcessState
	err   error
}

func (w *waiter) exited() { w.state, w.err = w.p.Wait() }

// reap returns what exited, which must have returned, found.
func (w *waiter) reap() (*os.ProcessState, error) { return w.state, w.err }
