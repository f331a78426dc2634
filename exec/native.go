package exec

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/resolve"
)

// NativeStep is the primitive whose body is a function of this program.
const NativeStep = "rye/core/primitives/native"

// Native is a function of this program that a tool names in config.func. What
// it may do on behalf of its caller is for the function to ask policy.
type Native func(ctx context.Context, in NativeCall) (map[string]any, error)

// NativeCall is what a Native is given: verified configuration, validated
// parameters and the environment that the chain declares.
type NativeCall struct {
	Chain *Chain
	// Config is what executes the tool says: the config of all elements above
	// the tool, and the tool's own when it stands directly on the primitive.
	Config     map[string]any
	Own        map[string]any // the tool's own config
	Parameters map[string]any
	Env        map[string]string
	Timeout    time.Duration
	OnLine     func(proc.Stream, []byte) // nil: nobody listens

	beside []*resolve.Item // that it uses besides the chain
}

// nativePlan completes the plan of a chain that ends in this process.
func (e *Executor) nativePlan(ctx context.Context, p *Plan) (*Plan, error) {
	in, err := nativeConfig(p.Chain)
	if err != nil {
		return nil, err
	}
	if p.body, err = e.body(p.Chain, in); err != nil {
		return nil, err
	}
	if p.Chain.Primitive().Ref.ID == HTTPClient {
		if err := e.prepareHTTP(ctx, in); err != nil {
			return nil, err
		}
	}
	in.Parameters = p.Parameters
	if in.Env, err = e.environment(ctx, p, &config{}); err != nil {
		return nil, err
	}
	delete(in.Env, selfVar) // a server that a tool talks to would get it
	p.Beside = in.beside
	if err := e.mayHand(p.Chain, p.Beside...); err != nil {
		return nil, err
	}
	p.Native, p.Timeout, p.Dir, p.Env = in, in.Timeout, e.p.Dir, proc.Environ(in.Env)
	return p, nil
}

// body returns the function that a chain ends in.
func (e *Executor) body(c *Chain, in *NativeCall) (Native, error) {
	if c.Primitive().Ref.ID != NativeStep {
		return e.primitives[c.Primitive().Ref.ID], nil
	}
	name, _ := in.Config["func"].(string)
	if name == "" {
		name, _ = in.Own["func"].(string)
	}
	if body := e.p.Natives[name]; body != nil {
		return body, nil
	}
	err := diag.New(diag.ConfigError, "reading the chain of %s: this program has no function %q", c.Tool().Ref, name)
	if near := suggest.Nearest(name, slices.Sorted(maps.Keys(e.p.Natives))); near != "" {
		err.Hint = "did you mean " + near + "?"
	}
	return nil, err
}

// nativeConfig merges the elements' config from the primitive to the tool.
func nativeConfig(c *Chain) (*NativeCall, error) {
	in := &NativeCall{Chain: c, Config: map[string]any{}, Own: c.Tool().Meta.Config}
	timeouts := &config{Timeout: 300 * time.Second}
	var fs []diag.Finding
	for i, el := range slices.Backward(c.Elements) {
		if v, has := el.Meta.Config["timeout"]; has {
			if msg := timeouts.set("timeout", v, true); msg != "" {
				pos := el.Meta.Pos["config.timeout"]
				f := diag.Errorf(diag.ConfigError, pos.Line, pos.Column, "config.timeout %s", msg)
				f.Path = el.Path()
				fs = append(fs, f)
			}
		}
		if i > 0 || len(c.Elements) == 2 {
			maps.Copy(in.Config, el.Meta.Config)
		}
	}
	in.Timeout = timeouts.Timeout
	return in, diag.FromFindings("reading the configuration of "+c.Tool().Ref.String(), fs)
}

// runNative calls the function of a plan, within its timeout.
func (e *Executor) runNative(ctx context.Context, p *Plan, onLine func(proc.Stream, []byte)) (*Result, error) {
	within, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	in := *p.Native
	in.OnLine = onLine
	start := e.p.Now()
	data, err := p.body(within, in)
	r := &Result{Data: data, Duration: e.p.Now().Sub(start), Sandbox: NoSandbox()}
	return r, r.nativeFailure(ctx, within, p, err)
}

func (r *Result) nativeFailure(ctx, within context.Context, p *Plan, err error) error {
	ref := p.Chain.Tool().Ref
	said, isBool := r.Data["success"].(bool)
	switch {
	case ctx.Err() != nil:
		return diag.New(diag.Cancelled, "running %s: cancelled", ref)
	case within.Err() != nil && err != nil:
		return diag.New(diag.Timeout, "running %s: stopped after its timeout of %s", ref, p.Timeout)
	case err != nil:
		return err
	case isBool && !said:
		failed := diag.New(diag.ExecutionFailed, "running %s: %s", ref, toolMessage(r.Data))
		failed.WithDetail("data", r.Data)
		return failed
	}
	return nil
}
