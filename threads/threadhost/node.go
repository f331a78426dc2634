package threadhost

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// nodeThread is a thread that a node of a graph starts. The thread has an account below the
// account of the run, and the permissions and limits of the run apply to it.
// The thread of a node does not continue in a new thread: it ends with CONTEXT_FULL, because
// the run knows it by one id.
type nodeThread struct {
	run   *ledger.RunAccount
	call  graph.Call
	owner *store.Owner // of the new thread's account, before the thread takes it
}

// Directives implements Directives.
type Directives struct{}

// Follow implements Directives.
func (Directives) Follow(
	ctx context.Context,
	p *project.Project,
	c *graphhost.DirectiveCall,
) (any, error) {
	within := c.Within
	within.Asking = nil // what the thread calls is not called by the node
	o := &Options{
		Ref:           c.Ref,
		Params:        c.Params,
		Held:          c.Held,
		Within:        within,
		Ask:           c.Ask,
		ToClient:      !project.AtTerminal(p, c.Within),
		AcceptChanged: c.AcceptChanged,
		Observe:       observeNode(p, c),
		Below:         &nodeThread{run: c.Account, call: c.Call},
	}
	p = graphhost.BelowNode(p)
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, c.Child.Run)
	var r *threads.Result
	switch {
	case err == nil && s.State == threads.Completed:
		return recordedNode(ctx, p, c)
	case err == nil:
		r, err = Resume(ctx, p, c.Child.Run, o)
	case diag.CodeOf(err) == diag.ThreadNotFound: // or stopped before its first line
		r, err = Start(ctx, p, o)
	}
	if err != nil {
		return nil, err
	}
	return followed(c, r.Status, r.Outputs, r.Text, r.Cost)
}

// recordedNode returns the result of a thread that completed before the process of its run
// was stopped.
func recordedNode(ctx context.Context, p *project.Project, c *graphhost.DirectiveCall) (any, error) {
	s, err := Summary(ctx, p, c.Child.Run)
	if err != nil {
		return nil, err
	}
	// The process can have been stopped before the account was released.
	err = c.Account.End(ctx, s.ID, s.State)
	if err != nil {
		return nil, err
	}
	return followed(c, s.State, s.Outputs, s.Text, s.Cost)
}

// followed is the result of a node that had a directive followed.
func followed(
	c *graphhost.DirectiveCall,
	state string,
	outputs map[string]any,
	text string,
	cost threads.Cost,
) (any, error) {
	if outputs == nil {
		outputs = map[string]any{}
	}
	c.Child.Note = c.Child.Run + " $" + cost.Spend.String()
	return jsonx.Object(map[string]any{
		"thread_id": c.Child.Run,
		"state":     state,
		"outputs":   outputs,
		"text":      text,
		"cost":      cost,
	})
}

// observeNode returns the function that receives the lines of a thread if the caller of the run
// reads events; events of the loop are left out, as rye run directive does.
func observeNode(p *project.Project, c *graphhost.DirectiveCall) threads.Observer {
	if c.Event == nil {
		return nil
	}
	loop := DebugEvents(p)
	return func(l transcript.Line) {
		if !loop(l.Event) {
			c.Event(c.Child.Run, &l)
		}
	}
}

// admit reserves the maximum of a new thread, and returns its limits: the directive's, within
// the limits and the balance of the runs above it.
func (n *nodeThread) admit(
	ctx context.Context,
	th store.Thread,
	l threads.Limits,
) (threads.Limits, error) {
	a := n.run
	a.Tree.Lock()
	defer a.Tree.Unlock()
	if err := a.Spawn(ctx, th.ID); err != nil {
		return l, err
	}
	up, err := a.Open(ctx)
	if err != nil {
		return l, err
	}
	left, err := up.Left(ctx)
	if err != nil {
		return l, err
	}
	if share := n.call.Share; share != nil {
		if share.Each == nil {
			each := left / policy.USD(share.Of)
			share.Each = &each
		}
		left = min(left, *share.Each)
	}
	l = a.Within(l)
	l.Spend = min(l.Spend, left)
	l.Depth = min(l.Depth, int64(n.call.Child.Left))
	have, ok, err := a.Root().Store.Max(ctx, th.ID)
	if err != nil {
		return l, err
	} else if ok {
		l.Spend = have // reserved by a process that was stopped before the first line
	}
	th.Depth = l.Depth
	th.Spawns = l.Spawns
	n.owner, err = up.Child(ctx, th, l.Spend)
	return l, err
}

// account returns the account that admit opened, or opens the account of a thread that
// continues.
func (n *nodeThread) account(
	ctx context.Context,
	th store.Thread,
	limit policy.USD,
) (*ledger.Account, error) {
	if o := n.owner; o != nil {
		n.owner = nil
		return &ledger.Account{Owner: o}, nil
	}
	n.run.Tree.Lock()
	defer n.run.Tree.Unlock()
	up, err := n.run.Open(ctx)
	if err != nil {
		return nil, err
	}
	o, err := up.Child(ctx, th, limit)
	if err != nil {
		return nil, err
	}
	return &ledger.Account{Owner: o}, nil
}

// unused releases the account of a thread that did not start.
func (n *nodeThread) unused(ctx context.Context) error {
	if n.owner == nil {
		return nil
	}
	return n.owner.Release(context.WithoutCancel(ctx), threads.Failed, "")
}
