package exec

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
)

// Programs tells which programs of this machine or project a valid chain would
// start, and whether those of the project may run. It asks for no consent and
// starts nothing but a version manager, if the runtime names one.
func (e *Executor) Programs(ctx context.Context, c *Chain) ([]Interpreter, error) {
	if c.Primitive().Ref.ID != Subprocess {
		return nil, nil // the work is done in this process
	}
	cfg, err := mergeConfig(c)
	if err != nil {
		return nil, err
	}
	look := &Executor{p: e.p, store: e.store}
	look.p.Consent = func(Interpreter) error { return nil }
	p := &Plan{Chain: c, Dir: e.p.Dir}
	env, err := look.environment(ctx, p, cfg)
	if d, is := err.(*diag.Error); is && d.Details["program"] != nil {
		return append(p.Interpreters, Interpreter{Owner: c.Tool().Ref.String(), Missing: d.Details["program"].(string)}), nil
	}
	if err != nil {
		return nil, err
	}
	p.Env = proc.Environ(env)
	// A command that names the tool's own file is no program beside the chain.
	if command, err := tmpl.Expand(cfg.Command, env, nil); err == nil {
		_, _ = look.program(p, command) // adds one of the project; what is missing is the run's to say
	}
	for i, in := range p.Interpreters {
		if in.Local {
			p.Interpreters[i].Refused = e.refusal(in)
		}
	}
	return p.Interpreters, nil
}

// refusal says why a program of the project may not run, or "".
func (e *Executor) refusal(in Interpreter) string {
	if e.p.Consent == nil {
		return "a program of the project needs consent"
	}
	if err := e.p.Consent(in); err != nil {
		return err.Error()
	}
	return ""
}
