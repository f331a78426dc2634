package exec

import (
	"context"
	"errors"
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
