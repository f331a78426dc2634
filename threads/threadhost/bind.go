package threadhost

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
)

// thread returns the running thread, nil before its loop begins and for a nil r.
func (r *Run) thread() *threads.Thread {
	if r == nil {
		return nil
	}
	return r.running.Load()
}

// ofCall returns r if a call of the thread, or a program of such a call, makes c; nil if the
// loop itself makes it.
func (r *Run) ofCall(c exec.Call) *Run {
	if c.ID == "" {
		return nil
	}
	return r
}

// runOf returns the thread of p if a step of its loop makes c, or c is below such a call.
func runOf(p *project.Project, c exec.Call) *Run {
	r, _ := p.Caller.(*Run)
	if c.Node == "" {
		return nil
	}
	return r
}

// Around implements Caller.
func (r *Run) Around(
	ctx context.Context,
	b *agent.Broker,
	held policy.Held,
	current exec.Current,
) {
	t := r.thread()
	c, answering := current()
	if t == nil || answering && c.Node == "" { // the loop calls a tool itself, not a step
		return
	}
	program := &threadProgram{
		r:       r,
		t:       t,
		run:     ctx,
		held:    held,
		current: current,
	}
	b.Around(program.do)
}

// Asks implements Caller.
func (r *Run) Asks(c exec.Call) project.AsksPerson {
	if c.Started == nil { // a program makes it, which states what it does by a call of its own
		return nil
	}
	person, ok := r.asking.Load(c.ID)
	if !ok {
		return nil
	}
	return person.(project.AsksPerson)
}

// ToClient implements Caller.
func (r *Run) ToClient(c exec.Call) bool {
	return r.ofCall(c) != nil &&
		(r.Options.ToClient || r.Options.Relayed && !r.Options.Attended)
}

// IsChild implements Caller.
func (r *Run) IsChild(c exec.Call) bool {
	return r.ofCall(c) != nil && r.Options.isChild()
}
