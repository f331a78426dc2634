package graphhost

import (
	"sync/atomic"

	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/ledger"
)

// caller is the call of a graph, or of a node of its run, that a project works for. It is never
// changed: a call below it has a copy.
type caller struct {
	options *callOptions       // of the command or tool that calls a graph; nil without one
	run     *ledger.RunAccount // of the nearest run, nil outside of runs and below threads without one
	node    *nodeCall          // the call that a node makes, nil without one
	child   *graph.Child       // the run that this call starts for its node, nil without one
}

// callOptions are the options of one call of a graph. A graph that a program below the
// run starts is another call, which has in common only how it reaches the person.
type callOptions struct {
	Options
	taken atomic.Bool
}

// nodeCall is a call of a node in flight.
type nodeCall struct {
	ref item.Ref
	*graph.Approval
}

// InRun implements project.GraphCaller.
func (c caller) InRun() bool { return c.run != nil }

// OfNode implements project.GraphCaller.
func (c caller) OfNode() bool { return c.node != nil }

// callerOf returns the call that a project works for, the zero value for none.
func callerOf(p *project.Project) caller {
	c, _ := p.Graph.(caller)
	return c
}

// given returns the options of the call, the zero value without any.
func (c caller) given() Options {
	if c.options == nil {
		return Options{}
	}
	return c.options.Options
}

// WithOptions returns the project for one call of a graph.
func WithOptions(p *project.Project, o Options) *project.Project {
	c := callerOf(p)
	c.options = &callOptions{Options: o}
	return project.ForGraph(p, c)
}

// below returns the project for a call of a graph below another call, which keeps how it reaches
// the person.
func below(p *project.Project, o Options) *project.Project {
	c := callerOf(p)
	if above := c.options; above != nil {
		o.Ask = above.Ask
		o.Progress = above.Progress
		o.Event = above.Event
		o.Watch = above.Watch
		o.NoSuspend = above.NoSuspend
	}
	c.options = &callOptions{Options: o}
	c.child = nil
	return project.ForGraph(p, c)
}

// inRun returns the project for the calls of a run.
func inRun(p *project.Project, account *ledger.RunAccount) *project.Project {
	c := callerOf(p)
	c.run = account
	return project.ForGraph(p, c)
}

// ofNode returns the project for a call of a node.
func ofNode(p *project.Project, call graph.Call) *project.Project {
	c := callerOf(p)
	c.child = call.Child
	c.node = &nodeCall{ref: call.Ref, Approval: call.Approval}
	return project.ForGraph(p, c)
}

// BelowNode returns the project of the thread of a node: the node does not make the thread's calls.
func BelowNode(p *project.Project) *project.Project {
	return ofNode(p, graph.Call{Approval: &graph.Approval{}})
}

// OfNode reports whether a node of a graph makes the calls of a project.
func OfNode(p *project.Project) bool {
	return p.Graph != nil && p.Graph.OfNode()
}

// InRun reports whether a run of a graph makes the calls of a project.
func InRun(p *project.Project) bool {
	return p.Graph != nil && p.Graph.InRun()
}
