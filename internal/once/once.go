// Package once remembers facts in a process: a value is found once for each key, also if several
// goroutines need it at the same time.
//
// It does not write to disk, and does not expire values: a caller that reads files again when
// they change passes the condition, for example a filestamp.Set.
package once

import (
	"context"
	"errors"
	"sync"

	"github.com/ryeos/rye/diag"
)

// Map has one value for each key. The zero value is empty and ready to use. It must not be
// copied after its first use.
type Map[K comparable, V any] struct {
	// Max bounds the keys: a further one removes all others. 0 is no limit, for a map that lives
	// as long as one command.
	Max int

	mu    sync.Mutex
	calls map[K]*call[V]
}

// call is the search for a value and its result.
type call[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error

	former *call[V] // the one that it replaces, during the search
}

// errPanic is the error of a search that did not return.
var errPanic = errors.New("the search for the value did not return")

// Fact is how a value is found and how long it is used.
type Fact[V any] struct {
	// Find gets the former value, the zero value at first. The former one is kept for the next
	// call if Find fails.
	Find func(former V) (V, error)
	// Valid reports whether a value may be used. nil: always.
	Valid func(V) bool
}

// Get returns the value of a key, from find if it is not known. During a search for the same key
// it waits for the value or the error, unless the search is cancelled. Errors are not remembered.
func (m *Map[K, V]) Get(
	ctx context.Context, key K, find func() (V, error),
) (V, error) {
	return m.GetFact(ctx, key, Fact[V]{
		Find: func(V) (V, error) {
			return find()
		},
	})
}

// GetFact is Get for a value that is not always valid.
func (m *Map[K, V]) GetFact(
	ctx context.Context, key K, f Fact[V],
) (V, error) {
	mine := &call[V]{
		done: make(chan struct{}),
	}
	for {
		c := m.enter(key, mine)
		if c == mine {
			m.search(key, c, f)
			return c.value, c.err
		}
		err := c.wait(ctx)
		if err != nil {
			var none V
			return none, err
		}
		switch {
		case c.err != nil:
			if !ofOneCaller(c.err) {
				return c.value, c.err
			}
		case f.Valid == nil || f.Valid(c.value):
			return c.value, nil
		default:
			// The search may have begun before a change that this caller knows of.
			mine.former = c
		}
	}
}

// ofOneCaller reports whether an error is not the result for others: the context of the caller
// that searched ended, or its search panicked.
func ofOneCaller(err error) bool {
	if diag.CodeOf(err) == diag.Cancelled {
		return true
	}
	return errors.Is(err, errPanic)
}

// Forget removes the value of a key.
func (m *Map[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, key)
}

// enter returns the call for a key. If there is none, or only the one that mine replaces, it is mine,
// and the caller has to search.
func (m *Map[K, V]) enter(key K, mine *call[V]) *call[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.calls[key]
	if known != nil && known != mine.former {
		return known
	}
	if known == nil {
		m.bound()
	}
	if m.calls == nil {
		m.calls = map[K]*call[V]{}
	}
	m.calls[key] = mine
	return mine
}

// bound makes room for a key.
func (m *Map[K, V]) bound() {
	if m.Max > 0 && len(m.calls) >= m.Max {
		// To find the oldest would cost more than to search for the others again.
		clear(m.calls)
	}
}

// search finds the value. If that panics, waiting calls search themselves.
func (m *Map[K, V]) search(
	key K,
	c *call[V],
	f Fact[V],
) {
	var former V
	if c.former != nil {
		former = c.former.value
	}
	c.err = errPanic
	defer func() {
		// The next call must not find a failed search, so it is removed before the waiting ones
		// continue.
		if c.err != nil {
			m.undo(key, c)
		}
		c.former = nil
		close(c.done)
	}()
	c.value, c.err = f.Find(former)
}

// undo replaces a call without a value by the one before it, unless it was forgotten.
func (m *Map[K, V]) undo(key K, c *call[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[key] != c {
		return
	}
	delete(m.calls, key)
	if c.former != nil {
		m.calls[key] = c.former
	}
}

// wait returns when the search has ended, or with an error if the context ends before.
func (c *call[V]) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return diag.New(diag.Cancelled, "waiting for a value: %w", context.Cause(ctx))
	}
}
