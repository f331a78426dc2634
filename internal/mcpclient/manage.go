package mcpclient

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// shell is the tool that starts any command. A caller who may execute it may also
// have an unsigned server started, and send any header to any address.
// The response of a server that is asked so is described by status and media type and never
// quoted.
const shell = "rye/bash/bash"

// manage lists the servers. It refuses changes, which only the user makes, with
// the user's command as a fact.
func (c *client) manage(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
	p := params(in.Parameters)
	if action := p.text("action"); action != "list" {
		return nil, diag.New(diag.ConsentRequired, "changing MCP servers (%s): only the user does that", action).
			WithReason("mcp_change").WithDetail("command", p.command(action))
	}
	tools, _ := p["include_tools"].(bool)
	listed, err := List(ctx, c.p.Resolver, tools)
	if err != nil {
		return nil, err
	}
	servers := []any{}
	for _, l := range listed {
		if in.Held.Allows(policy.Load, ServerRef(l.Name)) == nil {
			servers = append(servers, l.Data(tools))
		}
	}
	return map[string]any{"success": true, "servers": servers, "count": len(servers)}, nil
}

// params are the validated parameters of a tool.
type params map[string]any

func (p params) text(key string) string { s, _ := p[key].(string); return s }

func (p params) texts(key string) map[string]string {
	m, _ := p[key].(map[string]any)
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}

func (p params) list(key string) []string {
	l, _ := p[key].([]any)
	out := make([]string, 0, len(l))
	for _, v := range l {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// command returns the command line of an action.
func (p params) command(action string) string {
	name := p.text("name")
	if name == "" {
		name = "NAME"
	}
	words := []string{"rye", "mcp", action, name}
	if action == "add" {
		words = append(words, p.addWords()...)
	}
	for i, w := range words {
		if strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@,+") != "" || w == "" {
			words[i] = tmpl.ShellQuote(w)
		}
	}
	return strings.Join(words, " ")
}

func (p params) addWords() (words []string) {
	if scope := p.text("scope"); scope != "" && scope != "project" {
		words = append(words, "--scope", scope)
	}
	env := p.texts("env")
	headers := p.texts("headers")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, "-e", name+"="+env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		words = append(words, "--header-env", name+"="+headers[name])
	}
	if url := p.text("url"); url != "" {
		return append(words, "--url", url)
	}
	return append(append(words, "--", p.text("command")), p.list("args")...)
}

// discover lists the tools of a server that no item describes. It fills in no
// variables of the environment: the caller names the server, but the user owns
// the variables.
func (c *client) discover(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
	p := params(in.Parameters)
	s := &Server{
		Name:      "discovered",
		Transport: p.text("transport"),
		Command:   p.text("command"),
		Args:      p.list("args"),
		Env:       p.texts("env"),
		URL:       p.text("url"),
		Headers:   p.texts("headers"),
		Timeout:   min(DefaultTimeout, in.Timeout),
	}
	if n, ok := p["timeout"].(int64); ok && n > 0 {
		s.Timeout = time.Duration(n) * time.Second
	}
	if s.Transport == "" {
		s.Transport = guessTransport(s)
	}
	o := c.options(&in)
	o.Discreet = true
	err := in.Held.Allows(policy.Execute, item.Ref{Kind: item.Tool, ID: shell})
	if err != nil {
		if s.Transport == Stdio || len(s.Headers) > 0 {
			return nil, err
		}
		public, err := httpx.New(httpx.Params{})
		if err != nil {
			return nil, err
		}
		defer public.Close()
		o.Web = public.Transport()
	}
	s, err = s.Expand(in.Env, nil)
	if err != nil {
		return nil, err
	}
	session, err := Connect(ctx, o, s)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	tools, err := session.Tools(ctx)
	if err != nil {
		return nil, err
	}
	return discovered(s, session, tools), nil
}

func guessTransport(s *Server) string {
	if s.URL != "" {
		return HTTP
	}
	return Stdio
}

func discovered(s *Server, session *Session, tools []Tool) map[string]any {
	list := []any{}
	warnings := []any{}
	for _, t := range tools {
		list = append(list, t.Definition())
		for _, f := range t.checkTexts() {
			warnings = append(warnings, f.Message)
		}
	}
	m := map[string]any{
		"success":   true,
		"transport": s.Transport,
		"protocol":  session.Protocol(),
		"server":    session.Software(),
		"tools":     list,
		"count":     len(list),
	}
	if len(warnings) > 0 {
		m["warnings"] = warnings
	}
	return m
}

// connect calls one tool of an added server by executing the tool's item, with the
// capabilities and checks of that item.
func (c *client) connect(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
	p := params(in.Parameters)
	if err := CheckName(p.text("server")); err != nil {
		return nil, err
	}
	ref := ToolRef(p.text("server"), p.text("tool"))
	if in.Connecting { // an item with such an id may itself name this function
		return nil, diag.New(diag.CircularDependency, "calling %s: it would call itself", ref)
	}
	args, _ := p["arguments"].(map[string]any)
	call := in.Call
	call.Connecting = true
	return c.p.Execute(ctx, call, ref, args)
}
