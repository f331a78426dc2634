package copies

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
)

// hereOutside returns the project of the account with tools that write the current directory.
// It asks the person, unless nothing is started.
func hereOutside(ctx context.Context, p *project.Project, w Wish) (*project.Project, error) {
	s := p.SeenDir
	switch {
	case s.Empty:
		return nil, diag.New(
			diag.PolicyDenied,
			"starting %s: tools do not write in %s: %s",
			w.Ref,
			p.Env.Base,
			s.Why,
		).
			WithReason("here_refused")
	case w.Plan:
		return project.WithReadOnly(p, false), nil
	case w.Permit == nil:
		return nil, diag.New(diag.ApprovalRequired, "starting %s: %s is not a project, and a person at a terminal permits tools to write in it", w.Ref, s.Dir).WithReason("here_outside")
	}
	yes, err := w.Permit(ctx, "Let the tools of this thread write in "+s.Dir+", which is not a project?")
	if err != nil {
		return nil, err
	}
	if !yes {
		return nil, diag.New(diag.ApprovalDenied, "starting %s: cancelled; nothing started", w.Ref)
	}
	return project.WithReadOnly(p, false), nil
}
