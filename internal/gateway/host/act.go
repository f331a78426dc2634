package host

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/tree"
)

// Start is what a new thread follows.
type Start struct {
	Project   string
	Directive string // its ref or id
	Inputs    map[string]any
	Words     []string // more inputs, as NAME=VALUE of a command line
	Limits    []string // NAME=VALUE
	Model     string
	Message   string
	Workspace string
}

// Started is a thread that was started.
type Started struct {
	ID        string `json:"thread_id"`
	Number    int64  `json:"number,omitempty"`
	State     string `json:"state"`
	Directive string `json:"directive"`
}

// Start starts a thread in a process of its own.
func (v *View) Start(ctx context.Context, s Start) (*Started, error) {
	dirs := v.dirs()
	dir := s.Project
	if dir == "" && len(dirs) == 1 {
		dir = dirs[0]
	}
	p, err := v.projectToAct(ctx, dir)
	if err != nil {
		return nil, err
	}
	ref, err := item.ParseRef(s.Directive, item.Directive)
	if err != nil {
		return nil, err
	}
	if ref.Kind != item.Directive {
		return nil, diag.New(diag.Usage, "starting %s: a thread follows a directive", ref)
	}
	spawned, err := tree.Spawn(ctx, p, &threadhost.Options{
		Ref:       ref,
		Params:    s.Inputs,
		Args:      s.Words,
		Held:      v.c.Held,
		Limits:    s.Limits,
		Model:     s.Model,
		Message:   s.Message,
		Workspace: s.Workspace,
		Suspends:  true,
	})
	if err != nil {
		return nil, err
	}
	return &Started{
		ID:        spawned.ThreadID,
		Number:    spawned.Number,
		State:     spawned.State,
		Directive: spawned.Directive,
	}, nil
}

// projectToAct opens a project of the caller.
func (v *View) projectToAct(ctx context.Context, dir string) (*project.Project, error) {
	// A directory of a request is compared, never opened.
	for _, d := range v.dirs() {
		if d == dir {
			return v.h.acting(ctx, dir)
		}
	}
	return nil, diag.New(diag.Usage, "starting a thread: the gateway serves no project %q", dir)
}

// State is the state of a thread after a change.
type State struct {
	ID    string `json:"thread_id"`
	State string `json:"state"`
}

// after reads the state of a thread.
func after(ctx context.Context, p *project.Project, id string) (*State, error) {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	return &State{ID: id, State: s.State}, nil
}

// Message passes a text to the model of a thread: a running one reads it before its next turn, and a
// suspended one is continued with it.
func (v *View) Message(ctx context.Context, id, text string) (*State, error) {
	p, err := v.toAct(ctx, id)
	if err != nil {
		return nil, err
	}
	// The address of a page stays the same when a thread continues in a new one.
	id = endOfChain(p, id)
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	if s.Suspended != nil {
		return v.resume(ctx, p, id, text)
	}
	if _, err := control.SendEvent(ctx, p, id, "message", text, v.c.By); err != nil {
		return nil, err
	}
	return after(ctx, p, id)
}

// Suspend has a thread suspend itself before its next turn.
func (v *View) Suspend(ctx context.Context, id, reason string) (*State, error) {
	p, err := v.toAct(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := control.Suspend(ctx, p, id, reason, v.c.By)
	if err != nil {
		return nil, err
	}
	return &State{ID: id, State: state}, nil
}

// Resume continues a thread that is suspended or was stopped.
func (v *View) Resume(ctx context.Context, id string) (*State, error) {
	p, err := v.toAct(ctx, id)
	if err != nil {
		return nil, err
	}
	return v.resume(ctx, p, endOfChain(p, id), "")
}

func (v *View) resume(
	ctx context.Context,
	p *project.Project,
	id, message string,
) (*State, error) {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	// A thread that has ended would end in the new process, which the caller does not see.
	if s.State != threads.Suspended && s.State != threads.Failed {
		return nil, diag.New(diag.ThreadState, "continuing %s: it is %s", id, s.State).
			WithReason("ended").
			WithDetail("id", id).
			WithDetail("state", s.State)
	}
	if !s.Thread {
		return nil, diag.New(diag.ThreadState, "continuing %s: it is a run of a graph, which a terminal continues", id)
	}
	if _, err := tree.ContinueDetached(ctx, p, id, message, v.c.By); err != nil {
		return nil, err
	}
	return after(ctx, p, id)
}

// End cancels or kills a thread with all below it.
func (v *View) End(ctx context.Context, id string, kill bool) (*State, error) {
	p, err := v.toAct(ctx, id)
	if err != nil {
		return nil, err
	}
	// A cancelled thread ends its calls itself.
	state := graph.StateCancelled
	if kill {
		state = graph.StateKilled
	}
	s, err := control.End(ctx, p, id, state)
	if err != nil {
		return nil, err
	}
	return &State{ID: id, State: s.State}, nil
}
