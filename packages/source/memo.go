package source

import (
	"context"
	"errors"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Memo returns a source that makes each call once, also when goroutines make it at
// the same time. It keeps results without limit: use one per command. Errors are
// not kept.
func Memo(s Source) Source { return &memo{s: s} }

type memo struct {
	s        Source
	versions Once[lock.ID, *Listing]
	resolved Once[[2]string, Origin]
	fetched  Once[Origin, *Snapshot]
	valid    Once[Origin, struct{}]
}

// Versions implements Source.
func (m *memo) Versions(ctx context.Context, id lock.ID) (*Listing, error) {
	return m.versions.Do(ctx, id, func() (*Listing, error) { return m.s.Versions(ctx, id) })
}

// Resolve implements Source.
func (m *memo) Resolve(ctx context.Context, id lock.ID, query string) (Origin, error) {
	return m.resolved.Do(ctx, [2]string{id.String(), query}, func() (Origin, error) { return m.s.Resolve(ctx, id, query) })
}

// Fetch implements Source.
func (m *memo) Fetch(ctx context.Context, o Origin) (*Snapshot, error) {
	return m.fetched.Do(ctx, o, func() (*Snapshot, error) { return m.s.Fetch(ctx, o) })
}

// Revalidate implements Source.
func (m *memo) Revalidate(ctx context.Context, o Origin) error {
	_, err := m.valid.Do(ctx, o, func() (struct{}, error) { return struct{}{}, m.s.Revalidate(ctx, o) })
	return err
}

// Once keeps one result per key. A call during another call with the same key waits
// for its result or error, unless that call is cancelled. Errors are not kept. The
// zero value is ready to use.
type Once[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// Do returns the kept result for key, or the one that ask returns.
func (o *Once[K, V]) Do(ctx context.Context, key K, ask func() (V, error)) (V, error) {
	for {
		c, mine := o.enter(key)
		if mine {
			return o.run(key, c, ask)
		}
		select {
		case <-c.done:
			// The context of the other call ended, not this one: ask again.
			if diag.CodeOf(c.err) != diag.Cancelled && !errors.Is(c.err, errNoAnswer) {
				return c.value, c.err
			}
		case <-ctx.Done():
			var none V
			return none, cancelled(ctx)
		}
	}
}

func (o *Once[K, V]) enter(key K) (c *call[V], mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c = o.calls[key]; c != nil {
		return c, false
	}
	if o.calls == nil {
		o.calls = map[K]*call[V]{}
	}
	c = &call[V]{done: make(chan struct{})}
	o.calls[key] = c
	return c, true
}

// run calls ask. If ask panics, waiting calls see errNoAnswer and ask themselves.
func (o *Once[K, V]) run(key K, c *call[V], ask func() (V, error)) (V, error) {
	c.err = errNoAnswer
	defer func() {
		if c.err != nil {
			o.mu.Lock()
			delete(o.calls, key)
			o.mu.Unlock()
		}
		close(c.done)
	}()
	c.value, c.err = ask()
	return c.value, c.err
}
