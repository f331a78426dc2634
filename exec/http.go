package exec

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// HTTPClient is the primitive that sends one HTTP request from this process.
const HTTPClient = "rye/core/primitives/http_client"

// httpBody is the body of HTTPClient: it completes the configuration that
// package httpstep carries out.
type httpBody struct{ e *Executor }

// plan checks what a run would check, so that a dry run refuses the same
// configurations.
func (b httpBody) plan(ctx context.Context, p *Plan) error {
	in, err := b.configured(ctx, p.Chain)
	if err != nil {
		return err
	}
	in.public = publicNames(p.envs)
	call := b.send
	if p.Chain.Tool().Meta.ToolType == ProviderType {
		if call = b.provide; b.e.p.Provider == nil {
			return diag.New(diag.ConfigError, "running %s: it calls a model, which this command does not do", p.Chain.Tool().Ref)
		}
	}
	return b.e.planCall(ctx, p, in, call)
}

// ProviderType is the tool_type of a tool that calls models.
const ProviderType = "provider"

// ProviderCall is a call of such a tool.
type ProviderCall struct {
	NativeCall
	// Send sends one request with a body to the address of the item, or to url unless it
	// is "". The primitive has the address, the credential and their rules.
	Send func(ctx context.Context, url string, body []byte) (*httpstep.Reply, error)
}

// call returns the request of a call, without what reports its events.
func (b httpBody) call(ctx context.Context, in NativeCall) (*httpstep.Call, error) {
	boundary, err := b.e.boundary(ctx)
	if err != nil {
		return nil, err
	}
	return &httpstep.Call{
		Ref:        in.Chain.Tool().Ref.String(),
		Config:     in.Config,
		Parameters: in.Parameters,
		Env:        in.Env,
		Public:     in.public,
		Dir:        b.e.p.Dir,
		Boundary:   boundary,
		Now:        b.e.p.Now,
	}, nil
}

// provide is the Native of the primitive for tools that call models.
func (b httpBody) provide(ctx context.Context, in NativeCall) (map[string]any, error) {
	call, err := b.call(ctx, in)
	if err != nil {
		return nil, err
	}
	return b.e.p.Provider(ctx, ProviderCall{in, call.Open})
}

func (b httpBody) run(ctx context.Context, p *Plan) (*Result, error) {
	return b.e.runCall(ctx, p)
}

func (b httpBody) programs(context.Context, *Chain) ([]Interpreter, error) {
	return nil, nil
}

// sendsDotenv implements body: a request can send a variable to another host.
func (b httpBody) sendsDotenv() bool {
	return true
}

// send is the Native of the primitive.
func (b httpBody) send(ctx context.Context, in NativeCall) (map[string]any, error) {
	call, err := b.call(ctx, in)
	if err != nil {
		return nil, err
	}
	call.OnEvent = in.OnLine
	// Plan compiled the schema before: it has no error here.
	s, err := Schema(in.Chain.Tool())
	if s != nil && err == nil {
		for _, name := range s.Properties() {
			if _, given := in.Parameters[name]; !given {
				call.Absent = append(call.Absent, name)
			}
		}
	}
	return call.Do(ctx)
}

// publicNames returns the variables that rye sets, and those whose value an item
// of the chain states: every reader of the item knows it.
func publicNames(envs []*envConfig) []string {
	public := []string{selfVar, projectVar, threadVar}
	for _, ec := range envs {
		for _, name := range slices.Sorted(maps.Keys(ec.env)) {
			if !strings.Contains(ec.env[name], "${") {
				public = append(public, name)
			}
		}
	}
	return public
}

// configured returns the complete and checked configuration of a chain.
func (b httpBody) configured(ctx context.Context, c *Chain) (*NativeCall, error) {
	in, err := nativeConfig(c)
	if err != nil {
		return nil, err
	}
	return in, b.configure(ctx, in)
}

