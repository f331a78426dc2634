package server

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// Limits of the requests that are in progress at one time. Strangers, who bind keys and send
// reports, have their own, so that they do not delay the keys of namespaces.
const (
	maxKnown     = 16 // each may have a body of 64 MiB
	maxStrangers = 64 // each may have a body of 256 KiB
	maxPages     = 4  // that read an archive
)

// maxJudged is the number of bundles that are judged at one time.
func maxJudged() int {
	return max(2, runtime.NumCPU())
}

// enter takes a slot, and returns the function that releases it.
func (s *Server) enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	leave = func() { <-slots }
	select {
	case slots <- struct{}{}: // also if the timer would have run out by now
		return leave, nil
	default:
	}
	wait := time.NewTimer(s.slotTime)
	defer wait.Stop()
	select {
	case slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-wait.C:
		return nil, rules.Unavailable("accepting the request", errors.New("too many requests are in progress"))
	}
}

// admitRequest checks the statement of a request before its body is received: 64 MiB are
// for keys that may publish only. known reports whether a key of the namespace signed it.
// Such a request depends on the quota of its key alone: strangers, or others behind the same
// proxy, cannot use that up.
func (s *Server) admitRequest(
	ctx context.Context,
	h *http.Request,
	endpoint string,
) (st *wire.Signed, known bool, err error) {
	perHour := s.config.Limits.WritesPerHour
	now := s.p.Now()
	if st, err = wire.ParseHeader(h.Header.Get(wire.StatementHeader)); err == nil {
		err = st.Check(s.host, endpoint, now)
	}
	if err == nil {
		if err = s.signer(ctx, s.snapshot(), &request{statement: st, now: now}, namespaceOf(st), endpoint); err == nil {
			return st, true, s.meta.admit(ctx, "", quota{"write " + wire.KeyText(st.Key), perHour, time.Hour, "requests by this key"})
		}
		if endpoint == wire.Endpoint(wire.ActionBind) && diag.Typed(err).Code != diag.RegistryError {
			err = nil // bind judges the key by the document in the body
		}
	}
	limited := s.meta.admit(ctx, "", quota{"write " + addressOf(h), perHour, time.Hour, "requests from this address"})
	if limited != nil {
		return nil, false, limited
	}
	return st, false, err
}

// namespaceOf returns the namespace that a statement is about.
func namespaceOf(st *wire.Signed) string {
	if id, err := wire.ParseID(st.ID); err == nil {
		return id.NS
	}
	return st.ID
}
