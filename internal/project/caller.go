package project

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
)

// AsksPerson asks about one call of a model, or of a program of a thread.
type AsksPerson func(ctx context.Context, q CallQuestion) (*threads.Reply, error)

// CallQuestion is a question about one call.
type CallQuestion struct {
	Recorded *threads.Question // that the log of the thread has
	Shown    exec.Asked        // that the person reads
	Suspends bool              // the thread may be suspended until a person answers
	OfNode   bool              // a node of a graph makes the call, not the thread itself
	Ask      exec.Ask          // nil if no person is present
}

// Caller is the thread, or the try of a provider, that an opened project works for.
type Caller interface {
	// Around has the calls of a program pass the gates of the thread.
	Around(context.Context, *agent.Broker, policy.Held, exec.Current)
	// Asks returns the function that asks about a call, nil if the thread does not make it.
	Asks(exec.Call) AsksPerson
	// ToClient reports whether a question about a call goes to the user of a client.
	ToClient(exec.Call) bool
	// IsChild reports whether another thread started the thread that makes a call.
	IsChild(exec.Call) bool
}

// GraphCaller is the call of a graph, or of a node of its run, that an opened project works for.
// Package graphhost makes it.
type GraphCaller interface {
	// InRun reports whether a run of a graph makes the calls of the project, or a thread or program
	// below it does.
	InRun() bool
	// OfNode reports whether a node of a run makes them, or a program below it does.
	OfNode() bool
}

// For returns the project with tools, models and programs that work for a thread; nil returns
// a project that works for no thread.
func (p *Project) For(c Caller) *Project {
	return bind(p, c, p.Graph)
}

// ForGraph returns the project with tools, models and programs that work for the call of a graph or
// of a node. Its thread is the one of p.
func ForGraph(p *Project, g GraphCaller) *Project {
	return bind(p, p.Caller, g)
}

func bind(p *Project, c Caller, g GraphCaller) *Project {
	bound := *p
	bound.Caller = c
	bound.Graph = g
	bound.Executor = p.Executor.With(exec.Bindings{
		Natives: bound.natives(),
		Provide: bound.provide,
		Approve: bound.approve,
		Broker:  bound.broker(),
	})
	bound.Verbs = bound.NewVerbs()
	return &bound
}

// SameCaller returns p working for the thread, and the call of a graph, that another project works
// for.
func SameCaller(p, other *Project) *Project {
	if other.Caller == nil && other.Graph == nil {
		return p
	}
	return bind(p, other.Caller, other.Graph)
}

// PersonOf returns the function that asks about a call of a thread, nil for another call.
func PersonOf(p *Project, c exec.Call) AsksPerson {
	if p.Caller == nil {
		return nil
	}
	return p.Caller.Asks(c)
}

// AtTerminal reports whether a question about a call reaches a person at a terminal: of this
// process, or of one that waits for its thread. Otherwise it goes to the user of a client.
func AtTerminal(p *Project, c exec.Call) bool {
	return c.Asking == nil && (p.Caller == nil || !p.Caller.ToClient(c))
}

// ThroughThread makes the calls of a program pass the gates of the thread that the project
// works for. It changes nothing outside of a thread.
func ThroughThread(
	ctx context.Context,
	p *Project,
	b *agent.Broker,
	held policy.Held,
	current exec.Current,
) {
	if p.Caller != nil {
		p.Caller.Around(ctx, b, held, current)
	}
}