// configure merges the configuration of the chain key by key, adds the defaults
// of the primitive's schema and the settings of the sinks, and checks it.
func (b httpBody) configure(ctx context.Context, in *NativeCall) error {
	c := in.Chain
	doing := "reading the configuration of " + c.Tool().Ref.String()
	var layers []layered.Layer
	for i, el := range slices.Backward(c.Elements) {
		if i > 0 || len(c.Elements) == 2 {
			layers = append(layers, layered.Layer{Name: el.Path(), Root: el.Meta.Config})
		}
	}
	in.Config = layered.Merge(layers)
	s, err := Schema(c.Primitive())
	if err != nil {
		return err
	}
	if s != nil {
		in.Config = s.Defaults(in.Config)
		err := diag.FromFindings(doing, located(c, s.Validate(in.Config)))
		if err != nil {
			return err
		}
	}
	if err := b.findSinks(ctx, in); err != nil {
		return err
	}
	fs := httpstep.Check(in.Config, func(key string) diag.Position {
		return c.Tool().Meta.Pos[key]
	})
	return diag.FromFindings(doing, diag.WithPath(fs, c.Tool().Path()))
}

// located gives each violation the position in the element that sets the value.
func located(c *Chain, vs []schema.Violation) []diag.Finding {
	var fs []diag.Finding
	for _, v := range vs {
		path := "config" + strings.TrimPrefix(v.Path, "$")
		f := diag.Errorf(diag.ConfigError, 0, 0, "%s %s", path, v.Message)
		f.Path = c.Tool().Path()
		for key := path; key != ""; key = key[:max(strings.LastIndexAny(key, ".["), 0)] {
			// What is missing is missing in the tool: no primitive has a fault that it reports.
			i := slices.IndexFunc(
				c.Elements[:len(c.Elements)-1],
				func(el *resolve.Item) bool {
					return el.Meta.Pos[key].Line > 0
				},
			)
			if i >= 0 {
				pos := c.Elements[i].Meta.Pos[key]
				f.Path = c.Elements[i].Path()
				f.Line = pos.Line
				f.Column = pos.Column
				break
			}
		}
		fs = append(fs, f)
	}
	return fs
}

// findSinks replaces the sinks of a stream by the settings of their items.
func (b httpBody) findSinks(ctx context.Context, in *NativeCall) error {
	list, _ := in.Config["sinks"].([]any)
	out := make([]any, 0, len(list))
	var errs []error
	for _, v := range list {
		settings, err := b.findSink(ctx, in, v)
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, settings)
	}
	in.Config["sinks"] = out
	return diag.Join("reading the sinks of "+in.Chain.Tool().Ref.String(), errs)
}

// findSink reads the item of one sink, as a static edge of the tool, and lays
// the tool's own settings over the item's.
func (b httpBody) findSink(
	ctx context.Context,
	in *NativeCall,
	v any,
) (map[string]any, error) {
	tool := in.Chain.Tool()
	members, _ := v.(map[string]any)
	name, isName := v.(string)
	if !isName {
		name, _ = members["sink"].(string)
	}
	if !strings.Contains(name, "/") {
		name = "rye/core/sinks/" + name
	}
	ref, err := item.ParseRef(name, item.Tool)
	if err != nil {
		return nil, err
	}
	it, err := b.e.p.Resolver.FindFrom(ctx, ref, tool.Root)
	if err != nil {
		return nil, err
	}
	if it.Meta.ToolType != "sink" {
		return nil, diag.New(diag.ConfigError, "reading the sinks of %s: %s is not a sink: its tool_type is %q", tool.Ref, it.Ref, it.Meta.ToolType)
	}
	in.deps = append(in.deps, it)
	settings := map[string]any{}
	maps.Copy(settings, it.Meta.Config)
	maps.Copy(settings, members)
	delete(settings, "sink")
	s, err := Schema(it)
	if err != nil {
		return nil, err
	}
	if s != nil {
		var fs []diag.Finding
		for _, v := range s.Validate(settings) {
			fs = append(fs, diag.Errorf(
				diag.ConfigError,
				0,
				0,
				"%s %s",
				v.Path,
				v.Message,
			))
		}
		err := diag.FromFindings("reading the settings of "+it.Ref.String()+" in "+tool.Path(), fs)
		if err != nil {
			return nil, err
		}
	}
	settings["sink"] = it.Ref.ID
	return settings, nil
}
