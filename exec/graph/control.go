package graph

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/threads/transcript"
)

// StateKilled is the state of a run whose process a person ended by force.
const StateKilled = "killed"

const evKilled = "thread_killed"

// Deepest returns the run that a suspended run waits for: itself, or the run of a graph
// that its node called.
func Deepest(ctx context.Context, project, id string) (*Summary, error) {
	for {
		s, err := Status(ctx, project, id)
		if err != nil || s.State != StateSuspended || s.Child == "" || s.Child == id {
			return s, err
		}
		id = s.Child
	}
}

// Answer writes the answer of a person to an open question of a run. node may be "" if
// only one question is open. The answer is checked first.
func Answer(ctx context.Context, project, id, node, text, by string, now time.Time) error {
	s, err := Deepest(ctx, project, id)
	if err != nil {
		return err
	}
	if len(s.asks) == 0 {
		return diag.New(diag.ThreadState, "answering %s: it has no open question", s.ID).WithReason("no_question").WithDetail("state", s.State)
	}
	q := s.question(node)
	if node == "" && len(s.asks) == 1 {
		q = &s.asks[0]
	}
	if q == nil {
		var open []string
		for _, a := range s.asks {
			open = append(open, a.Node)
		}
		return diag.New(diag.Usage, "answering %s: %q is not an open question; the open ones are %v", s.ID, node, open)
	}
	if q.To == "parent" {
		return diag.New(diag.ThreadState, "answering %s: the question %s is for the thread that started the run", s.ID, q.Node)
	}
	a := &Ask{Choices: q.Choices}
	if q.Schema != nil {
		if a.Schema, _ = schema.Compile(q.Schema); a.Schema == nil {
			return diag.New(diag.TranscriptBroken, "answering %s: the schema of the question is not valid", s.ID)
		}
	}
	v, why := a.Read(text)
	if why != "" {
		return diag.New(diag.ValidationFailed, "answering %s: %q is not an answer: %s", q.Node, text, why)
	}
	return Send(project, s.ID, Message{Kind: "answer", Name: q.Node, Payload: v, By: by}, now)
}

// Mark records that a run that no process runs was cancelled or killed.
func Mark(ctx context.Context, id, state string, p Params) error {
	event := map[string]string{StateCancelled: evCancelled, StateKilled: evKilled}[state]
	log, lines, _, err := transcript.Open(ctx, transcript.Params{Project: p.Project, ID: id, Signer: p.Signer, Now: p.Now, Keys: p.Keys})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s := &Summary{ID: id, State: StateRunning}
	for i := range lines {
		if err := s.add(p.Project, &lines[i]); err != nil {
			return diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
		}
	}
	switch s.State {
	case StateCompleted, StateError, StateCancelled, StateKilled:
		return diag.New(diag.ThreadState, "ending %s: it is %s", id, s.State).WithReason("ended").WithDetail("state", s.State)
	}
	if err := log.Rest(ctx, event, endData{Steps: s.Steps}); err != nil {
		return err
	}
	w := &walker{p: p, log: log}
	if err := w.taken("cancel", ""); err != nil {
		return err
	}
	return w.writeResult(&Result{RunID: id, Status: state, Steps: s.Steps, Errors: []NodeError{}})
}
