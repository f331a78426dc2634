package control

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/store"
)

// childPolicy returns the policy for the children of a thread that has ended or is suspended:
// cancel, allow or wait.
func childPolicy(ctx context.Context, p *project.Project, state string) (string, error) {
	cfg, err := settings.Resilience(ctx, p.Resolver)
	switch state {
	case threads.Killed:
		return "cancel", err
	case threads.Cancelled:
		return cfg.OnParentCancel, err
	case threads.Failed:
		return cfg.OnParentError, err
	case threads.Completed:
		return cfg.OnParentComplete, err
	}
	return "allow", err
}

// orphaned does what child_policy states about the children of a thread whose process was
// stopped, without waiting for them.
func orphaned(ctx context.Context, p *project.Project, id string) error {
	do, err := childPolicy(ctx, p, threads.Failed)
	if err != nil || do != "cancel" {
		return err
	}
	children, err := children(ctx, p, id)
	if err != nil || len(children) == 0 {
		return err
	}
	err = ledger.RevokeTokens(ctx, p, id, true)
	for _, c := range children {
		_, aerr := AskToEnd(ctx, p, c.Thread, threads.Cancelled)
		err = errors.Join(err, aerr)
	}
	return err
}

// markRun records that a person ended a run, or a thread, that no process runs.
func markRun(ctx context.Context, p *project.Project, id, state string, params graph.Params) error {
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return graph.Mark(ctx, id, state, params)
	}
	if err != nil {
		return err
	}
	err = threads.Mark(ctx, id, state, restParams(p, s, params))
	if err != nil {
		return err
	}
	if err := noteWaiting(ctx, p, id); err != nil {
		return err
	}
	return graph.Cancelled(p.Spaces.ProjectDir, id)
}

// EndParams returns the parameters with which a run ends that no process runs.
func EndParams(ctx context.Context, p *project.Project) (graph.Params, error) {
	signer, err := p.Keys.RuntimeKey(ctx)
	if err != nil {
		return graph.Params{}, err
	}
	return graph.Params{
		Project: p.Spaces.ProjectDir,
		Signer:  signer,
		Keys:    p.Keys.RuntimePublic,
		Heads:   heads.Dir(p.Dirs.State),
		Now:     p.Env.Now,
	}, nil
}

// restParams are what the end of a thread needs that no process runs.
func restParams(p *project.Project, s *threads.Started, params graph.Params) threads.Params {
	return threads.Params{
		Project: p.Spaces.ProjectDir,
		Signer:  params.Signer,
		Keys:    p.Keys.RuntimePublic,
		Heads:   params.Heads,
		Now:     p.Env.Now,
		Redact:  records.Redactor(p, nil).Bytes,
		Account: func(ctx context.Context, id string, limit policy.USD) (threads.Ledger, error) {
			// A process that was stopped may not have recorded a new maximum in the log.
			return ledger.OpenAccount(
				ctx, p,
				nil,
				store.Thread{
					ID:     ChainRoot(p.Spaces.ProjectDir, id),
					Ref:    s.Directive.Ref,
					Digest: s.Directive.Digest.String(),
					Model:  s.Model,
					Name:   handle.Name(s.Inputs),
				},
				store.Budget{Max: limit, Keep: true},
			)
		},
	}
}

// Decline ends a suspended thread: a person refused what it asks for.
func Decline(ctx context.Context, p *project.Project, id string) (*threads.Result, error) {
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	params, err := EndParams(ctx, p)
	if err != nil {
		return nil, err
	}
	res, err := threads.Decline(ctx, id, restParams(p, s, params))
	if res == nil {
		return nil, err
	}
	return res, errors.Join(err, noteWaiting(ctx, p, id))
}
