package exec

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/policy"
)

// Subprocess is the primitive that starts a program.
const Subprocess = "rye/core/primitives/subprocess"

// subprocess is the body of Subprocess.
type subprocess struct{ e *Executor }

// plan resolves the command. It materialises the verified bytes that the command
// names, and starts nothing but a version manager if the runtime names one.
func (b subprocess) plan(ctx context.Context, p *Plan) error {
	e := b.e
	c := p.Chain
	cfg, err := mergeConfig(c)
	if err != nil {
		return err
	}
	if p.Stdin, err = jsonx.Marshal(p.Parameters); err != nil {
		return diag.New(diag.ValidationFailed, "writing the parameters of %s: %w", c.Tool().Ref, err)
	}
	a, err := e.anchor(ctx, c)
	if err != nil {
		return err
	}
	if a != nil {
		p.Deps = append(p.Deps, a.with...)
	}
	if p.inline, err = e.packages(ctx, c); err != nil {
		return err
	}
	env, err := e.environment(ctx, p, cfg)
	if err != nil {
		return err
	}
	vars, err := e.vars(ctx, p, cfg, a)
	if err != nil {
		return err
	}
	if err := a.addPaths(env, vars); err != nil {
		return err
	}
	p.inline.use(p, env)
	if c.asksForBroker() {
		err := e.brokerEnv(ctx, p, cfg, env, vars)
		if err != nil {
			return err
		}
	}
	if err := e.settings(ctx, p, cfg, env); err != nil {
		return err
	}
	// Last of the checks: p.Deps is complete only now.
	if err := e.mayPass(p, p.Deps...); err != nil {
		return err
	}
	p.Env = exported(env)
	if err := e.command(p, cfg, env, vars); err != nil {
		return err
	}
	if err := e.bound(ctx, p); err != nil {
		return err
	}
	if err := e.confine(ctx, p); err != nil {
		return err
	}
	p.withoutBroker()
	return nil
}

// boundary returns the paths that file tools may reach, without the protected paths that the
// user removed.
func (e *Executor) boundary(ctx context.Context) (policy.Boundary, error) {
	b := *e.p.Boundary
	if e.p.Git != nil && b.Project != "" {
		b.Named = e.p.Git.Project(b.Project)
	}
	if e.p.Removed == nil {
		return b, nil
	}
	var err error
	b.Removed, err = e.p.Removed(ctx)
	return b, err
}

// bound passes the boundary of the project to an applet.
func (e *Executor) bound(ctx context.Context, p *Plan) error {
	if p.Program != e.p.Self {
		return nil
	}
	boundary, err := e.boundary(ctx)
	if err != nil {
		return err
	}
	b, err := jsonx.Marshal(boundary)
	if err != nil {
		return diag.New(diag.Internal, "writing the boundary of the project: %w", err)
	}
	p.Env = proc.Merge(p.Env, []string{policy.BoundaryVar + "=" + string(b)})
	return nil
}

func (b subprocess) run(ctx context.Context, p *Plan) (*Result, error) {
	onLine := p.OnLine
	switch name := b.e.appletOf(p); {
	case name == shellApplet && b.e.direct(p):
		return b.e.runShell(ctx, p)
	case name != "" && onlyReads(p, name):
		r, err := b.e.runHere(ctx, p, name)
		if r != nil || err != nil {
			return r, err
		}
		onLine = withoutResult(onLine)
	}
	ours := p.Program == b.e.p.Self
	if ours {
		onLine = splitLive(onLine)
	}
	onLine = p.withOriginals(onLine)
	conn, err := b.e.connect(ctx, p, func() (Call, bool) {
		return p.Call, true
	})
	if err != nil {
		return nil, err
	}
	cmd := proc.Cmd{
		Path:      p.Program,
		Argv:      p.Argv,
		Dir:       p.Dir,
		Env:       p.Env,
		Stdin:     bytes.NewReader(p.Stdin),
		Timeout:   p.Timeout,
		Grace:     b.e.p.Grace,
		MaxStdout: p.MaxOutput,
		MaxStderr: p.MaxOutput,
		OnLine:    onLine,
		Orderly:   ours,
	}
	serve(conn, &cmd)
	applied, finish, err := b.e.confined(ctx, p.Sandbox, &cmd)
	if err != nil {
		disconnect(conn)
		return nil, diag.Doing("running "+p.Chain.Tool().Ref.String(), err)
	}
	res, err := proc.Run(ctx, cmd)
	var calls BrokerCalls
	if conn != nil {
		calls = conn.Wait()
	}
	if err != nil {
		return nil, cmp.Or(finish(nil), err)
	}
	stopped := finish(&res)
	if sandboxFailure(stopped) {
		return nil, diag.Doing("running "+p.Chain.Tool().Ref.String(), stopped)
	}
	if ours {
		res.Stderr = withoutLive(res.Stderr)
	}
	r := &Result{
		ReturnCode: res.ExitCode,
		Signal:     res.Signal,
		Stdout:     res.Stdout,
		Stderr:     p.original(res.Stderr),
		Dropped:    Dropped{res.StdoutDropped, res.StderrDropped},
		Duration:   res.Duration,
		Usage:      Usage{CPU: res.CPU.Milliseconds(), MaxRSS: res.MaxRSS},
		Sandbox:    applied,
		Calls:      calls,
	}
	r.Data = resultData(res.Stdout, res.StdoutDropped > 0)
	if stopped != nil {
		return r, diag.Doing("running "+p.Chain.Tool().Ref.String(), stopped)
	}
	return r, r.failure(p, res)
}

// programs implements body. It asks for no consent.
func (b subprocess) programs(ctx context.Context, c *Chain) ([]Interpreter, error) {
	cfg, err := mergeConfig(c)
	if err != nil {
		return nil, err
	}
	consenting := &Executor{
		p:      b.e.p,
		store:  b.e.store,
		bodies: b.e.bodies,
		paths:  b.e.paths,
	}
	consenting.p.Consent = func(Interpreter) error { return nil }
	p := &Plan{Chain: c, Dir: b.e.p.Dir}
	if p.envs, err = readEnvConfigs(c); err != nil {
		return nil, err
	}
	if block, _ := Script(c.Tool()); block != nil {
		p.inline = &packages{}
		i := slices.IndexFunc(p.envs, func(ec *envConfig) bool {
			return ec.interpreter != nil
		})
		if i >= 0 {
			p.inline.python, _, _ = b.e.machine(p.envs[i].interpreter.fallback) // a missing one is reported below
		}
	}
	env, err := consenting.environment(ctx, p, cfg)
	d, is := err.(*diag.Error)
	if is && d.Details["program"] != nil {
		return append(p.Interpreters, Interpreter{Owner: c.Tool().Ref.String(), Missing: d.Details["program"].(string)}), nil
	}
	if err != nil {
		return nil, err
	}
	p.Env = proc.Environ(env)
	// A command that names the tool's own file is part of the chain, and does not
	// expand here. A missing program is reported by the run.
	command, err := tmpl.Expand(cfg.Command, env, nil)
	if err == nil {
		_, _ = consenting.program(p, command)
	}
	for i, in := range p.Interpreters {
		if in.Local {
			p.Interpreters[i].Refused = b.e.refusal(in)
		}
	}
	return p.Interpreters, nil
}

func (subprocess) sendsDotenv() bool { return false }

// refusal returns why a program of the project may not run, or "".
func (e *Executor) refusal(in Interpreter) string {
	if e.p.Consent == nil {
		return "a program of the project needs consent"
	}
	if err := e.p.Consent(in); err != nil {
		return err.Error()
	}
	return ""
}
