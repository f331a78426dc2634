package control

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/procwatch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// The pauses of a waiter where the system does not report the end of a process.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 2 * time.Second
)

// waiter waits for threads and runs of one project.
type waiter struct {
	p     *project.Project
	watch *procwatch.Watch
	looks bool // the system does not report about one of them
}

// Wait waits until all of some threads and runs rest, or any of them, and returns
// their states in the same order; the state of one that still runs is running. Of a thread
// that is continued, it waits for the last of its chain. The system
// wakes the waiter when the result of one is written, or its process ends. After the limit
// the error is TIMEOUT.
func Wait(
	ctx context.Context,
	p *project.Project,
	ids []string,
	limit time.Duration,
	anyOf bool,
) ([]*graph.Summary, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ids = slices.Clone(ids)
	for {
		out, err := waitFor(ctx, within, p, ids, limit, anyOf)
		if err != nil {
			return nil, err
		}
		on := false
		for i, s := range out {
			if s.State == graph.StateContinued {
				end := EndOfChain(p, ids[i])
				on = on || end != ids[i]
				ids[i] = end
			}
		}
		if !on {
			return out, nil
		}
	}
}

func waitFor(
	ctx, within context.Context, p *project.Project,
	ids []string,
	limit time.Duration,
	anyOf bool,
) ([]*graph.Summary, error) {
	w := &waiter{p: p, watch: procwatch.New()}
	defer w.watch.Close()
	for _, id := range ids { // before the first look, so that nothing is missed
		err := w.watch.Dir(
			transcript.Base(p.Spaces.ProjectDir, id).Path("."),
			threads.ResultFile,
		)
		if err != nil {
			w.looks = true
		}
	}
	out := make([]*graph.Summary, len(ids))
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		left, err := w.look(within, ids, out)
		switch {
		case err != nil:
			return nil, err
		case len(left) == 0 || anyOf && len(left) < len(ids):
			w.closed(within, out)
			return out, settleWaited(ctx, p, out)
		}
		err = w.next(within, pause)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil {
			return nil, diag.New(diag.Timeout, "waiting for %s: still running after %s", strings.Join(left, ", "), limit).
				WithReason("still_running").
				WithDetail("running", left)
		}
	}
}

// next waits for a change. Where the system reports none, it ends after a pause.
func (w *waiter) next(ctx context.Context, pause time.Duration) error {
	if !w.looks {
		return w.watch.Wait(ctx)
	}
	short, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	err := w.watch.Wait(short)
	if err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

// look reads the states of those that did not rest before, and returns the ids of those
// that run.
func (w *waiter) look(
	ctx context.Context,
	ids []string,
	out []*graph.Summary,
) (left []string, err error) {
	for i, id := range ids {
		if out[i] != nil && out[i].State != graph.StateRunning {
			continue
		}
		for watched := false; !watched; {
			if out[i], err = graph.Status(ctx, w.p.Spaces.ProjectDir, id); err != nil {
				return nil, err
			}
			if out[i].State != graph.StateRunning {
				break
			}
			watched = w.process(ctx, id)
		}
		if out[i].State == graph.StateRunning {
			left = append(left, id)
		}
	}
	return left, nil
}

// process watches the process of a thread. watched is false if a different process, or none,
// runs the thread by now, so that its state must be read again.
func (w *waiter) process(ctx context.Context, id string) (watched bool) {
	dir := w.p.Spaces.ProjectDir
	pid := graph.Owner(ctx, dir, id)
	switch {
	case pid < 0:
		return false
	case pid == 0:
		w.looks = true // the owner is not known
		return true
	}
	switch err := w.watch.Process(pid); {
	case errors.Is(err, os.ErrProcessDone):
		return false
	case err != nil:
		w.looks = true
		return true
	}
	return graph.Owner(ctx, dir, id) == pid
}

// closeWait is how long a waiter waits for the process of a thread that has ended or is
// suspended. Then the costs are final.
const closeWait = 2 * time.Second

// closed waits until the processes of the threads that rest have closed the logs: after
// the last line, each closes its account and writes the result.
func (w *waiter) closed(ctx context.Context, waited []*graph.Summary) {
	for _, s := range waited {
		if s.State == graph.StateRunning ||
			graph.Owner(ctx, w.p.Spaces.ProjectDir, s.ID) < 0 {
			continue
		}
		_ = transcript.Base(w.p.Spaces.ProjectDir, s.ID).FreeWithin(ctx, transcript.LockFile, closeWait)
	}
}

// settleWaited settles the threads whose process was stopped.
func settleWaited(ctx context.Context, p *project.Project, waited []*graph.Summary) error {
	for _, s := range waited {
		if s.Reason != threads.Orphaned {
			continue
		}
		_, err := ListFrom(ctx, p, func(*store.Store) ([]store.Cost, error) {
			return nil, nil
		})
		return err
	}
	return nil
}
