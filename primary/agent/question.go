package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Asking is how the questions of one run of a graph reach the user of a client.
type Asking struct {
	// Ask returns the user's answer as a text: JSON if the question has a schema. The
	// error is ErrNoAnswer if the answer does not come with this call.
	Ask func(ctx context.Context, q Question) (string, error)
	// Confirm asks whether a call of a node may start. The error is ErrNoAnswer if the
	// answer does not come with this call.
	Confirm func(ctx context.Context, q Question) (bool, error)
	// Live: every answer comes during the call that asks.
	Live bool
	// Run is the run that the call continues, "" for a new one. After the call it is
	// the run that the call started or continued.
	Run string
}

// Question is a question of a run.
type Question struct {
	Run, Graph, Node string
	Step             int // of the node: the same node may ask again
	Text             string
	Choices          []string // that can be an answer; nil: any
	Schema           any      // of the answer, nil: a text
}

// ErrNoAnswer is the error of Asking.Ask if the user gives no answer now. The run
// suspends, and the question stays open.
var ErrNoAnswer = errors.New("no answer")

// confirmed asks the user whether a call may do something, and returns the error for a
// refusal. The end of the time for an answer is one.
func (w *Workspace) confirmed(ctx context.Context, req Request, doing, question string) error {
	within := ctx
	cancel := func() {}
	if w.AskTimeout > 0 {
		within, cancel = context.WithTimeout(ctx, w.AskTimeout)
	}
	defer cancel()
	yes, err := req.Ask(within, question)
	switch {
	case ctx.Err() == nil && within.Err() != nil:
		return diag.New(diag.ApprovalDenied, "%s: no answer came within %d s, which is a refusal", doing, int(w.AskTimeout.Seconds())).WithReason("approval_timeout")
	case err == nil && !yes:
		return diag.New(diag.ApprovalDenied, "%s: the user declined", doing)
	}
	return err
}

type askingKey struct{}

// AskingOf returns how a call asks its user, nil if it cannot.
func AskingOf(ctx context.Context) *Asking {
	a, _ := ctx.Value(askingKey{}).(*Asking)
	return a
}

// WithoutAsking returns a context for calls that are not those of the client.
func WithoutAsking(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, (*Asking)(nil))
}

// waiting adds to the result of a suspended run what a model can show the person, who
// answers: the model does not.
func waiting(data any) any {
	m, ok := data.(map[string]any)
	if !ok || m["status"] != "suspended" {
		return data
	}
	questions, _ := m["questions"].([]any)
	var notes []string
	for _, q := range questions {
		if q, ok := q.(map[string]any); ok && q["to"] == "person" {
			command := "rye threads answer %v %v VALUE"
			if q["approval"] == true {
				command = "rye threads approve|deny %v %v"
			}
			notes = append(notes, fmt.Sprintf(command, q["run_id"], q["node"]))
		}
	}
	if len(notes) == 0 {
		return data
	}
	m = maps.Clone(m)
	m["note"] = "the run waits for a person. Show them the question; they answer it at a terminal with: " + strings.Join(notes, ", or: ")
	return m
}
