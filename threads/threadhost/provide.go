package threadhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/provider"
)

// Provide makes a call of a model for a provider item, whatever executes it: in a
// thread, reserved and recorded by the thread's kernel.
func Provide(
	ctx context.Context,
	p *project.Project,
	in exec.ProviderCall,
) (map[string]any, error) {
	t, _, s, c, err := ProviderCall(ctx, p, in.NativeCall)
	if err != nil {
		return nil, err
	}
	if c.Program != nil {
		return nil, diag.New(diag.ConfigError, "running %s: the dialect %s belongs to a program; its executor is rye/core/primitives/native", in.Chain.Tool().Ref, c.Dialect)
	}
	c.Send = in.Send
	resp, err := t.Attempt(ctx, in.Node, s, CallerOf(c), nil)
	if err != nil {
		return nil, err
	}
	return Answered(t, resp)
}

// Answered returns an answer as the step provider_call does, with the whole of its text.
func Answered(t *threads.Thread, resp *message.Response) (map[string]any, error) {
	out, err := jsonx.Object(threads.AnswerOf(t.Turn(), resp))
	if err == nil {
		out["success"], out["text"] = true, resp.Text()
	}
	return out, err
}

// ProviderCall returns the parameters of a call of a provider item in a thread.
func ProviderCall(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (t *threads.Thread, r *Run, s *threads.Service, c *provider.Config, err error) {
	it := in.Chain.Tool()
	r = runOf(p, in.Call)
	if t = r.thread(); t == nil {
		return nil, nil, nil, nil, diag.New(diag.ConfigError, "running %s: a provider is called by threads only; use rye run directive", it.Ref)
	}
	if s = t.Service(); s.Provider != it.Ref {
		i := slices.IndexFunc(t.Params().Services, func(s *threads.Service) bool {
			return s.Provider == it.Ref
		})
		if i < 0 {
			return nil, nil, nil, nil, diag.New(diag.PermissionDenied, "running %s: the thread uses %s, and no other provider", it.Ref, s.Provider)
		}
		s = t.Params().Services[i]
	}
	if it.Digest != s.Digest {
		return nil, nil, nil, nil, diag.New(diag.GraphChanged, "running %s: it has changed since the thread started", it.Ref)
	}
	if c, err = modelhost.Priced(ctx, p, it); err != nil {
		return nil, nil, nil, nil, err
	}
	if missing := c.Missing(in.Env); len(missing) > 0 {
		return nil, nil, nil, nil, diag.New(
			diag.AuthRequired,
			"calling %s: the environment lacks %s",
			it.Ref,
			strings.Join(missing, ", "),
		).
			WithDetail("missing", missing)
	}
	return t, r, s, c, nil
}

// CallerOf returns the calls of a provider as the kernel makes them.
func CallerOf(c *provider.Config) threads.Caller {
	return func(ctx context.Context, req *message.Request, onDelta func(message.Delta)) (*message.Response, error) {
		resp, err := c.Call(ctx, *req, onDelta)
		var f *provider.Failure
		if errors.As(err, &f) {
			code := f.Code
			if f.Err != nil && code == "" {
				code = string(f.Err.Code)
			}
			return nil, &threads.Failure{
				Status:       f.StatusCode,
				Code:         code,
				Type:         f.Type,
				Message:      f.Message,
				Reason:       f.Reason,
				Headers:      f.Headers,
				RetryAfterMS: f.RetryAfterMS,
				Body:         f.Body,
				Usage:        f.Usage,
				Err:          f.Err,
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w", err)
		}
		return &resp, nil
	}
}

// replayProvider replaces the execution of a provider item.
func replayProvider(ctx context.Context, t *threads.Thread, node string, s *threads.Service) error {
	_, err := t.Attempt(ctx, node, s, nil, nil)
	return err
}

// executeProvider runs a provider item as every item is run.
func (r *Run) executeProvider(
	ctx context.Context,
	_ *threads.Thread,
	node string,
	s *threads.Service,
) error {
	chain, err := r.Project.Executor.Chain(ctx, s.Provider)
	if err != nil {
		return err
	}
	call := r.withinNode(node).Below(r.LoopHeld)
	call.Ask = r.Options.Ask
	plan, err := r.Project.Executor.Plan(ctx, chain, call, map[string]any{})
	if err != nil {
		return err
	}
	_, err = r.Project.Executor.Run(ctx, plan)
	return err
}
