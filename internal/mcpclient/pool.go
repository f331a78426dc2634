package mcpclient

import (
	"context"
	"sync"

	"github.com/ryeos/rye/diag"
)

// Pool keeps one session per server until Close, so that a server starts once. The
// zero value is an empty pool.
type Pool struct {
	mu     sync.Mutex
	slots  map[string]*slot
	closed bool
}

// slot is the session of one server. Only the owner of the token may access it.
type slot struct {
	token   chan struct{}
	session *Session
}

// Get returns the live session under key, or opens one with dial. Concurrent calls
// with the same key wait and get the same session.
func (p *Pool) Get(
	ctx context.Context,
	key string,
	dial func(context.Context) (*Session, error),
) (*Session, error) {
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
	if p.isClosed() { // Close did not see this session
		session.Close()
		return nil, errClosed()
	}
	s.session = session
	return session, nil
}

func errClosed() error {
	return diag.New(diag.Cancelled, "reaching an MCP server: rye is ending")
}

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

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close ends every session in parallel. Get returns an error afterwards.
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
