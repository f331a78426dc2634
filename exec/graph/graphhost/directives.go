package graphhost

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/transcript"
)

// Directives has threads do the work of the directives that nodes of graphs call.
type Directives interface {
	// Follow runs the thread of a node, as the child of its run, and returns the result of the
	// node. A thread that an earlier process had started continues.
	Follow(ctx context.Context, p *project.Project, c *DirectiveCall) (any, error)
}

// DirectiveCall is the call of a directive by a node.
type DirectiveCall struct {
	graph.Call
	Account       *ledger.RunAccount // of the run
	Within        exec.Call          // of the run
	Ask           exec.Ask           // about the calls of the thread; nil: no person is present
	AcceptChanged bool               // the directive may have changed since the thread started
	// Event receives the lines of the thread's log; nil if the caller of the run reads none.
	Event func(thread string, line *transcript.Line)
}

// follow has a thread do the work of a directive as the child of a run.
func (d Dispatcher) follow(ctx context.Context, c graph.Call) (any, error) {
	if d.account == nil || c.Child == nil {
		return nil, diag.New(diag.ExecutionFailed, "calling %s: a hook, and a graph that a thread calls, cannot start a thread", c.Ref).WithReason("thread_in_thread")
	}
	call := &DirectiveCall{
		Call:    c,
		Account: d.account,
		Within:  d.Within,
		Ask:     d.confirmer(c, true),
	}
	options := callerOf(d.Project).given()
	call.AcceptChanged = options.AcceptChanged
	call.Event = options.event()
	return d.directives.Follow(ctx, d.Project, call)
}

// directiveTarget describes a directive for the run of a graph.
func (d Dispatcher) directiveTarget(ctx context.Context, ref item.Ref) (graph.Target, error) {
	it, err := d.Project.Resolver.Find(ctx, ref)
	if err != nil {
		return graph.Target{}, err
	}
	return graph.Target{Digest: it.Digest, Space: transcript.Space(it.Root.Space), Thread: true}, nil
}
