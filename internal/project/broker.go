package project

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
)

// broker returns the function that opens the connection of a program to the verbs, nil
// if the command serves none. The project, its lock, its trust and the settings for
// agents are those of the program's caller.
func (p *Project) broker() func(context.Context, policy.Held) (exec.Connection, error) {
	if p.Env.Broker == nil {
		return nil
	}
	return func(ctx context.Context, held policy.Held) (exec.Connection, error) {
		b, err := agent.NewBroker(ctx, held, p.Env.Home(), p.forBroker().workspace)
		if err != nil {
			return nil, err
		}
		if t, r := threads.From(ctx), runOf(ctx); t != nil && r != nil {
			b.Around((&threadProgram{r: r, t: t, run: ctx, held: held}).do)
		}
		return p.Env.Broker(ctx, b)
	}
}

// forBroker returns the project for calls of a program: the log of signatures states
// that a program made them.
func (p *Project) forBroker() *Project {
	env, own := *p.Env, *p
	env.Surface = auditlog.SurfaceBroker
	own.Env = &env
	own.Keys = p.Keys.RecordedBy(own.recordDocuments) // with the surface of the broker
	own.Verbs = own.newVerbs()
	return &own
}
