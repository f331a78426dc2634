package control

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/transcript"
)

// Steered returns the last thread of a chain, if a request to suspend it or to hand it off
// can be obeyed.
func Steered(p *project.Project, id, doing string) (string, *threads.Started, error) {
	id = EndOfChain(p, id)
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	switch {
	case diag.CodeOf(err) == diag.ThreadNotFound:
		return "", nil, diag.New(diag.ThreadState, "%s %s: it is a run of a graph; only a thread can do that", doing, id).WithDetail("id", id)
	case err != nil:
		return "", nil, err
	case s.Parent != "":
		return "", nil, diag.New(diag.ThreadState, "%s %s: a node of the run %s started it, and that run waits for it", doing, id, s.Parent).
			WithReason("below_run").WithDetail("run_id", s.Parent)
	case s.Replay != "":
		return "", nil, diag.New(diag.ThreadState, "%s %s: it is a replay of %s", doing, id, s.Replay)
	}
	return id, s, nil
}

// NotRunning returns the error of a request to a thread that no process runs.
func NotRunning(ctx context.Context, p *project.Project, id, doing string) error {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	return diag.New(diag.ThreadState, "%s %s: it is %s", doing, id, s.State).
		WithReason("ended").
		WithDetail("state", s.State)
}

// Suspend asks the process of a thread to suspend it before its next turn, and waits
// for that a short time. It returns the state of the thread afterwards, which is running if
// something is in flight. by is who asks.
func Suspend(ctx context.Context, p *project.Project, id, reason, by string) (string, error) {
	id, err := AskToSuspend(ctx, p, id, reason, by)
	if err != nil {
		return "", err
	}
	_ = transcript.Base(p.Spaces.ProjectDir, id).FreeWithin(ctx, transcript.LockFile, EndWait)
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return "", err
	}
	return s.State, nil
}

func AskToSuspend(ctx context.Context, p *project.Project, id, reason, by string) (string, error) {
	id, _, err := Steered(p, id, "suspending")
	if err != nil {
		return "", err
	}
	if graph.Owner(ctx, p.Spaces.ProjectDir, id) < 0 {
		return "", NotRunning(ctx, p, id, "suspending")
	}
	return id, sendSuspend(p, id, reason, by)
}

func sendSuspend(p *project.Project, id, reason, by string) error {
	return graph.Send(
		p.Spaces.ProjectDir,
		id,
		graph.Message{Kind: "suspend", Payload: map[string]any{"reason": reason}, By: by},
		p.Env.Now(),
	)
}

// StopTurn has a thread suspend itself before its next turn, for a person who refuses a call. If
// no process runs the thread, the process that resumes it with the answer does.
func StopTurn(p *project.Project, id string) error {
	id, _, err := Steered(p, id, "suspending")
	if err != nil {
		return err
	}
	return sendSuspend(p, id, "a person refused a call and stopped the turn", "person")
}
