package mcpclient

import (
	"context"
	"sync"

	"github.com/ryeos/rye/diag"
)

// Pool keeps one session per server for as long as this process works, so that a
// server starts once. Its zero value is empty and ready.
type Pool struct {
	mu     sync.Mutex
	slots  map[string]*slot
	closed bool
}

// slot holds the session of one server; who holds its token may look at it.
type slot struct {
	token   chan struct{}
	session *Session
}

// Get returns the live session under key, or begins one with dial. Whoever asks
// for the same key meanwhile waits and gets the same.
func (p *Pool) Get(ctx context.Context, key string, dial func(context.Context) (*Session, error)) (*Session, error) {
	s, err := p.slot(key)
	if err != nil {
		return nil, err
	}
	select {
	case s.token <- struct{}{}:
	case <-ctx.Done():
		return nil, diag.New(diag.Cancelled, "waiting for an MCP server: %w", ctx.Err())
	}
	defer func() { <-s.token }()
	if s.session != nil && s.session.Alive() {
		return s.session, nil
	}
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
	session, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if p.over() { // closed meanwhile: nobody would end it
		session.Close()
		return nil, errClosed()
	}
	s.session = session
	return session, nil
}

func errClosed() error { return diag.New(diag.Cancelled, "reaching an MCP server: rye is ending") }

func (p *Pool) slot(key string) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed()
	}
	if p.slots == nil {
		p.slots = map[string]*slot{}
	}
	s := p.slots[key]
	if s == nil {
		s = &slot{token: make(chan struct{}, 1)}
		p.slots[key] = s
	}
	return s, nil
}

func (p *Pool) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close ends every session, side by side, and lets none begin any more.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	slots := p.slots
	p.slots = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range slots {
		wg.Go(func() {
			s.token <- struct{}{}
			defer func() { <-s.token }()
			if s.session != nil {
				s.session.Close()
			}
		})
	}
	wg.Wait()
}
