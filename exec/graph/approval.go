package graph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Approval is what a dispatcher and a run exchange about a call that a person must
// approve, if no person can be asked during the call.
type Approval struct {
	// Given is the question that a person has answered with once, "" without one. The
	// dispatcher approves a call only if it asks exactly this.
	Given string
	// Needed is set by the dispatcher if the call was refused for want of an answer and
	// the run shall wait for one.
	Needed *ApprovalNeed
}

// ApprovalNeed is the question about a call, and how long it stays open.
type ApprovalNeed struct {
	Question string
	Timeout  time.Duration
	Tier     string             // the class of the risk of the call
	Rule     string             // why a person is asked
	Change   *policy.FileChange // that the call makes in files, nil without one
}

// The answers to the question about a call.
const (
	Once = "once"
	Deny = "deny"
)

// approval is the state of the question about one call of a node in flight.
// A run has no other store: the row is ask_opened in its log, the answer is in the inbox. It is
// bound to the text of the question, which contains the command; another text asks again.
type approval struct {
	ask    *askData
	answer *answerData
}

// approvalName names the question about a call: the node, and the index of an item.
func (in invocation) approvalName() string {
	if in.index >= 0 && len(in.more) > 0 {
		return fmt.Sprintf("%s#%d", in.name, in.index)
	}
	return in.name
}

// isAbout reports whether the question name is about a call of a node.
func isAbout(name, node string) bool {
	rest, ok := strings.CutPrefix(name, node)
	return ok && (rest == "" || rest[0] == '#' || rest[0] == '.')
}

// approved returns the decision about a call that asked before. Without a decision the
// run stays suspended.
func (w *walker) approved(ctx context.Context, in invocation) (*Approval, error) {
	name := in.approvalName()
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.approvals[name]
	if a == nil {
		return &Approval{}, nil
	}
	if a.answer == nil {
		if err := w.decide(ctx, name, a); err != nil {
			return nil, err
		}
	}
	switch {
	case a.answer == nil && w.p.Present:
		return &Approval{}, nil // the dispatcher asks the person
	case a.answer == nil:
		expires, _ := time.Parse(time.RFC3339Nano, a.ask.Expires)
		return nil, &Suspension{Reason: "approval", Nodes: []string{name}, WakeAt: expires}
	case a.answer.Answer != any(Once):
		return nil, diag.New(diag.ApprovalDenied, "%s: refused by %s", a.ask.Question, a.answer.By)
	}
	return &Approval{Given: a.ask.Question}, nil
}

// decide records the answer in the inbox, or the refusal after the timeout.
func (w *walker) decide(ctx context.Context, name string, a *approval) error {
	m, err := w.inbox(kindAnswer, name)
	if err != nil {
		return fatal{err}
	}
	expires, _ := time.Parse(time.RFC3339Nano, a.ask.Expires)
	d := &answerData{Node: name, Time: w.p.Now().UTC().Format(time.RFC3339)}
	switch {
	case m != nil:
		d.Answer = m.Payload
		d.By = m.By
	case !w.p.Now().Before(expires):
		d.Answer = Deny
		d.By = "timeout"
	default:
		return nil
	}
	if err := w.log.Commit(ctx, evAnswer, d); err != nil {
		return fatal{err}
	}
	a.answer = d
	if err := w.taken(kindAnswer, name); err != nil {
		return fatal{err}
	}
	return nil
}

// needsApproval records the question about a call and suspends the run.
func (w *walker) needsApproval(ctx context.Context, in invocation, need *ApprovalNeed) error {
	name := in.approvalName()
	expires := w.p.Now().Add(need.Timeout).UTC()
	d := &askData{
		Node:     name,
		Question: need.Question,
		Choices:  []string{Once, Deny},
		Expires:  expires.Format(time.RFC3339Nano),
		To:       "person",
		Approval: true,
		Tier:     need.Tier,
		Rule:     need.Rule,
		Change:   need.Change,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.approvals[name]
	if a != nil && a.answer == nil && a.ask.Question == need.Question {
		expires, _ = time.Parse(time.RFC3339Nano, a.ask.Expires)
		return &Suspension{Reason: "approval", Nodes: []string{name}, WakeAt: expires} // it is open already
	}
	if err := w.log.Commit(ctx, evAsk, d); err != nil {
		return fatal{err}
	}
	w.approvals[name] = &approval{ask: d}
	return &Suspension{Reason: "approval", Nodes: []string{name}, WakeAt: expires}
}
