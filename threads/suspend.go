package threads

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/transcript"
)

// The reasons of a suspension.
const (
	ByHook      = "hook"
	ByRequest   = "request"
	ByRateLimit = "rate_limit"
	ByApproval  = "approval" // a call waits for the answer of a person
)

// Suspension states why a thread is suspended, and what wakes it.
type Suspension struct {
	Reason string        `json:"reason"`
	WakeAt string        `json:"wake_at,omitempty"` // when the cause is over, if the thread waits for a time
	Ask    *Ask          `json:"ask,omitempty"`
	Node   string        `json:"resume,omitempty"` // of the loop, at which the thread continues
	Wait   time.Duration `json:"-"`
}

// Ask is a question whose answer the thread waits for: it continues, or it ends.
// After a limit, a yes is suspended again at the same limit: only resume --limit raises it.
type Ask struct {
	ID       string `json:"id"`
	To       string `json:"to"` // person, or parent
	Question string `json:"question"`
	By       string `json:"by,omitempty"`    // the hook
	Limit    string `json:"limit,omitempty"` // the limit that the question is about
}

// suspendedData are the data of thread_suspended.
type suspendedData struct {
	*Suspension
	Cost Cost   `json:"cost"`
	Text string `json:"text,omitempty"`
}

// suspended takes the suspension in which the loop ended.
// The thread of a node ends with APPROVAL_REQUIRED instead, and the run continues it: a run
// cannot wait for an answer to its thread.
func (t *Thread) suspended(r *Result, s *Suspension) error {
	if s == nil {
		s = &Suspension{Reason: ByRequest}
	}
	if t.p.NoSuspend {
		why := "the thread would be suspended"
		if s.Ask != nil {
			why = s.Ask.Question
		}
		return diag.New(diag.ApprovalRequired, "%s", why).WithDetail("reason", s.Reason)
	}
	if s.Wait > 0 {
		s.WakeAt = t.p.Now().Add(s.Wait).UTC().Format(time.RFC3339)
	}
	if s.Ask != nil && s.Ask.ID == "" {
		s.Ask.ID = t.id + "/" + strconv.FormatInt(t.log.Seq()+1, 10)
	}
	r.Status = Suspended
	r.Suspended = s
	return nil
}

// pause records that the thread is suspended. Its account stays open: its reservations are
// not free for others.
func (t *Thread) pause(ctx context.Context, r *Result) error {
	raw, err := t.clean(suspendedData{r.Suspended, r.Cost, r.Text})
	if err != nil {
		return err
	}
	if err := t.log.Rest(ctx, evSuspended, raw); err != nil {
		return err
	}
	return t.money.Pause(ctx, r.Suspended.Reason)
}

// suspension returns the suspension that the last line of a log states, nil if the thread was
// not suspended.
func suspension(lines []transcript.Line) (*Suspension, error) {
	for i := len(lines) - 1; i >= 0; i-- {
		switch lines[i].Event {
		case "checkpoint", evAnswered: // the process can be killed between an answer and what follows
			continue
		case evSuspended:
			s := &suspendedData{Suspension: &Suspension{}}
			err := into(lines[i].Data, s)
			return s.Suspension, err
		}
		return nil, nil
	}
	return nil, nil
}

// ResumeNode returns the node of the loop at which a suspended thread continues, "" if the
// log does not state one.
// A hook of before_model would otherwise suspend the thread again.
func ResumeNode(lines []transcript.Line) string {
	// A process that was killed before its walk began has recorded lines after the rest.
	for i := len(lines) - 1; i >= 0 && lines[i].Event != "graph_started"; i-- {
		if lines[i].Event != evSuspended {
			continue
		}
		s, err := suspension(lines[:i+1])
		if err != nil || s == nil {
			return ""
		}
		return s.Node
	}
	return ""
}

// declined reports whether a person refused what a thread asked, and its process was killed
// before the end was recorded.
func declined(lines []transcript.Line) bool {
	var last answeredData
	s, err := suspension(lines)
	return err == nil &&
		s != nil &&
		into(lines[len(lines)-1].Data, &last) == nil &&
		last.Decision == "deny"
}

// accept records that a person continues a suspended thread.
// With headless: suspend no person is waited for before. An answer later than
// suspended_timeout_seconds is refused.
func (t *Thread) accept(ctx context.Context, lines []transcript.Line) error {
	s, err := suspension(lines)
	if err != nil || s == nil || s.Ask == nil || s.Reason == ByApproval { // the call reads its answer itself
		return err
	}
	return t.record(ctx, true, evAnswered, answeredData{ID: s.Ask.ID, Decision: "once", By: t.resumedBy()})
}

// Decline records that a person refused what a suspended thread asks for: it ends with
// APPROVAL_DENIED. Of the functions of Params, Account and Keys are needed.
func Decline(ctx context.Context, id string, p Params) (*Result, error) {
	t := newThread(id, p)
	log, lines, _, err := transcript.Open(ctx, t.logParams())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	t.log = log
	s, err := suspension(lines)
	if err != nil {
		return nil, err
	}
	if !IsThread(lines) || s == nil || s.Ask == nil || s.Reason == ByApproval {
		return nil, diag.New(diag.ThreadState, "answering %s: it asks nothing", id).
			WithReason("thread_no_question").
			WithDetail("id", id)
	}
	sum, err := summarize(p.Project, id, lines)
	if err != nil {
		return nil, err
	}
	if t.money, err = p.Account(ctx, id, sum.Limits.Spend); err != nil {
		return nil, err
	}
	err = t.record(ctx, true, evAnswered, answeredData{ID: s.Ask.ID, Decision: "deny", By: "person"})
	if err != nil {
		return nil, errors.Join(err, t.money.Pause(ctx, s.Reason))
	}
	r := &Result{
		ThreadID: id,
		Status:   Failed,
		Text:     sum.Text,
		Model:    sum.Model,
		Cost:     sum.Cost,
	}
	refused := diag.New(diag.ApprovalDenied, "running %s: a person refused: %s", sum.Directive.Ref, s.Ask.Question).
		WithDetail("thread_id", id)
	r.Error = failureOf(refused)
	if err := t.rest(ctx, r); err != nil {
		return nil, err
	}
	return r, refused
}
