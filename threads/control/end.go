package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// End cancels a run, or kills it, with the runs that it called, and what child_policy
// states of the threads that it started: state is that which the run shall have. The Summary is nil if the
// process still ends the nodes in flight.
func End(ctx context.Context, p *project.Project, id, state string) (*graph.Summary, error) {
	id = EndOfChain(p, id) // the registry has the root of a chain
	do, err := childPolicy(ctx, p, state)
	if err != nil {
		return nil, err
	}
	below := do == "cancel"
	running, err := AskToEnd(ctx, p, id, state)
	if err != nil {
		return nil, err
	}
	if running {
		err := transcript.Base(p.Spaces.ProjectDir, id).FreeWithin(ctx, transcript.LockFile, EndWait)
		if err != nil {
			return nil, ledger.RevokeTokens(ctx, p, ChainRoot(p.Spaces.ProjectDir, id), below)
		}
	}
	err = ledger.RevokeTokens(ctx, p, ChainRoot(p.Spaces.ProjectDir, id), below)
	if err != nil {
		return nil, err
	}
	s, err := markRuns(ctx, p, id, state, running)
	if err != nil {
		return s, err
	}
	return s, Rested(ctx, p, ChainRoot(p.Spaces.ProjectDir, id), state)
}

// Rested applies child_policy to the children of a thread that has ended or is suspended.
func Rested(ctx context.Context, p *project.Project, id, state string) error {
	ctx = context.WithoutCancel(ctx)
	children, err := children(ctx, p, id)
	if err != nil || len(children) == 0 {
		return err
	}
	do, err := childPolicy(ctx, p, state)
	switch {
	case err != nil:
		return err
	case do == "cancel":
		return EndChildren(ctx, p, children, childState(state))
	case do == "wait":
		ids := make([]string, len(children))
		for i, c := range children {
			ids[i] = c.Thread
		}
		_, err = Wait(ctx, p, ids, 24*time.Hour, false)
	}
	return err
}

// childState is the state in which the children of a thread end that a policy ends.
func childState(state string) string {
	if state == threads.Killed {
		return threads.Killed
	}
	return threads.Cancelled
}

// EndChildren ends threads, and each of them those below it. All are asked before the
// first is waited for.
func EndChildren(ctx context.Context, p *project.Project, children []store.Row, state string) error {
	var all error
	for _, c := range children {
		_, err := AskToEnd(ctx, p, c.Thread, state)
		all = errors.Join(all, err)
	}
	for _, c := range children {
		if c.State == store.Created { // it has no log
			all = errors.Join(
				all,
				ledger.RevokeTokens(ctx, p, c.Thread, true),
				ledger.EndAccounts(ctx, p, []string{c.Thread}, state),
			)
			continue
		}
		_, err := End(ctx, p, c.Thread, state)
		if err != nil && diag.CodeOf(err) != diag.ThreadState {
			all = errors.Join(all, err)
		}
	}
	return all
}

// children returns the threads of the project that a thread started and that have not
// ended.
func children(ctx context.Context, p *project.Project, id string) (out []store.Row, err error) {
	err = ledger.WithStore(ctx, p, func(s *store.Store) error {
		out, err = s.Children(ctx, id)
		return err
	})
	return slices.DeleteFunc(out, func(r store.Row) bool {
		return r.Project != p.Spaces.ProjectDir || !r.Open()
	}), err
}
