package exec

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// approved returns nil if the run of a plan may start: by the allowance, or because
// the user answered so.
func (e *Executor) approved(ctx context.Context, p *Plan) error {
	if e.p.Approve == nil {
		return nil
	}
	call, err := e.callOf(ctx, p)
	if err != nil {
		return err
	}
	return e.p.Approve(ctx, p.Call, call)
}

// callOf returns the call that the allowance decides about. Only a program needs a sandbox: all
// other plans are calls in this process, whose code keeps to hosts and files itself.
func (e *Executor) callOf(ctx context.Context, p *Plan) (policy.Call, error) {
	tool := p.Chain.Tool()
	risk, err := resolve.Risk(ctx, e.p.Resolver)
	if err != nil {
		return policy.Call{}, err
	}
	call := policy.Call{
		Ref:      tool.Ref,
		Signer:   "ed25519:" + tool.Verdict.Signer.String(),
		Digest:   tool.Digest,
		Params:   stated(tool.Meta.Schema, p.Parameters),
		Enforced: true,
		Now:      e.p.Now(),
	}
	if call.Rating, err = risk.Rate(tool.Ref, tool.Declared()); err != nil {
		return policy.Call{}, diag.Doing("running "+tool.Ref.String(), err)
	}
	call.Dangers = risk.Dangers(tool.Meta.Schema, p.Parameters)
	if e.enforcesItself(p) && slices.Contains(changing, p.Argv[2]) {
		call.Change = &policy.FileChange{Applet: p.Argv[2], Params: p.Parameters}
	}
	if c := p.Sandbox; c != nil && !c.Applet {
		call.Enforced = false
		if !c.Unconfined {
			call.Rung = string(e.ladder().Best)
		}
	}
	return call, nil
}

// stated returns the parameters that differ from the defaults of a schema.
func stated(schema, params map[string]any) map[string]any {
	props, _ := schema["properties"].(map[string]any)
	out := map[string]any{}
	for name, v := range params {
		prop, _ := props[name].(map[string]any)
		want, has := prop["default"]
		if !has || !jsonx.Same(v, want) {
			out[name] = v
		}
	}
	return out
}
