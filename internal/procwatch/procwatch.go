// Package procwatch waits until a process ends, a directory changes or a file is closed,
// without reading their state again and again: the operating system wakes the waiter.
//
// It does not know what the processes or files are. Where a system does not report it,
// the methods of Watch return an error, and the caller looks by itself.
package procwatch

import "context"

// Watch collects the changes of several processes and directories.
type Watch struct {
	system
	woken chan struct{}
}

// New returns a watch of nothing. Close frees what it uses.
func New() *Watch {
	return &Watch{woken: make(chan struct{}, 1)}
}

// Wait returns when something has changed since the last Wait, or with the error of ctx.
func (w *Watch) Wait(ctx context.Context) error {
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Watch) wake() {
	select {
	case w.woken <- struct{}{}:
	default: // a change that Wait has not seen yet
	}
}
