package surface

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
)

// OpenBroker opens the connection of a program to the verbs. The project, its lock, its
// trust and the settings for agents are the same as for the program's caller.
func OpenBroker(
	ctx context.Context,
	p *project.Project,
	held policy.Held,
	current exec.Current,
) (exec.Connection, error) {
	b, err := agent.NewBroker(
		ctx,
		held,
		current,
		p.Env.Home(),
		p.ForBroker().Workspace,
	)
	if err != nil {
		return nil, err
	}
	project.ThroughThread(ctx, p, b, held, current)
	return p.Env.Broker(ctx, b)
}
