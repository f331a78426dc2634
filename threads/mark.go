package threads

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Orphaned is the reason of a thread whose process was stopped.
const Orphaned = "orphaned"

// Mark records the end of a thread that no process runs: state is Cancelled or Killed if
// a person ended it, and Failed if its process was stopped. In the latter case the account
// of a thread that had ended by itself before is closed. A request without an answer is paid in full, as when the thread is
// resumed. Of the functions of Params, Account and Keys are needed.
func Mark(ctx context.Context, id, state string, p Params) error {
	t := newThread(id, p)
	log, lines, _, err := transcript.Open(ctx, t.logParams())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	t.log = log
	if !IsThread(lines) {
		return diag.New(diag.ThreadNotFound, "ending %s: it is not a thread", id).
			WithReason("no_thread").
			WithDetail("id", id)
	}
	s, err := summarize(p.Project, id, lines)
	if err != nil {
		return err
	}
	switch {
	case s.State == Running || s.State == Suspended && state != Failed:
	case state == Failed && s.State == Suspended: // it was stopped before the registry had the rest
		if t.money, err = p.Account(ctx, id, s.Limits.Spend); err != nil {
			return err
		}
		return t.money.Pause(ctx, s.Suspended.Reason)
	case state == Failed && s.State == Continued: // it was stopped before the next thread of the chain had a log
		if t.money, err = p.Account(ctx, id, s.Limits.Spend); err != nil {
			return err
		}
		return errors.Join(
			t.money.Recover(ctx, func(string) bool { return true }),
			t.money.Release(ctx, Failed, Orphaned),
		)
	case state == Failed && s.State != Suspended: // it was stopped before it closed the account
		if t.money, err = p.Account(ctx, id, s.Limits.Spend); err != nil {
			return err
		}
		return errors.Join(
			t.money.Recover(ctx, func(string) bool { return true }),
			t.money.Release(ctx, s.State, restReason(s.State, s.Error)),
		)
	default:
		return diag.New(diag.ThreadState, "ending %s: it is %s", id, s.State).
			WithReason("ended").
			WithDetail("state", s.State)
	}
	text, err := t.unanswered(lines)
	if err != nil {
		return err
	}
	if t.money, err = p.Account(ctx, id, s.Limits.Spend); err != nil {
		return err
	}
	if err := t.settleOpen(ctx); err != nil {
		return errors.Join(err, t.money.Release(context.WithoutCancel(ctx), Failed, ""))
	}
	r := &Result{
		ThreadID: id,
		Status:   state,
		Text:     text,
		Model:    s.Model,
		Cost:     s.Cost,
	}
	r.Cost.Spend = r.Cost.Spend.Plus(t.spent)
	r.Cost.DurationMS = transcript.Active(lines, evStarted).Milliseconds()
	ended := diag.New(diag.Cancelled, "running %s: %s by a person", s.Directive.Ref, state)
	if state == Failed {
		ended = diag.New(diag.ThreadState, "running %s: orphaned: its process was stopped; rye threads resume continues it", s.Directive.Ref)
	}
	r.Error = failureOf(ended.WithReason("thread_resume").WithDetail("thread_id", id))
	return t.rest(ctx, r)
}

// IsThread reports whether a log belongs to a thread, not to a graph.
func IsThread(lines []transcript.Line) bool {
	return len(lines) > 0 && lines[0].Event == evStarted
}

// unanswered finds the requests without an answer, and the text of the last answer.
func (t *Thread) unanswered(lines []transcript.Line) (text string, err error) {
	for i := range lines {
		event := lines[i].Event
		if event != evRequest && event != evResponse && event != evError {
			continue
		}
		var d struct {
			requestData
			Blocks []message.Block `json:"blocks"`
			Aside  bool            `json:"aside"`
		}
		data, err := dataOf(t.p.Project, t.id, &lines[i])
		if err == nil {
			err = into(data, &d)
		}
		if err != nil {
			return "", diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", t.id, lines[i].Seq, err)
		}
		if event == evRequest {
			t.open[d.Reservation] = reservation{amount: d.Reserved, key: d.Key, data: d.requestData}
			t.sent[d.Reservation] = true
			continue
		}
		t.answers(d.Turn, d.Attempt)
		if event == evResponse && !d.Aside {
			text = (&message.Response{Blocks: d.Blocks}).Text()
		}
	}
	return text, nil
}

// notThread is the error for a log that does not begin as the log of a thread does.
func notThread(id string, lines []transcript.Line) error {
	if len(lines) > 0 {
		return diag.New(diag.ThreadNotFound, "reading %s: it is a run of a graph, not a thread", id).
			WithReason("run_of_graph").
			WithDetail("id", id)
	}
	return diag.New(diag.ThreadNotFound, "reading %s: its log has no line", id).
		WithReason("no_thread").
		WithDetail("id", id)
}
