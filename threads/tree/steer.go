package tree

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
)

// handOffWait is how long a process may take to begin the thread that continues: a turn of
// the model ends first, and another model summarizes.
const handOffWait = 2 * time.Minute

// HandOff starts a thread that continues the work of another: the process of that thread
// starts it before the next turn, or a new process if none runs the thread. It returns the new
// thread.
func HandOff(
	ctx context.Context,
	p *project.Project,
	id, text, by string,
) (next string, err error) {
	from, _, err := control.Steered(p, id, "handing off")
	if err != nil {
		return "", err
	}
	if graph.Owner(ctx, p.Spaces.ProjectDir, from) < 0 {
		if _, err := threadhost.HandsOff(p, from); err != nil {
			return "", err
		}
		_, err = continueProcess(ctx, p, from, resumeStart{Message: text, HandOff: true})
		return control.EndOfChain(p, from), err
	}
	if err := askToHandOff(p, from, text, by); err != nil {
		return "", err
	}
	for end := time.Now().Add(handOffWait); ; {
		running := graph.Owner(ctx, p.Spaces.ProjectDir, from) >= 0
		if next, err := nextOf(p, from); err != nil || next != "" {
			return next, err
		}
		if !running {
			return "", control.NotRunning(ctx, p, from, "handing off")
		}
		if time.Now().After(end) {
			return "", diag.New(diag.Timeout, "handing off %s: its turn has not ended after %s; another thread continues after it", from, handOffWait)
		}
		if err := control.Pause(ctx, control.LookPause); err != nil {
			return "", err
		}
	}
}

// nextOf returns the thread that continues another, also if it has no log yet, or "". It
// reads the chain once: a log that appears between two readings would be in neither answer.
func nextOf(p *project.Project, from string) (string, error) {
	links, err := control.Chain(p, from)
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

func askToHandOff(p *project.Project, id, text, by string) error {
	m := graph.Message{Kind: "handoff", By: by}
	if text != "" {
		m.Payload = map[string]any{"message": text}
	}
	return graph.Send(p.Spaces.ProjectDir, id, m, p.Env.Now())
}
