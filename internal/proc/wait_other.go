//go:build !linux

package proc

import "os"

// waiter waits for a program. The end and the reaping are one step here, so a group
// that is killed after the end can be a new one with the same number.
type waiter struct {
	p     *os.Process
	state *os.ProcessState
	err   error
}

func (w *waiter) exited() { w.state, w.err = w.p.Wait() }

// reap returns the state that exited found, which must have returned.
func (w *waiter) reap() (*os.ProcessState, error) { return w.state, w.err }
