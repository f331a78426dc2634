package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// idle is the time after which a Brief closes a store that is not used.
const idle = 250 * time.Millisecond

// Brief opens a store for its first use, and closes it when nothing holds it, or when no use has
// followed for a while: uses soon after each other open it once, and a process that waits for a
// person does not keep it open.
type Brief struct {
	dir string
	p   Params

	mu   sync.Mutex
	held int

	turn  chan struct{} // has an element while a caller uses the fields below
	s     *Store
	timer *time.Timer
	uses  int // a timer that was set before a later use does nothing
}

// NewBrief returns a Brief of the store in a directory.
func NewBrief(dir string, p Params) *Brief {
	return &Brief{dir: dir, p: p, turn: make(chan struct{}, 1)}
}

// Hold keeps the store open between uses that follow soon. The last release closes it.
func (b *Brief) Hold() (release func()) {
	b.mu.Lock()
	b.held++
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		b.held--
		last := b.held == 0
		b.mu.Unlock()
		if last {
			b.turn <- struct{}{}
			_ = b.close() // what was written is durable
			<-b.turn
		}
	}
}

// Do calls f with the store. The caller holds it. A store that was replaced since it was opened is opened again.
// A call waits for earlier calls at most as long as a transaction waits for the gate.
func (b *Brief) Do(ctx context.Context, f func(*Store) error) error {
	bounded, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	select {
	case b.turn <- struct{}{}:
	case <-bounded.Done():
		return (&Store{base: atomicfile.Private(b.dir), file: b.p.file}).failed("waiting for", bounded.Err())
	}
	defer func() { <-b.turn }()
	opened := b.s != nil
	err := b.do(ctx, f)
	e := (*diag.Error)(nil)
	if opened && errors.As(err, &e) && e.Reason == "store_replaced" {
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
		b.turn <- struct{}{}
		defer func() { <-b.turn }()
		if b.uses == uses {
			_ = b.close()
		}
	})
	return err
}

// close closes the store. The caller has its turn.
func (b *Brief) close() error {
	if b.s == nil {
		return nil
	}
	b.timer.Stop()
	err := b.s.Close()
	b.s = nil
	return err
}
