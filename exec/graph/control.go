package graph

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/threads/inbox"
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

// Called is a run or a thread that a node of a run, or of a run below it, called.
type Called struct {
	ID     string
	Thread bool
}

// Below returns the runs of graphs and the threads that the nodes of a run called, and
// those that these called, the lowest first.
func Below(project, id string) ([]Called, error) {
	ids, err := IDs(project)
	if err != nil {
		return nil, err
	}
	called := map[string][]Called{}
	for _, other := range ids {
		if timeOf(other) < timeOf(id) {
			continue // a run starts after the one that calls it
		}
		if parent, thread := parentOf(project, other); parent != "" {
			called[parent] = append(called[parent], Called{other, thread})
		}
	}
	var out []Called
	var add func(string)
	add = func(id string) {
		for _, c := range called[id] {
			add(c.ID)
			out = append(out, c)
		}
	}
	add(id)
	return out, nil
}

// timeOf returns the part of an id that states when the run was begun.
func timeOf(id string) string {
	return id[len(id)-26 : len(id)-16]
}

// parentOf returns the run that called a run or a thread, "" if no run did or its log
// cannot be read.
func parentOf(project, id string) (parent string, thread bool) {
	l, err := transcript.First(project, id)
	if err != nil || l == nil || l.Event != evStarted && l.Event != evThread {
		return "", false
	}
	var d struct {
		Parent string `json:"parent"`
	}
	data, err := dataOf(project, id, l)
	if err != nil || jsonx.Decode(data, &d) != nil {
		return "", false
	}
	return d.Parent, l.Event == evThread
}

// Answer writes the answer of a person to an open question of a run, and returns it
// with the run and the node that ask. node may be "" if only one question is open. The answer
// is checked first.
func Answer(
	ctx context.Context,
	project, id, node, text, by string,
	now time.Time,
) (run, question string, answer any, err error) {
	return answerQuestion(ctx, project, id, node, text, by, now, false)
}

// Decide is Answer for the question about a call: the decision is Once or Deny.
func Decide(
	ctx context.Context,
	project, id, node, decision, by string,
	now time.Time,
) (run, question string, answer any, err error) {
	return answerQuestion(ctx, project, id, node, decision, by, now, true)
}

func answerQuestion(
	ctx context.Context,
	project, id, node, text, by string,
	now time.Time,
	approval bool,
) (run, question string, answer any, err error) {
	s, q, err := openQuestion(ctx, project, id, node, approval)
	if err != nil {
		return "", "", nil, err
	}
	a := &graphdef.Ask{Choices: q.Choices}
	if q.Schema != nil {
		if a.Schema, _ = schema.Compile(q.Schema); a.Schema == nil {
			return "", "", nil, diag.New(diag.TranscriptBroken, "answering %s: the schema of the question is not valid", s.ID)
		}
	}
	v, why := a.Read(text)
	if why != "" {
		return "", "", nil, diag.New(diag.ValidationFailed, "answering %s: %q is not an answer: %s", q.Node, text, why)
	}
	if err := Send(project, s.ID, Message{
		Kind:    kindAnswer,
		Name:    q.Node,
		Payload: v,
		By:      by,
	}, now); err != nil {
		return s.ID, q.Node, v, err
	}
	return s.ID, q.Node, v, late(
		ctx,
		project,
		id,
		s.ID,
		q.Node,
		approval,
	)
}

// late returns an error if the run took another answer before this one was written: the question
// is closed, and the answer is still in the inbox, where a later question would find it.
// The rule for events (the newest of one name) would let a late answer replace one that was
// accepted.
func late(ctx context.Context, project, id, run, node string, approval bool) error {
	s, err := Deepest(ctx, project, id)
	if err != nil ||
		s.ID != run ||
		slices.ContainsFunc(s.questions, func(a askData) bool {
			return a.Node == node &&
				a.Approval == approval
		}) {
		return nil // it is written, and the run reports the error of its log
	}
	removed, err := untaken(project, run, node)
	if err != nil || !removed {
		return err
	}
	return diag.New(diag.ThreadState, "answering %s: %s was answered by another process", run, node).
		WithReason("answered").
		WithDetail("run_id", run)
}

