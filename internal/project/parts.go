package project

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
)

// Parts are what packages above this one do for an opened project. A project without a part
// can be opened; what needs the part fails.
type Parts struct {
	// Natives returns the Go functions that tools may name in config.func.
	Natives func(*Project) map[string]exec.Native
	// Provide makes a call of a model for a provider item.
	Provide func(context.Context, *Project, exec.ProviderCall) (map[string]any, error)
	// Approve decides about a call, and asks the user where the allowance wants that.
	Approve func(context.Context, *Project, exec.Call, policy.Call) error
	// Broker opens the connection of a program to the verbs.
	Broker func(context.Context, *Project, policy.Held, exec.Current) (exec.Connection, error)
	// Dependencies returns the packages of a Python tool for its lock entry.
	Dependencies func(context.Context, *Project, *exec.Chain) ([]lock.Dep, error)
	// Workspace returns the project as the verbs of agents see it during a call.
	Workspace func(context.Context, *Project, exec.Call) (*agent.Workspace, error)
}

func missingPart(name string) error {
	return diag.New(diag.Internal, "using the project: it was opened without the part %s", name)
}

func (p *Project) natives() map[string]exec.Native {
	if p.Env.Parts.Natives == nil {
		return nil
	}
	return p.Env.Parts.Natives(p)
}

func (p *Project) provide(ctx context.Context, call exec.ProviderCall) (map[string]any, error) {
	if p.Env.Parts.Provide == nil {
		return nil, missingPart("Provide")
	}
	return p.Env.Parts.Provide(ctx, p, call)
}

// approve fails without the part: a call that no part decides about is refused.
func (p *Project) approve(ctx context.Context, call exec.Call, about policy.Call) error {
	if p.Env.Parts.Approve == nil {
		return missingPart("Approve")
	}
	return p.Env.Parts.Approve(ctx, p, call, about)
}

// broker returns the function that opens the connection of a program to the verbs, nil
// if the command serves none.
func (p *Project) broker() func(context.Context, policy.Held, exec.Current) (exec.Connection, error) {
	if p.Env.Broker == nil || p.Env.Parts.Broker == nil {
		return nil
	}
	return func(ctx context.Context, held policy.Held, current exec.Current) (exec.Connection, error) {
		return p.Env.Parts.Broker(ctx, p, held, current)
	}
}

func (p *Project) dependencies(ctx context.Context, c *exec.Chain) ([]lock.Dep, error) {
	if p.Env.Parts.Dependencies == nil {
		return nil, missingPart("Dependencies")
	}
	return p.Env.Parts.Dependencies(ctx, p, c)
}

// Workspace returns the project as the verbs of agents see it during a call.
func (p *Project) Workspace(ctx context.Context, within exec.Call) (*agent.Workspace, error) {
	if p.Env.Parts.Workspace == nil {
		return nil, missingPart("Workspace")
	}
	return p.Env.Parts.Workspace(ctx, p, within)
}
