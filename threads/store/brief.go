package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

// idle is the time after which a Brief closes a store that is not used.
const idle = 250 * time.Millisecond

// Brief opens a store for its first use, and closes it when nothing holds it, or when no use has
// followed for a while: uses soon after each other open it once, and a process that waits for a
// person does not keep it open.
type Brief struct {
	dir string
	p   Params

	mu    sync.Mutex
	s     *Store
	held  int
	timer *time.Timer
	uses  int // a timer that was set before a later use does nothing
}

// NewBrief returns a Brief of the store in a directory.
func NewBrief(dir string, p Params) *Brief { return &Brief{dir: dir, p: p} }

// Hold keeps the store open between uses that follow soon. The last release closes it.
func (b *Brief) Hold() (release func()) {
	b.mu.Lock()
	b.held++
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.held--; b.held == 0 {
			_ = b.close() // what was written is durable
		}
	}
}

// Do calls f with the store. The caller holds it. A store that was replaced since it was opened is opened again.
func (b *Brief) Do(ctx context.Context, f func(*Store) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	opened := b.s != nil
	err := b.do(ctx, f)
	if e := (*diag.Error)(nil); opened && errors.As(err, &e) && e.Reason == "store_replaced" {
		_ = b.close() // of the former file
		err = b.do(ctx, f)
	}
	return err
}

func (b *Brief) do(ctx context.Context, f func(*Store) error) error {
	if b.s == nil {
		s, err := Open(ctx, b.dir, b.p)
		if err != nil {
			return err
		}
		b.s = s
	}
	err := f(b.s)
	if b.timer != nil {
		b.timer.Stop()
	}
	b.uses++
	uses := b.uses
	b.timer = time.AfterFunc(idle, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.uses == uses {
			_ = b.close()
		}
	})
	return err
}

// close closes the store. The caller has the lock.
func (b *Brief) close() error {
	if b.s == nil {
		return nil
	}
	b.timer.Stop()
	err := b.s.Close()
	b.s = nil
	return err
}
