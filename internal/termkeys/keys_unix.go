//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package termkeys

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/internal/proc"
)

// Terminal reads keys until it is closed.
type Terminal struct {
	f      *os.File
	fd     int
	before unix.Termios
	rest   []byte
	hangup chan os.Signal
	cont   chan os.Signal
	once   sync.Once
	gone   bool
}

// Open begins to read keys from a terminal. What was typed before is discarded.
func Open(f *os.File) (*Terminal, error) {
	t := &Terminal{
		f:      f,
		fd:     int(f.Fd()),
		hangup: make(chan os.Signal, 1),
		cont:   make(chan os.Signal, 1),
	}
	before, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return nil, err
	}
	t.before = *before
	if err := t.set(); err != nil {
		return nil, err
	}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(t.hangup, syscall.SIGHUP)
	}
	signal.Notify(t.cont, syscall.SIGCONT)
	proc.DropTyped(f)
	return t, nil
}

// set has the terminal send each key at once, without echo.
func (t *Terminal) set() error {
	now := t.before
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(t.fd, setTermios, &now)
}

// Close restores the terminal. After ErrClosed a hangup does not end the process, which still has
// to record the open question.
func (t *Terminal) Close() {
	t.once.Do(func() {
		_ = unix.IoctlSetTermios(t.fd, setTermios, &t.before)
		signal.Stop(t.cont)
		if !t.gone {
			signal.Stop(t.hangup)
		}
	})
}

// Discard drops what was typed and not read.
func (t *Terminal) Discard() {
	t.rest = nil
	proc.DropTyped(t.f)
}

// look is the time between two checks of the signals and the context, and sequenceWait the time
// in which the rest of a sequence follows.
const (
	look         = 100 * time.Millisecond
	sequenceWait = 50 * time.Millisecond
)

// Read returns the keys that were typed together. The error is ctx.Err() if ctx ends first, or
// ErrClosed.
func (t *Terminal) Read(ctx context.Context) ([]Key, error) {
	for {
		wait := look
		if len(t.rest) > 0 {
			wait = sequenceWait
		}
		ready, err := t.wait(ctx, wait)
		if err != nil {
			return nil, err
		}
		if !ready && len(t.rest) == 0 {
			continue
		}
		if !ready { // nothing follows: it was the key itself
			t.rest = nil
			return []Key{Escape}, nil
		}
		b := make([]byte, 4096)
		n, err := unix.Read(t.fd, b)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n <= 0:
			t.gone = true
			return nil, ErrClosed
		}
		var keys []Key
		if keys, t.rest = decode(append(t.rest, b[:n]...)); len(keys) > 0 {
			return keys, nil
		}
	}
}

// wait reports whether keys can be read.
func (t *Terminal) wait(ctx context.Context, d time.Duration) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-t.hangup:
		t.gone = true
		return false, ErrClosed
	case <-t.cont:
		_ = t.set() // a shell has restored its own modes meanwhile
	default:
	}
	var set unix.FdSet
	set.Set(t.fd)
	limit := unix.NsecToTimeval(d.Nanoseconds())
	n, err := unix.Select(t.fd+1, &set, nil, nil, &limit)
	if err != nil && !errors.Is(err, unix.EINTR) {
		t.gone = true
		return false, ErrClosed
	}
	return n > 0 && err == nil, nil
}
