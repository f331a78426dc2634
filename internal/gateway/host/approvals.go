package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/tree"
	"github.com/ryeos/rye/threads/waiting"
)

// Approval is an open question of a thread. Its digest is of all other fields: an answer repeats it, so
// that it is for what was shown.
type Approval struct {
	ID        string    `json:"approval_id"`
	Thread    string    `json:"thread"`
	Directive string    `json:"directive"`
	Project   string    `json:"project"`
	CallID    string    `json:"call_id,omitempty" doc:"empty for a question about the thread itself"`
	Question  string    `json:"question" doc:"the whole text that a yes permits"`
	Details   []string  `json:"details" doc:"lines about what the call would use and change"`
	Tier      string    `json:"tier,omitempty"`
	Rule      string    `json:"rule,omitempty"`
	Prefixes  []string  `json:"prefixes"`
	Grants    []string  `json:"grants" doc:"the decisions that permit the call"`
	Since     time.Time `json:"since"`
	Expires   time.Time `json:"expires,omitzero"`
	Elsewhere string    `json:"elsewhere,omitempty" doc:"the command that answers it, if the gateway cannot"`
	Digest    string    `json:"digest"`
}

// seal sets the digest.
func (a *Approval) seal() error {
	a.Digest = ""
	b, err := json.Marshal(a)
	if err != nil {
		return diag.New(diag.Internal, "describing a question: %w", err)
	}
	sum := sha256.Sum256(b)
	a.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// Approvals returns the open questions of all threads of the caller, the oldest first.
func (v *View) Approvals(ctx context.Context) ([]Approval, error) {
	out := []Approval{}
	for _, dir := range v.dirs() {
		p, err := v.h.reading(ctx, dir)
		if err != nil {
			return nil, err
		}
		list, err := waitingIn(ctx, p)
		if err != nil {
			return nil, err
		}
		for i := range list {
			open, err := openOf(ctx, p, &list[i])
			if err != nil {
				return nil, err
			}
			out = append(out, open...)
		}
	}
	return out, nil
}

// ApprovalsOf returns the open questions of one thread.
func (v *View) ApprovalsOf(ctx context.Context, id string) ([]Approval, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	id = endOfChain(p, id)
	w, err := waiting.Of(ctx, p.Spaces.ProjectDir, id)
	if err != nil || w == nil {
		return []Approval{}, err
	}
	t := &control.Entry{
		ID:      id,
		Kind:    "thread",
		Project: p.Spaces.ProjectDir,
		Waiting: w,
	}
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	switch {
	case diag.CodeOf(err) == diag.ThreadNotFound:
		t.Kind = "run"
	case err != nil:
		return nil, err
	default:
		t.Item = s.Directive.Ref
	}
	return openOf(ctx, p, t)
}

// openOf returns the questions of an entry of the list of what waits.
func openOf(ctx context.Context, p *project.Project, t *control.Entry) ([]Approval, error) {
	id := endOfChain(p, t.ID)
	about := Approval{
		Thread:    id,
		Directive: t.Item,
		Project:   p.Spaces.ProjectDir,
		Question:  t.Waiting.Text,
		Details:   []string{},
		Prefixes:  []string{},
		Grants:    []string{},
		Since:     t.Waiting.Since,
		ID:        t.Waiting.ID,
	}
	var out []Approval
	switch {
	case t.Kind == "run":
		// The answer of a node can be a value, for which a terminal has a dialog.
		about.Elsewhere = "rye approve " + id
		out = []Approval{about}
	case t.Waiting.Kind == waiting.Question:
		about.Grants = []string{threads.Once}
		out = []Approval{about}
	default:
		open, err := threads.OpenQuestions(p.Spaces.ProjectDir, id)
		if err != nil {
			return nil, err
		}
		for i := range open {
			out = append(out, ofCall(ctx, p, about, &open[i]))
		}
	}
	for i := range out {
		if err := out[i].seal(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ofCall completes the description of a question about a call.
func ofCall(ctx context.Context, p *project.Project, about Approval, q *threads.OpenQuestion) Approval {
	about.ID = q.ID
	about.CallID = q.CallID
	about.Question = q.Question
	about.Details = threadhost.OpenAsked(ctx, p, about.Thread, q).Details
	about.Tier = q.Tier
	about.Rule = q.Rule
	about.Grants = q.Grants
	about.Since = q.Since
	about.Expires = q.Expires
	if q.Prefixes != nil {
		about.Prefixes = q.Prefixes
	}
	return about
}

// Decision is the answer to a question.
type Decision struct {
	ID       string // of the question
	Digest   string // of the question as the caller saw it
	Decision string
	Feedback string
	Prefix   string // with the decision for prefixes, repeated
	Thread   string
	// May returns an error if the role of the caller does not permit the answer.
	May func(*Approval) error
}

// Decided is an answered question.
type Decided struct {
	Thread   string `json:"thread_id"`
	ID       string `json:"approval_id"`
	Decision string `json:"decision"`
	State    string `json:"state" doc:"of the thread after the answer"`
}

// Decide answers a question and continues a thread that was suspended for it. The first answer of any
// surface is used.
func (v *View) Decide(ctx context.Context, d Decision) (*Decided, error) {
	p, err := v.toAct(ctx, d.Thread)
	if err != nil {
		return nil, err
	}
	id := endOfChain(p, d.Thread)
	a, err := v.asked(ctx, id, d)
	if err != nil {
		return nil, err
	}
	if a.CallID == "" {
		err = v.decideThread(ctx, p, a, d)
	} else {
		err = v.decideCall(ctx, p, a, d)
	}
	if err != nil {
		return nil, err
	}
	now, err := after(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &Decided{
		Thread:   id,
		ID:       a.ID,
		Decision: d.Decision,
		State:    now.State,
	}, nil
}

// asked returns the question that an answer is for.
func (v *View) asked(ctx context.Context, id string, d Decision) (*Approval, error) {
	open, err := v.ApprovalsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range open {
		a := &open[i]
		if a.ID != d.ID {
			continue
		}
		if err := d.May(a); err != nil {
			return nil, err
		}
		// Files can change while a person reads what a call would do to them.
		if a.Digest != d.Digest {
			return nil, diag.New(diag.Conflict, "answering %s: the question changed since it was shown; read it again", id)
		}
		if a.Elsewhere != "" {
			return nil, diag.New(diag.ThreadState, "answering %s: a terminal answers it: %s", id, a.Elsewhere)
		}
		return a, nil
	}
	return nil, diag.New(diag.ThreadState, "answering %s: this question is not open", id).
		WithReason("thread_no_question").
		WithDetail("id", id)
}

func (v *View) decideCall(ctx context.Context, p *project.Project, a *Approval, d Decision) error {
	_, suspended, err := control.DecideCall(
		ctx,
		p,
		a.Thread,
		a.ID,
		threads.Reply{
			Decision: d.Decision,
			Feedback: d.Feedback,
			By:       v.c.By,
		},
		d.Prefix,
	)
	if err != nil || !suspended {
		return err
	}
	_, err = tree.ContinueDetached(ctx, p, a.Thread, "", v.c.By)
	return err
}

func (v *View) decideThread(ctx context.Context, p *project.Project, a *Approval, d Decision) error {
	// The questions of limits and hooks are answered by a yes or a no.
	switch d.Decision {
	case threads.Deny:
		_, err := control.Decline(ctx, p, a.Thread)
		return err
	case threads.Once:
		_, err := tree.ContinueDetached(ctx, p, a.Thread, "", v.c.By)
		return err
	}
	return diag.New(diag.Usage, "answering %s: the answer is once or deny", a.Thread)
}

// Risk returns the class of the risk, 0 without one.
func (a *Approval) Risk() policy.Tier {
	// A question about the thread itself has none.
	t, err := policy.ParseTier(a.Tier)
	if err != nil {
		return 0
	}
	return t
}
