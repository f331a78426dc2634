package exec

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Check returns the errors of an item that a run would report before it reads the
// environment, the lock or its parameters: in the chain, in env_config, in the schema of
// the parameters, and in the configuration that the primitive reads. The item need not
// be signed; everything that executes it must be trusted. It starts and sends nothing.
func (e *Executor) Check(ctx context.Context, it *resolve.Item) (*Chain, error) {
	unsigned := func(*resolve.Item) error { return nil }
	c, err := e.walkFrom(ctx, it, unsigned)
	if err != nil {
		return c, err
	}
	if _, err := readEnvConfigs(c); err != nil {
		return c, err
	}
	if _, err := Schema(it); err != nil {
		return c, err
	}
	return c, e.bodies[c.Primitive().Ref.ID].check(ctx, c)
}

// check implements body.
func (b subprocess) check(_ context.Context, c *Chain) error {
	_, err := mergeConfig(c)
	return err
}

// check implements body.
func (b nativeBody) check(_ context.Context, c *Chain) error {
	_, _, err := b.function(c)
	return err
}

// check implements body.
func (b httpBody) check(ctx context.Context, c *Chain) error {
	_, err := b.configured(ctx, c)
	return err
}

// DraftSender returns the function that sends the requests of a provider that its user is
// writing, as ProviderCall.Send does for a signed one. vars are the variables that the
// user gives to it: nothing else of the environment is passed.
func (e *Executor) DraftSender(
	ctx context.Context,
	it *resolve.Item,
	vars map[string]string,
) (func(ctx context.Context, url string, body []byte) (*httpstep.Reply, error), error) {
	c, err := e.Check(ctx, it)
	if err != nil {
		return nil, err
	}
	if c.Primitive().Ref.ID != HTTPClient {
		return nil, diag.New(
			diag.ConfigError,
			"calling %s: its chain ends in %s, and not in %s",
			it.Ref,
			c.Primitive().Ref.ID,
			HTTPClient,
		)
	}
	in, err := httpBody{e}.configured(ctx, c)
	if err != nil {
		return nil, err
	}
	boundary, err := e.boundary(ctx)
	if err != nil {
		return nil, err
	}
	call := httpstep.Call{
		Ref:      it.Ref.String(),
		Config:   in.Config,
		Env:      vars,
		Dir:      e.p.Dir,
		Boundary: boundary,
		Now:      e.p.Now,
	}
	return call.Open, nil
}

// Reach asks the host of a provider for its root and returns nil if a response came. The
// item must be usable; neither its key nor a request for a model is sent.
func (e *Executor) Reach(ctx context.Context, it *resolve.Item, held policy.Held) error {
	c, err := e.WalkFrom(ctx, it)
	if err != nil {
		return err
	}
	none := func(context.Context, ProviderCall) (map[string]any, error) {
		return nil, nil
	}
	p, err := e.With(Bindings{Provide: none}).Plan(
		ctx,
		c,
		Call{Held: held},
		nil,
	)
	if err != nil {
		return err
	}
	call := httpstep.Call{
		Ref:    it.Ref.String(),
		Config: p.Native.Config,
		Env:    p.Native.Env,
		Public: p.Native.public,
		Now:    e.p.Now,
	}
	return call.Reach(ctx)
}
