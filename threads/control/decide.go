package control

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
)

// The answers of persons to questions about calls are messages of the inbox.
const AnswerKind = "answer"

// DecisionIn returns the answer to a question of a thread that its inbox has, nil without one.
func DecisionIn(project, id, question string) (*threads.Decision, error) {
	all, err := graph.Inbox(project, id)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.Kind != AnswerKind || m.Name != question {
			continue
		}
		p, _ := m.Payload.(map[string]any)
		d := &threads.Decision{By: m.By}
		d.Decision, _ = p["decision"].(string)
		d.Feedback, _ = p["feedback"].(string)
		text, _ := p["question"].(string)
		if d.Question, err = item.ParseDigest(text); err != nil {
			continue
		}
		d.At, _ = p["at"].(string)
		d.Time, _ = time.Parse(time.RFC3339, m.Time)
		return d, nil
	}
	return nil, nil
}

// DecideCall writes down the answer of a person to a question about a call of a thread. call
// can be "" if one question is open. An answer for prefixes repeats them, separated by ", ".
// It returns the question. goesOn is false if the process of the thread has taken the answer:
// else the thread must be resumed.
func DecideCall(
	ctx context.Context,
	p *project.Project,
	id, call string,
	r threads.Reply,
	prefix string,
) (q *threads.OpenQuestion, goesOn bool, err error) {
	q, err = openQuestion(p, id, call)
	if err != nil {
		return nil, false, err
	}
	switch rule := strings.Join(q.Prefixes, ", "); {
	case r.Decision == threads.ForPrefix && (rule == "" || prefix != rule):
		return nil, false, diag.New(diag.Usage, "answering %s: %q is not the rule that the question offers, which is %q", id, prefix, rule)
	case r.Decision != threads.Deny && !p.Env.Now().Before(q.Expires):
		return nil, false, diag.New(
			diag.ThreadState,
			"answering %s: the question expired at %s, which is a refusal: %s",
			id,
			q.Expires.Format(time.RFC3339),
			q.Question,
		)
	case len(r.Feedback) > maxFeedback:
		return nil, false, diag.New(diag.Usage, "answering %s: the feedback has %d bytes, at most %d", id, len(r.Feedback), maxFeedback)
	}
	payload := map[string]any{"decision": r.Decision, "question": item.DigestOf([]byte(q.Question)).String()}
	if r.Feedback != "" {
		payload["feedback"] = r.Feedback
	}
	if p.Env.Terminal != "" {
		payload["at"] = p.Env.Terminal
	}
	dir := p.Spaces.ProjectDir
	if err := graph.Send(dir, id, graph.Message{
		Kind:    AnswerKind,
		Name:    q.ID,
		Payload: payload,
		By:      cmp.Or(r.By, "person"),
	}, p.Env.Now()); err != nil {
		// A command that was killed before the thread continued has written the same answer.
		first, ierr := DecisionIn(dir, id, q.ID)
		if ierr != nil ||
			first == nil ||
			first.Decision != r.Decision ||
			first.Feedback != r.Feedback {
			return nil, false, errors.Join(err, ierr)
		}
	}
	goesOn, err = decidedNow(ctx, p, id, q, r)
	return q, goesOn, err
}

// maxFeedback bounds what a person writes to a model about a refusal, in bytes.
const maxFeedback = 8 << 10

// openQuestion returns the one open question of a thread, or that about a call.
func openQuestion(p *project.Project, id, call string) (*threads.OpenQuestion, error) {
	open, err := threads.OpenQuestions(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range open {
		q := &open[i]
		if q.ID == call || q.CallID == call || call == "" && len(open) == 1 {
			return q, nil
		}
		names = append(names, open[i].CallID)
	}
	switch {
	case len(open) == 0:
		return nil, diag.New(diag.ThreadState, "answering %s: it asks nothing", id).
			WithReason("thread_no_question").
			WithDetail("id", id)
	case call == "":
		return nil, diag.New(diag.Usage, "answering %s: several calls wait; name one: %s", id, strings.Join(names, ", "))
	}
	return nil, diag.New(diag.Usage, "answering %s: no call %q waits; those that wait: %s", id, call, strings.Join(names, ", "))
}

// decidedNow waits until the process of a thread, if there is one, has taken an answer.
func decidedNow(
	ctx context.Context,
	p *project.Project,
	id string,
	q *threads.OpenQuestion,
	want threads.Reply,
) (goesOn bool, err error) {
	dir := p.Spaces.ProjectDir
	for end := time.Now().Add(AnswerWait); ; {
		running := graph.Owner(ctx, dir, id) >= 0
		got, err := threads.ReplyTo(dir, id, q.ID)
		switch {
		case err != nil:
			return false, err
		case got != nil && (got.Decision != want.Decision || got.Feedback != want.Feedback):
			return false, diag.New(diag.ThreadState, "answering %s: the question was answered before, by %s: %s", id, got.By, got.Decision).
				WithReason("ended")
		case got != nil && running:
			return false, nil
		case got != nil: // its process took the answer and has ended: only one that was killed continues here
			s, err := threads.ReadStarted(dir, id)
			return err == nil && s.State == threads.Running, err
		case !running:
			return true, nil
		case time.Now().After(end):
			return false, diag.New(diag.Timeout, "answering %s: its process has not taken the answer after %s; it reads it before the question expires", id, AnswerWait)
		}
		if err := Pause(ctx, LookPause); err != nil {
			return false, err
		}
	}
}
