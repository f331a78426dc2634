package threadhost

import (
	"context"
	"math/rand/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/steps"
)

// stepFunc returns the name of the function of a step.
func stepFunc(name string) string {
	return "step_" + name
}

// StepNatives returns the functions of the step items that rye ships.
func StepNatives(p *project.Project) map[string]exec.Native {
	out := map[string]exec.Native{}
	for name, step := range steps.All() {
		out[stepFunc(name)] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
			input, err := steps.Decode(name, in.Parameters)
			if err != nil {
				return nil, err
			}
			err = serve(p, runOf(p, in.Call), in.Call, &input)
			if err != nil {
				return nil, err
			}
			res, err := step(ctx, input)
			if err != nil {
				return nil, err
			}
			if name == "control" || name == "emitter" {
				return asTool(ctx, runOf(p, in.Call).thread(), in, res)
			}
			return res.Object()
		}
	}
	return out
}

// asTool returns the result of a step that hooks and graphs call as a tool: its data.
// The loop does not see its events, so they are recorded here.
func asTool(
	ctx context.Context,
	t *threads.Thread,
	in exec.NativeCall,
	out steps.Output,
) (map[string]any, error) {
	if t != nil {
		var events []threads.Event
		for _, e := range out.Events {
			events = append(events, threads.Event{Event: e.Event, Data: e.Data})
		}
		it := in.Chain.Tool()
		err := t.Step(
			ctx,
			in.Node,
			threads.Identity{Ref: it.Ref.String(), Digest: it.Digest},
			events,
		)
		if err != nil {
			return nil, err
		}
	}
	return jsonx.Object(out.Data)
}

// serve adds what a native step has in place of a broker: the conversation and the
// services of the kernel, with the permissions of the thread.
func serve(p *project.Project, r *Run, within exec.Call, in *steps.Input) error {
	t := r.thread()
	alone := diag.New(diag.ConfigError, "running a step: this one works in a thread only")
	in.Services = steps.Services{
		Config: func(ctx context.Context, id string) (map[string]any, error) {
			s, err := p.Resolver.Config(ctx, id)
			if err != nil {
				return nil, err
			}
			return s.Root, nil
		},
		Step: func(context.Context, string, map[string]any) (steps.Output, error) {
			return steps.Output{}, alone
		},
		Execute: func(context.Context, steps.Action) (any, error) {
			return nil, alone
		},
		Call: func(context.Context, steps.Call) (steps.Result, error) {
			return steps.Result{}, alone
		},
		Answer: func(context.Context, steps.Call, steps.Result) error {
			return alone
		},
		Model: func(context.Context, map[string]any) (map[string]any, error) {
			return nil, alone
		},
		Now:  p.Env.Now,
		Rand: rand.Float64,
	}
	if t == nil {
		return nil
	}
	in.Services.Config = r.config
	in.Services.Step = func(ctx context.Context, name string, params map[string]any) (steps.Output, error) {
		return r.Step(ctx, within, t, name, params)
	}
	in.Services.Execute = func(ctx context.Context, a steps.Action) (any, error) {
		return r.execute(ctx, within, a)
	}
	in.Services.Call = func(ctx context.Context, c steps.Call) (steps.Result, error) {
		d, err := t.Call(ctx, within.Node, c.CallID, r.toolWithin(within))
		if err != nil {
			return steps.Result{}, err
		}
		return resultOf(d), nil
	}
	in.Services.Answer = func(ctx context.Context, c steps.Call, res steps.Result) error {
		r.starts.passed(c.CallID)
		return t.Answer(ctx, within.Node, c.CallID, res.Content, res.IsError)
	}
	in.Services.Model = func(ctx context.Context, params map[string]any) (map[string]any, error) {
		a, err := t.Model(ctx, within.Node, pauseOf(params))
		if err != nil {
			return nil, err
		}
		return jsonx.Object(a)
	}
	var err error
	in.Conversation, err = t.Lines()
	return err
}

// resultOf returns the result of a call as the model reads it.
func resultOf(d *threads.Dispatched) steps.Result {
	return steps.Result{
		CallID:     d.CallID,
		Ref:        d.Ref,
		IsError:    d.IsError,
		Content:    d.Content,
		Denied:     d.Denied,
		Waits:      d.Waits,
		DurationMS: d.Duration.Milliseconds(),
	}
}
