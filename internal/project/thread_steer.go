package project

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
)

// handOffWait is how long a process may take to begin the thread that goes on: a turn of
// the model ends first, and another model summarizes.
const handOffWait = 2 * time.Minute

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
