package project

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
)

// openBroker opens the connection of a program to the verbs. The project, its lock, its
// trust and the settings for agents are those of the program's caller.
func openBroker(ctx context.Context, p *Project, held policy.Held) (exec.Connection, error) {
	b, err := agent.NewBroker(ctx, held, p.Env.Home(), p.forBroker().Workspace)
	if err != nil {
		return nil, err
	}
	if t, r := threads.From(ctx), runOf(ctx); t != nil && r != nil {
		b.Around((&threadProgram{r: r, t: t, run: ctx, held: held}).do)
	}
	return p.Env.Broker(ctx, b)
}
