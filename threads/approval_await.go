package threads

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// await waits for the first answer: from the person who is present, or of another process.
// After the time of the question, if it has one, it is refused. The time of the thread does not
// pass meanwhile.
func (t *Thread) await(ctx context.Context, a *asked, q *Question) (*Reply, error) {
	type said struct {
		reply Reply
		err   error
	}
	defer t.Hold()()
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := make(chan said, 1)
	go func() {
		r, err := q.Ask(within)
		answered <- said{r, err}
	}()
	tick := time.NewTicker(inboxPause)
	defer tick.Stop()
	var over <-chan time.Time
	if q.Timeout > 0 {
		timer := time.NewTimer(min(q.Timeout, max(
			a.expires().Sub(t.p.Now()),
			time.Second,
		)))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err() // the question stays open
		case <-over:
			return t.resolve(ctx, a, &Reply{Decision: Deny, By: ByTimeout})
		case s := <-answered:
			if ctx.Err() != nil || diag.CodeOf(s.err) == diag.Cancelled {
				return nil, errors.Join(s.err, ctx.Err())
			}
			if errors.Is(s.err, ErrLeft) {
				return nil, s.err
			}
			if s.err != nil {
				_, err := t.resolve(ctx, a, &Reply{Decision: Deny, By: byNobody})
				return nil, errors.Join(s.err, err)
			}
			if r, err := t.answerOf(a); r != nil && err == nil {
				return t.resolve(ctx, a, r) // it was given first
			}
			if s.reply.Decision != Deny && !slices.Contains(a.Grants, s.reply.Decision) {
				s.reply = Reply{Decision: Deny, By: s.reply.By} // an answer that was not offered
			}
			return t.resolve(ctx, a, &s.reply)
		case <-tick.C:
			if t.leftBy(a) {
				return nil, errors.Join(ErrLeft, t.takeAnswer(a.ID))
			}
			r, err := t.answerOf(a)
			if err != nil {
				return nil, err
			}
			if r != nil {
				cancel(t.elsewhere(a, r))
				<-answered // the surface has drawn its last line
				return t.resolve(ctx, a, r)
			}
		}
	}
}

// leftBy reports whether the person who is asked by another process left.
func (t *Thread) leftBy(a *asked) bool {
	if t.p.Decided == nil {
		return false
	}
	d, err := t.p.Decided(a.ID)
	return err == nil &&
		d != nil &&
		d.Decision == LeftOpen &&
		d.Question == item.DigestOf([]byte(a.Summary))
}

// elsewhere describes an answer in the inbox for the person who was asked here.
func (t *Thread) elsewhere(a *asked, r *Reply) error {
	e := &Elsewhere{Reply: *r}
	d, err := t.p.Decided(a.ID)
	if err == nil && d != nil {
		e.At = d.At
	}
	return e
}

// Hold stops the time of the thread until the function that it returns is called.
func (t *Thread) Hold() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds++; t.holds == 1 {
		t.heldSince = t.p.Now()
		if t.limit != nil {
			t.limit.Stop()
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.holds--; t.holds > 0 {
			return
		}
		t.held += t.p.Now().Sub(t.heldSince)
		if t.limit != nil {
			t.limit.Reset(max(t.timeLeft(), 0))
		}
	}
}

// timeLeft returns the time that the thread may still work.
func (t *Thread) timeLeft() time.Duration {
	return time.Duration(t.p.Limits.DurationSeconds)*time.Second - t.elapsed()
}
