package gateway

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// unwatched is how often a file is read of which the system reports no changes.
const unwatched = 500 * time.Millisecond

// watched is how often a file is read all the same: an event can be lost.
const watched = 5 * time.Second

// follower wakes readers of files when the system reports a change of a directory. Readers read at their
// own speed, so a slow one costs no memory and misses nothing.
type follower struct {
	watcher *fsnotify.Watcher // nil: the system reports nothing

	mu      sync.Mutex
	waiters map[string]map[chan struct{}]bool // by directory
}

func newFollower() *follower {
	f := &follower{waiters: map[string]map[chan struct{}]bool{}}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return f // the limit of the system is reached: files are read again and again
	}
	f.watcher = w
	go f.loop()
	return f
}

func (f *follower) close() {
	if f.watcher != nil {
		_ = f.watcher.Close()
	}
}

// loop passes what the system reports on until the watcher is closed.
func (f *follower) loop() {
	for {
		select {
		case e, open := <-f.watcher.Events:
			if !open {
				return
			}
			f.wake(filepath.Dir(e.Name))
		case _, open := <-f.watcher.Errors:
			if !open {
				return
			}
			// Events were lost: everybody reads.
			f.wake("")
		}
	}
}

// wake wakes the waiters of a directory, or with "" all.
func (f *follower) wake(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for d, list := range f.waiters {
		if dir != "" && dir != d {
			continue
		}
		for c := range list {
			select {
			case c <- struct{}{}:
			default: // it is awake already
			}
		}
	}
}

// watch is what one reader waits for.
type watch struct {
	f    *follower
	wake chan struct{}
	dirs []string
	all  bool // the system reports changes of all directories
}

// newWatch returns a watch of nothing.
func (f *follower) newWatch() *watch {
	return &watch{
		f:    f,
		wake: make(chan struct{}, 1),
		all:  f.watcher != nil,
	}
}

// add adds a directory.
func (w *watch) add(dir string) {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	// The first reader of a directory has the system watch it, the last one ends that.
	list := f.waiters[dir]
	if list == nil {
		list = map[chan struct{}]bool{}
		f.waiters[dir] = list
		if f.watcher != nil && f.watcher.Add(dir) != nil {
			w.all = false
		}
	}
	list[w.wake] = true
	w.dirs = append(w.dirs, dir)
}

// close ends the watch.
func (w *watch) close() {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range w.dirs {
		delete(f.waiters[dir], w.wake)
		if len(f.waiters[dir]) > 0 {
			continue
		}
		delete(f.waiters, dir)
		if f.watcher != nil {
			_ = f.watcher.Remove(dir)
		}
	}
}

// wait waits for a change, at most for limit. It returns the error of ctx.
func (w *watch) wait(ctx context.Context, limit time.Duration) error {
	// Without reports of the system, files are read again and again.
	pause := watched
	if !w.all {
		pause = unwatched
	}
	timer := time.NewTimer(min(pause, limit))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.wake:
	case <-timer.C:
	}
	return nil
}
