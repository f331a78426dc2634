package control

import (
	"context"
	"sync/atomic"

	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
	"github.com/ryeos/rye/threads/waiting"
)

// noteWaiting records in the registry what a thread or run waits for, as its log states. The
// account of a chain has the question of its last thread.
func noteWaiting(ctx context.Context, p *project.Project, id string) error {
	dir := p.Spaces.ProjectDir
	w, err := waiting.Of(ctx, dir, id)
	if err != nil {
		return err
	}
	text := w.Encode()
	list := []store.Handle{{ID: id, Project: dir, Waiting: &text}}
	if root := ChainRoot(dir, id); root != id {
		list = append(list, store.Handle{ID: root, Project: dir, Waiting: &text})
	}
	return ledger.WithStore(ctx, p, func(s *store.Store) error {
		return s.Describe(ctx, list)
	})
}

// WatchWaiting returns a function that receives each line of a log after it was written, and
// keeps what the registry has of the questions up to date. It returns no error: rye threads
// rebuild and the next question record the same again.
func WatchWaiting(ctx context.Context, p *project.Project) func(id string, l *transcript.Line) {
	ctx = context.WithoutCancel(ctx)
	var open atomic.Bool // of one log or several: a question can be open
	return func(id string, l *transcript.Line) {
		switch l.Event {
		case "approval_requested", "ask_opened", "thread_suspended":
			open.Store(true)
		case "approval_resolved", "ask_answered", "thread_resumed":
		case "thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued", "graph_completed", "graph_failed", "graph_cancelled":
			if !open.Load() {
				return
			}
		default:
			return
		}
		_ = noteWaiting(ctx, p, id) // see above
	}
}

// WithWaiting adds a function of watchWaiting to what receives the lines of a run.
func WithWaiting(watch, event func(string, *transcript.Line)) func(string, *transcript.Line) {
	return func(run string, l *transcript.Line) {
		watch(run, l)
		if event != nil {
			event(run, l)
		}
	}
}

// WaitingOf returns the open question of a thread or run, from the registry if it has it.
func WaitingOf(ctx context.Context, p *project.Project, id string) (*waiting.Wait, error) {
	var h store.Handle
	err := ledger.WithStore(ctx, p, func(s *store.Store) (err error) {
		h, _, err = s.Handle(ctx, id, 0)
		return err
	})
	if err == nil && h.Waiting != nil {
		return waiting.Decode(*h.Waiting), nil
	}
	return waiting.Of(ctx, p.Spaces.ProjectDir, id)
}
