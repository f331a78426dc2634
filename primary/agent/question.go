package agent

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
)

// The questions to the user of a client: of runs of graphs, and about calls.
type (
	Asking   = exec.Asking
	Question = exec.Question
	Asked    = exec.Asked
)

// ErrNoAnswer is the error of Asking.Ask if the user gives no answer now.
var ErrNoAnswer = exec.ErrNoAnswer

// confirmed asks the user whether a call may do something, and returns the error for a
// refusal. The end of the time for an answer is one.
func (w *Workspace) confirmed(ctx context.Context, req Request, doing, question string) error {
	within := ctx
	cancel := func() {}
	if w.AskTimeout > 0 {
		within, cancel = context.WithTimeout(ctx, w.AskTimeout)
	}
	defer cancel()
	yes, err := req.Ask(within, Asked{Question: question})
	switch {
	case ctx.Err() == nil && within.Err() != nil:
		return diag.New(diag.ApprovalDenied, "%s: no answer came within %d s, which is a refusal", doing, int(w.AskTimeout.Seconds())).
			WithReason("approval_timeout")
	case err == nil && !yes:
		return diag.New(diag.ApprovalDenied, "%s: the user declined", doing)
	}
	return err
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
		q, ok := q.(map[string]any)
		if ok && q["to"] == "person" {
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
