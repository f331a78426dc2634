package graph

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/policy"
)

// OpenQuestion is a question of a suspended run, as its result lists it.
type OpenQuestion struct {
	Run      string   `json:"run_id"`
	Node     string   `json:"node"`
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty"`
	Schema   any      `json:"schema,omitempty"`
	Expires  string   `json:"expires,omitempty"`
	To       string   `json:"to"`
	Approval bool     `json:"approval,omitempty"` // about a call: rye threads approve or deny

	Tier   string             `json:"-"` // the class of the risk of a call
	Rule   string             `json:"-"` // why a person is asked about it
	Change *policy.FileChange `json:"-"` // that the call makes in files, nil without one
}

// ErrNoAnswer is the error of Params.Ask if the person who was asked does not answer
// now. The question stays open, and the run suspends.
// A client that declines leaves the question open: another person may answer it.
var ErrNoAnswer = errors.New("no answer")

// inboxPause is the time between two reads of the inbox while a person is asked.
const inboxPause = 200 * time.Millisecond

// askPerson asks the person who is present. An answer that comes into the inbox first,
// from another terminal, ends the question, and so does its timeout.
func (w *walker) askPerson(
	ctx context.Context,
	n *graphdef.Node,
	d *askData,
	step int,
	expires time.Time,
) (*answerData, error) {
	type reply struct {
		value any
		by    string
		err   error
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan reply, 1)
	go func() {
		q := Question{
			Run:     w.log.ID(),
			Graph:   w.g.Ref.String(),
			Node:    d.Node,
			Step:    step,
			Text:    d.Question,
			Choices: d.Choices,
			Ask:     n.Ask,
		}
		v, by, err := w.p.Ask(within, q)
		asked <- reply{v, by, err}
	}()
	tick := time.NewTicker(inboxPause)
	defer tick.Stop()
	for {
		select {
		case r := <-asked:
			if r.err != nil {
				return nil, r.err
			}
			return &answerData{Node: d.Node, Answer: r.value, By: r.by}, nil
		case <-tick.C:
		}
		m, err := w.inbox("answer", d.Node)
		switch {
		case err != nil:
			return nil, fatal{err}
		case m != nil && n.Ask.Refuses(m.Payload) == "":
			return &answerData{Node: d.Node, Answer: m.Payload, By: m.By}, nil
		case d.Expires != "" && !w.p.Now().Before(expires):
			return timedOut(n, d)
		}
	}
}

// timedOut returns the default of a question that was not answered in time.
func timedOut(n *graphdef.Node, d *askData) (*answerData, error) {
	if n.Ask.HasDefault {
		return &answerData{Node: d.Node, Answer: n.Ask.Default, By: "default"}, nil
	}
	return nil, diag.New(diag.ApprovalDenied, "no answer came before %s", d.Expires)
}

// openQuestions returns the questions that the run waits for.
func (w *walker) openQuestions(s *Suspension) []OpenQuestion {
	out := s.Questions
	add := func(d *askData, a *answerData) {
		if d != nil && a == nil {
			out = append(out, OpenQuestion{w.log.ID(), d.Node, d.Question, d.Choices, d.Schema, d.Expires, d.To, d.Approval, d.Tier, d.Rule, d.Change})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		add(w.nodes[name].ask, w.nodes[name].answer)
	}
	for _, name := range slices.Sorted(maps.Keys(w.approvals)) {
		add(w.approvals[name].ask, w.approvals[name].answer)
	}
	return out
}

// Questions returns the open questions of a run to a person, in the order in which it asked.
func (s *Summary) Questions() []OpenQuestion {
	var out []OpenQuestion
	if s.State != StateSuspended && s.State != StateRunning {
		return nil
	}
	for _, d := range s.questions {
		if d.To == "person" {
			out = append(out, OpenQuestion{s.ID, d.Node, d.Question, d.Choices, d.Schema, d.Expires, d.To, d.Approval, d.Tier, d.Rule, d.Change})
		}
	}
	return out
}
