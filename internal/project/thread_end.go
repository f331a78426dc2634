package project

import (
	"context"

	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/threads/transcript"
)

// EndRun cancels a run, or kills it, with the runs that it called, and what child_policy
// states of the threads that it started: state is that which the run shall have. The Summary is nil if the
// process still ends the nodes in flight.
func (p *Project) EndRun(ctx context.Context, id, state string) (*graph.Summary, error) {
	id = p.EndOfChain(id) // the registry has the root of a chain
	do, err := p.childPolicy(ctx, state)
	if err != nil {
		return nil, err
	}
	below := do == "cancel"
	running, err := p.askToEnd(ctx, id, state)
	if err != nil {
		return nil, err
	}
	if running {
		if err := transcript.Base(p.Spaces.ProjectDir, id).FreeWithin(ctx, transcript.LockFile, endWait); err != nil {
			return nil, p.revokeTokens(ctx, chainRoot(p.Spaces.ProjectDir, id), below)
		}
	}
	if err := p.revokeTokens(ctx, chainRoot(p.Spaces.ProjectDir, id), below); err != nil {
		return nil, err
	}
	s, err := p.markRuns(ctx, id, state, running)
	if err != nil {
		return s, err
	}
	return s, p.rested(ctx, chainRoot(p.Spaces.ProjectDir, id), state)
}
