package programs

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelsetup"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/threadhost"
)

// ModelProgram is a provider item whose model is called by a program with the login of the
// user. In a thread the program has the tools of the thread.
func ModelProgram(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (map[string]any, error) {
	if try := modelsetup.TrialOf(p); try != nil {
		return tryProgram(ctx, p, try, &in)
	}
	t, r, s, c, err := threadhost.ProviderCall(ctx, p, in)
	if err != nil {
		return nil, err
	}
	if err := mayStart(p, c, &in); err != nil {
		return nil, err
	}
	used := t.Used()
	c.Program.Tokens = max(t.Params().Limits.Tokens-used.NewTokens, 1)
	tools := &threadTools{
		r:    r,
		t:    t,
		run:  ctx,
		call: in.Call,
		by:   in.Chain.Tool().Ref.String(),
	}
	call := threadhost.CallerOf(c)
	resp, err := t.Attempt(
		ctx,
		in.Node,
		s,
		func(ctx context.Context, req *message.Request, onDelta func(message.Delta)) (*message.Response, error) {
			tools.defs = req.Tools
			end, err := startable(ctx, p, c, &in, tools)
			if err != nil {
				return nil, err
			}
			defer end()
			resp, err := call(ctx, req, onDelta)
			if err == nil {
				tools.finish(resp)
			}
			return resp, err
		},
		nil,
	)
	if err != nil {
		return nil, err
	}
	return threadhost.Answered(t, resp)
}

// mayStart returns an error for an item whose signer may not decide what becomes of a login
// of the user: the program reads it, and the item names its hosts.
// The primitive is native and not subprocess: the command is known only with the request.
func mayStart(p *project.Project, c *provider.Config, in *exec.NativeCall) error {
	it := in.Chain.Tool()
	if c.Program == nil {
		return diag.New(diag.ConfigError, "running %s: the dialect %s does not belong to a program; its executor is rye/core/primitives/http_client", it.Ref, c.Dialect)
	}
	if p.Env.ServeTools == nil {
		return diag.New(diag.ConfigError, "running %s: this command serves no tools to programs", it.Ref)
	}
	return p.Resolver.Provider(it, "passing your login to "+it.Ref.String())
}

// startable gives a provider what its program needs: a server with the tools, and the
// function that starts it in the sandbox of the item.
func startable(
	ctx context.Context,
	p *project.Project,
	c *provider.Config,
	in *exec.NativeCall,
	tools project.ToolVerbs,
) (end func(), err error) {
	server, err := p.Env.ServeTools(ctx, tools)
	if err != nil {
		return nil, err
	}
	c.Program.Server = server.Command
	c.Program.Keep = func(b []byte) (string, error) {
		const name = "models.json"
		return filepath.Join(server.Dir, name), atomicfile.Private(server.Dir).Replace(name, b, 0o600)
	}
	c.Program.Start = func(ctx context.Context, argv []string, stdin []byte) (io.ReadCloser, func() (provider.Exit, error), error) {
		return startProgram(ctx, p, in, server, argv, stdin)
	}
	return server.Close, nil
}

// startProgram starts the program of a provider in its sandbox.
func startProgram(
	ctx context.Context,
	p *project.Project,
	in *exec.NativeCall,
	server *project.ToolServer,
	argv []string,
	stdin []byte,
) (io.ReadCloser, func() (provider.Exit, error), error) {
	it := in.Chain.Tool()
	doing := "starting the program of " + it.Ref.String()
	env := p.Outside(proc.Base(p.Env.Environ()))
	path, err := proc.LookPath(argv[0], env)
	if err != nil {
		return nil, nil, diag.New(diag.AuthRequired, "%s: %s is not installed, or not in the PATH", doing, argv[0]).
			WithReason("no_program").
			WithDetail("program", argv[0])
	}
	stated, found := it.Confinement()
	if err := diag.FromFindings(doing, found); err != nil {
		return nil, nil, err
	}
	profile := stated.Profile
	read := []string{server.Dir, p.Env.Self}
	if profile.Read != nil {
		read = append(read, *profile.Read...)
	}
	profile.Read = &read
	sockets := []string{server.Dir} // by which the program reaches the tools of the thread
	if profile.Sockets != nil {
		sockets = append(sockets, *profile.Sockets...)
	}
	profile.Sockets = &sockets
	out, pipe := io.Pipe()
	dir := p.ToolDir()
	cmd := proc.Cmd{
		Path:      path,
		Argv:      argv,
		Dir:       dir,
		Env:       env,
		Stdin:     bytes.NewReader(stdin),
		Timeout:   in.Timeout,
		MaxStdout: -1,
		MaxStderr: 16 << 10,
		OnStdout: func(b []byte) {
			_, _ = pipe.Write(b)
		}, // a reader that has left reads nothing more
	}
	applied, finish, err := p.Executor.Confine(
		ctx,
		exec.Program{
			Ref:      it.Ref,
			Owner:    it.Verdict.Signer.String(),
			Declared: it.Declared(),
			Profile:  profile,
			Held:     policy.Person(),
		},
		&cmd,
	)
	if err != nil {
		return nil, nil, diag.Doing(doing, err)
	}
	if applied != nil && applied.Rung == exec.RungNone {
		return nil, nil, diag.New(diag.SandboxUnavailable, "%s: it may only use the tools of the thread in a sandbox, and the item has none", doing)
	}
	if in.Applied != nil {
		in.Applied(applied)
	}
	var exit provider.Exit
	var ended sync.WaitGroup
	ended.Go(func() {
		var res proc.Result
		if res, err = proc.Run(ctx, cmd); err != nil {
			err = cmp.Or(finish(nil), err)
		} else {
			err = finish(&res)
		}
		exit = provider.Exit{Status: res.ExitCode, Stderr: string(res.Stderr)}
		if err == nil && res.TimedOut {
			err = diag.New(diag.Timeout, "%s: stopped after its timeout of %s", doing, in.Timeout)
		}
		pipe.Close()
	})
	return out, func() (provider.Exit, error) { ended.Wait(); return exit, err }, nil
}

// tryTools are the tools of a try: one that reports a word.
type tryTools struct {
	noPrompts
	defs  []message.ToolDef
	mu    sync.Mutex
	calls []message.Block
}

// tryProgram makes the calls of a try by a program.
func tryProgram(
	ctx context.Context,
	p *project.Project,
	t *modelsetup.Trial,
	in *exec.NativeCall,
) (map[string]any, error) {
	c := t.Settings()
	if err := mayStart(p, c, in); err != nil {
		return nil, err
	}
	return t.Make(ctx, c, func(ctx context.Context, req message.Request) (message.Response, error) {
		tools := &tryTools{defs: req.Tools}
		end, err := startable(ctx, p, c, in, tools)
		if err != nil {
			return message.Response{}, err
		}
		defer end()
		r, err := c.Call(ctx, req, nil)
		tools.mu.Lock()
		defer tools.mu.Unlock()
		r.Blocks = slices.Concat(r.Blocks, tools.calls)
		return r, err
	})
}
