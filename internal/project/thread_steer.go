package project

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

// handOffWait is how long a process may take to begin the thread that goes on: a turn of
// the model ends first, and another model summarizes.
const handOffWait = 2 * time.Minute

// steered returns the last thread of a chain, if a request to suspend it or to hand it off
// can be obeyed.
func (p *Project) steered(id, doing string) (string, *threads.Started, error) {
	id = p.EndOfChain(id)
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

// notRunning returns the error of a request to a thread that no process runs.
func (p *Project) notRunning(ctx context.Context, id, doing string) error {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	return diag.New(diag.ThreadState, "%s %s: it is %s", doing, id, s.State).WithReason("ended").WithDetail("state", s.State)
}

// SuspendThread asks the process of a thread to suspend it before its next turn, and waits
// for that a short time. It returns the state of the thread afterwards, which is running if
// something is in flight. by is who asks.
func (p *Project) SuspendThread(ctx context.Context, id, reason, by string) (string, error) {
	id, err := p.askToSuspend(ctx, id, reason, by)
	if err != nil {
		return "", err
	}
	_ = transcript.Base(p.Spaces.ProjectDir, id).FreeWithin(ctx, transcript.LockFile, endWait)
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return "", err
	}
	return s.State, nil
}

func (p *Project) askToSuspend(ctx context.Context, id, reason, by string) (string, error) {
	id, _, err := p.steered(id, "suspending")
	if err != nil {
		return "", err
	}
	if graph.Owner(ctx, p.Spaces.ProjectDir, id) < 0 {
		return "", p.notRunning(ctx, id, "suspending")
	}
	return id, p.sendSuspend(id, reason, by)
}

func (p *Project) sendSuspend(id, reason, by string) error {
	return graph.Send(p.Spaces.ProjectDir, id, graph.Message{Kind: "suspend", Payload: map[string]any{"reason": reason}, By: by}, p.Env.Now())
}

// StopTurn has a thread suspend itself before its next turn, for a person who refuses a call. If
// no process runs the thread, the process that resumes it with the answer does.
func (p *Project) StopTurn(id string) error {
	id, _, err := p.steered(id, "suspending")
	if err != nil {
		return err
	}
	return p.sendSuspend(id, "a person refused a call and stopped the turn", "person")
}

// HandOffThread has another thread go on with the work of one: its own process starts it
// before its next turn, or one of its own if no process runs the thread. It returns the new
// thread.
func (p *Project) HandOffThread(ctx context.Context, id, text, by string) (next string, err error) {
	from, _, err := p.steered(id, "handing off")
	if err != nil {
		return "", err
	}
	if graph.Owner(ctx, p.Spaces.ProjectDir, from) < 0 {
		if _, err := p.handsOff(from); err != nil {
			return "", err
		}
		_, err = p.continueProcess(ctx, from, resumeStart{Message: text, HandOff: true})
		return p.EndOfChain(from), err
	}
	if err := p.askToHandOff(from, text, by); err != nil {
		return "", err
	}
	for end := time.Now().Add(handOffWait); ; {
		running := graph.Owner(ctx, p.Spaces.ProjectDir, from) >= 0
		if next, err := p.nextOf(from); err != nil || next != "" {
			return next, err
		}
		if !running {
			return "", p.notRunning(ctx, from, "handing off")
		}
		if time.Now().After(end) {
			return "", diag.New(diag.Timeout, "handing off %s: its turn has not ended after %s; another thread goes on after it", from, handOffWait)
		}
		if err := pause(ctx, lookPause); err != nil {
			return "", err
		}
	}
}

// nextOf returns the thread that goes on after one, also if it has no log yet, or "". It
// reads the chain once: a log that appears between two readings would be in neither answer.
func (p *Project) nextOf(from string) (string, error) {
	links, err := p.ThreadChain(from)
	if err != nil {
		return "", err
	}
	last := links[len(links)-1]
	switch {
	case last.Next != "" && last.Carried != nil:
		return last.Next, nil
	case last.ID != from:
		return last.ID, nil
	}
	return "", nil
}

func (p *Project) askToHandOff(id, text, by string) error {
	m := graph.Message{Kind: "handoff", By: by}
	if text != "" {
		m.Payload = map[string]any{"message": text}
	}
	return graph.Send(p.Spaces.ProjectDir, id, m, p.Env.Now())
}

// inboxKinds are the messages that the loop of a thread obeys. The graph of the loop takes
// those to cancel.
var inboxKinds = map[string]bool{"suspend": true, "handoff": true, "event": true}

// inbox returns the messages for the step that reads them. A request to hand off waits for
// the first answer of the model.
func (r *threadRun) inbox(t *threads.Thread) (rows []any, taken []graph.Message, err error) {
	all, err := graph.Inbox(r.p.Spaces.ProjectDir, t.ID())
	if err != nil {
		return nil, nil, err
	}
	rows = []any{}
	for _, m := range all {
		if !inboxKinds[m.Kind] || m.Kind == "handoff" && !t.MayContinue() {
			continue
		}
		payload := m.Payload
		if m.Kind == "event" {
			payload = map[string]any{"event": m.Name, "payload": m.Payload}
		}
		rows = append(rows, map[string]any{"kind": m.Kind, "payload": payload, "by": m.By})
		taken = append(taken, m)
	}
	return rows, taken, nil
}

// readInbox runs the step that reads the inbox, and removes what the log has then.
func (d loopDispatcher) readInbox(ctx context.Context, params map[string]any) (map[string]any, error) {
	rows, taken, err := d.r.inbox(d.t)
	if err != nil {
		return nil, err
	}
	p := map[string]any{}
	for k, v := range params {
		p[k] = v
	}
	p["inbox"] = rows
	out, err := d.r.step(ctx, d.t, "cancel_checker", p)
	if err == nil {
		err = steps.CheckInbox(out.Data)
	}
	if err != nil || len(taken) == 0 {
		return out.Data, err
	}
	if err := d.t.Flush(); err != nil {
		return nil, err
	}
	return out.Data, graph.Take(d.r.p.Spaces.ProjectDir, d.t.ID(), taken)
}
