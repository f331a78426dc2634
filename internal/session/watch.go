package session

import (
	"context"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/procwatch"
)

const (
	// look is the longest time between two reads of a thread that works: its process can be
	// killed.
	look = 500 * time.Millisecond
	// poll is the time between two reads of the log where the system reports no changes.
	poll = 50 * time.Millisecond
)

// watch waits for changes of one log.
type watch struct {
	system *procwatch.Watch

	mu   sync.Mutex
	file string
	seen bool   // the system reports the changes of the log
	wake func() // ends the wait that is in progress, nil without one
}

func newWatch() *watch {
	return &watch{system: procwatch.New()}
}

// log sets the log, and ends a wait for the log before.
func (w *watch) log(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file = file
	w.seen = false
	w.kick()
}

// kick ends the wait that is in progress. The caller has the lock.
func (w *watch) kick() {
	if w.wake != nil {
		w.wake()
	}
}

// begin returns the context of a wait.
func (w *watch) begin(ctx context.Context, works bool) (within context.Context, end func(), changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen && w.file != "" {
		w.seen = w.system.Written(w.file) == nil
		if w.seen {
			return ctx, func() {}, true // what was written before is read first
		}
	}
	limit := time.Duration(0)
	switch {
	case !w.seen && w.file != "":
		limit = poll
	case works:
		limit = look
	}
	var cancel context.CancelFunc
	if limit > 0 {
		within, cancel = context.WithTimeout(ctx, limit)
	} else {
		within, cancel = context.WithCancel(ctx)
	}
	w.wake = cancel
	return within, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wake = nil
		cancel()
	}, false
}

// wait returns after a change, or a time if the thread works.
func (w *watch) wait(ctx context.Context, works bool) error {
	within, end, changed := w.begin(ctx, works)
	defer end()
	if changed {
		return ctx.Err()
	}
	err := w.system.Wait(within)
	if ctx.Err() == nil && within.Err() != nil {
		return nil
	}
	return err
}

func (w *watch) close() error {
	return w.system.Close()
}
