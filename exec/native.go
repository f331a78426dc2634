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

// Native is a function of this program that a tool names in config.func. The
// function itself asks policy what it may do for its caller.
type Native func(ctx context.Context, in NativeCall) (map[string]any, error)

// NativeCall is the input of a Native: verified configuration, validated
// parameters and the environment that the chain declares.
type NativeCall struct {
	Call
	Chain *Chain
	// Config is the merged config of the elements that execute the tool, and the
	// tool's own if it is directly above the primitive.
	Config     map[string]any
	Own        map[string]any // the tool's own config
	Parameters map[string]any
	Env        map[string]string
	Timeout    time.Duration
	// Applied receives the sandbox of a program that the function started.
	Applied func(*Sandbox)

	deps   []*resolve.Item // items that it uses in addition to the chain
	public []string        // variables of Env whose values are not secret
}

// nativeBody is the body of NativeStep.
type nativeBody struct{ e *Executor }

func (b nativeBody) plan(ctx context.Context, p *Plan) error {
	in, call, err := b.function(p.Chain)
	if err != nil {
		return err
	}
	return b.e.planCall(ctx, p, in, call)
}

// function returns the configuration of a chain and the function that it names.
func (b nativeBody) function(c *Chain) (*NativeCall, Native, error) {
	in, err := nativeConfig(c)
	if err != nil {
		return nil, nil, err
	}
	name, _ := in.Config["func"].(string)
	if name == "" {
		name, _ = in.Own["func"].(string)
	}
	call := b.e.p.Natives[name]
	if call == nil {
		err := diag.New(diag.ConfigError, "reading the chain of %s: this program has no function %q", c.Tool().Ref, name)
		near := suggest.Nearest(name, slices.Sorted(maps.Keys(b.e.p.Natives)))
		if near != "" {
			err.WithReason("nearest").WithDetail("nearest", near)
		}
		return nil, nil, err
	}
	return in, call, nil
}

func (b nativeBody) run(ctx context.Context, p *Plan) (*Result, error) {
	return b.e.runCall(ctx, p)
}

func (b nativeBody) programs(context.Context, *Chain) ([]Interpreter, error) {
	return nil, nil
}

func (b nativeBody) sendsDotenv() bool {
	return false
}

// planCall completes the plan of a chain whose work is a call in this process.
func (e *Executor) planCall(
	ctx context.Context,
	p *Plan,
	in *NativeCall,
	call Native,
) (err error) {
	in.Parameters = p.Parameters
	in.Call = p.Call
	if in.Env, err = e.environment(ctx, p, &config{}); err != nil {
		return err
	}
	// An MCP server receives these variables. The path of this program is for
	// templates only.
	delete(in.Env, selfVar)
	p.Deps = in.deps
	if err := e.mayPass(p, p.Deps...); err != nil {
		return err
	}
	p.Native = in
	p.call = call
	p.Timeout = in.Timeout
	p.Dir = e.p.Dir
	p.Env = proc.Environ(in.Env)
	return nil
}

// nativeConfig merges the config of the elements from the primitive to the tool.
func nativeConfig(c *Chain) (*NativeCall, error) {
	in := &NativeCall{Chain: c, Config: map[string]any{}, Own: c.Tool().Meta.Config}
	in.Timeout = defaultTimeout
	var fs []diag.Finding
	for i, el := range slices.Backward(c.Elements) {
		r := fieldsOf(el)
		in.Timeout = readTimeout(r.Map("config"), in.Timeout)
		fs = append(fs, diag.WithPath(r.Findings(), el.Path())...)
		if i > 0 || len(c.Elements) == 2 {
			maps.Copy(in.Config, el.Meta.Config)
		}
	}
	return in, diag.FromFindings("reading the configuration of "+c.Tool().Ref.String(), fs)
}

// runCall calls the function of a plan, within its timeout.
func (e *Executor) runCall(ctx context.Context, p *Plan) (*Result, error) {
	within, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	in := *p.Native
	in.Call = p.Call
	var applied *Sandbox
	in.Applied = func(s *Sandbox) { applied = s }
	start := e.p.Now()
	data, err := p.call(within, in)
	r := &Result{Data: data, Duration: e.p.Now().Sub(start), Sandbox: applied}
	ref := p.Chain.Tool().Ref
	success, isBool := data["success"].(bool)
	switch {
	case ctx.Err() != nil:
		err = diag.New(diag.Cancelled, "running %s: cancelled", ref)
	case within.Err() != nil && err != nil:
		err = diag.New(diag.Timeout, "running %s: stopped after its timeout of %s", ref, p.Timeout)
	case err == nil && isBool && !success:
		err = diag.New(diag.ExecutionFailed, "running %s: %s", ref, toolMessage(data)).
			WithReason("reported").WithDetail("data", data)
	}
	return r, err
}