// openQuestion returns the open question of a run, or of the run that it waits for. An
// approval is a question about a call.
func openQuestion(ctx context.Context, project, id, node string, approval bool) (*Summary, *askData, error) {
	s, err := Deepest(ctx, project, id)
	if err != nil {
		return nil, nil, err
	}
	all := slices.Clone(s.questions)
	s.questions = slices.DeleteFunc(s.questions, func(a askData) bool {
		return a.Approval != approval
	})
	if len(s.questions) == 0 && len(all) > 0 {
		return nil, nil, otherKind(s.ID, all[0])
	}
	if len(s.questions) == 0 {
		return nil, nil, diag.New(diag.ThreadState, "answering %s: it has no open question", s.ID).
			WithReason("no_question").
			WithDetail("state", s.State)
	}
	q := s.question(node)
	if node == "" && len(s.questions) == 1 {
		q = &s.questions[0]
	}
	if q == nil {
		var open []string
		for _, a := range s.questions {
			open = append(open, a.Node)
		}
		return nil, nil, diag.New(diag.Usage, "answering %s: %q is not an open question; the open ones are %v", s.ID, node, open)
	}
	if q.To == "parent" {
		return nil, nil, diag.New(diag.ThreadState, "answering %s: the question %s is for the thread that started the run", s.ID, q.Node)
	}
	return s, q, nil
}

// otherKind is the error about an answer whose kind does not fit the open question of a run.
func otherKind(run string, open askData) error {
	about := "is about a call, which is approved or denied"
	reason := "asks_call"
	if !open.Approval {
		about = "needs a value, not an approval"
		reason = "asks_value"
	}
	return diag.New(diag.ThreadState, "answering %s: the open question of the node %s %s", run, open.Node, about).
		WithReason(reason).WithDetail("id", run).WithDetail("node", open.Node)
}

// Answered reports whether a run has taken the answer in its inbox, and returns the
// newest recorded answer to that question.
func Answered(project, run, node string) (taken bool, answer any, by string, err error) {
	list, err := inbox.List(project, run)
	if err != nil {
		return false, nil, "", err
	}
	for _, m := range list {
		if m.Kind == kindAnswer && m.Name == node {
			return false, nil, "", nil
		}
	}
	lines, err := transcript.Read(project, run)
	if err != nil {
		return false, nil, "", err
	}
	for i := range lines {
		var d answerData
		if lines[i].Event != evAnswer {
			continue
		}
		data, err := dataOf(project, run, &lines[i])
		if err == nil && jsonx.Decode(data, &d) == nil && d.Node == node {
			answer = d.Answer
			by = d.By
		}
	}
	return true, answer, by, nil
}

// Mark records that a run that no process runs was cancelled or killed. A log without a line
// is not the log of a run.
func Mark(ctx context.Context, id, state string, p Params) error {
	event := map[string]string{StateCancelled: evCancelled, StateKilled: evKilled}[state]
	log, lines, _, err := transcript.Open(ctx, transcript.Params{
		Project: p.Project,
		ID:      id,
		Signer:  p.Signer,
		Now:     p.Now,
		Keys:    p.Keys,
		Heads:   p.Heads,
	})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if len(lines) == 0 || event == "" {
		return diag.New(diag.ThreadNotFound, "ending %s: its log has no line", id).
			WithReason("no_run").
			WithDetail("id", id)
	}
	s := &Summary{ID: id, State: StateRunning}
	for i := range lines {
		err := s.add(p.Project, &lines[i])
		if err != nil {
			return diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
		}
	}
	switch s.State {
	case StateCompleted, StateError, StateCancelled, StateKilled:
		return diag.New(diag.ThreadState, "ending %s: it is %s", id, s.State).
			WithReason("ended").
			WithDetail("state", s.State)
	}
	err = log.Rest(ctx, event, endData{Steps: s.Steps})
	if err != nil {
		return err
	}
	w := &walker{p: p, log: log}
	if err := w.taken("cancel", ""); err != nil {
		return err
	}
	return w.writeResult(&Result{
		RunID:  id,
		Status: state,
		Steps:  s.Steps,
		Errors: []NodeError{},
	})
}
