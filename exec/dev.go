package exec

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// DevProfile is what a tool without a valid signature gets at most: the project without
// its protected paths, a private temporary directory, no network and no broker.
// What the item's sandbox states to read does not apply: no person has reviewed it. What rye
// runs in its own process (graphs, requests, file tools) needs a signature.
func DevProfile() policy.Profile {
	off := false
	paths := func() *[]string {
		return &[]string{"{project}", "{tmp}"}
	}
	return policy.Profile{
		Read:   paths(),
		Write:  paths(),
		Net:    policy.NetNone,
		Broker: &off,
	}
}

// DevChain is Chain for a tool that its user is editing. accept returns nil if the tool
// may run without a valid signature; every other element is verified and compared with
// the lock as always. The rung must be strict, before anything is started.
func (e *Executor) DevChain(
	ctx context.Context,
	ref item.Ref,
	accept func(*resolve.Item) error,
) (*Chain, error) {
	if best := e.ladder().Best; best != sandbox.Strict {
		return nil, diag.New(diag.SandboxUnavailable, "running %s with --dev: an item without a signature needs the sandbox %s, and this system reaches %s", ref, sandbox.Strict, best).
			WithReason("dev_rung").
			WithDetail("ref", ref.String()).
			WithDetail("wanted", string(sandbox.Strict))
	}
	c, err := e.walk(ctx, ref, accept)
	if err != nil {
		return c, err
	}
	return c, e.checkLock(ctx, &Chain{Elements: c.Elements[1:]})
}

// CheckDev returns nil if a plan with the ceiling DevProfile confines all that it runs:
// one program in the sandbox that gets no variables of the caller.
func (p *Plan) CheckDev() error {
	ref := p.Chain.Tool().Ref.String()
	refuse := func(why string) error {
		return diag.New(diag.PolicyDenied, "running %s with --dev: %s", ref, why).
			WithReason("dev").
			WithDetail("ref", ref)
	}
	switch {
	case p.Native != nil || p.Sandbox == nil || p.Sandbox.Applet:
		return refuse("it runs in the process of rye, and an item without a signature runs as a program in the sandbox only")
	case p.Sandbox.Unconfined:
		return refuse("it has the risk T4 and would run without a sandbox")
	}
	for _, ec := range p.envs {
		if len(ec.pass) > 0 {
			return refuse("its chain passes variables of your environment on (env_config.pass)")
		}
	}
	return nil
}
