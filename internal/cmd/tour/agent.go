package tour

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mcpclient"
)

// agent starts the server and calls it as an agent does: it finds and runs the
// tool, and its request to sign is refused.
func (t *tour) agent(ctx context.Context) error {
	t.say("An agent starts rye serve and calls its tools over the Model Context Protocol (MCP).")
	t.out("%s", t.c.UI.Style(cli.Cyan, "agent$ rye serve"))
	server := &mcpclient.Server{
		Name:      "rye",
		Transport: mcpclient.Stdio,
		Command:   t.c.Self,
		Args:      []string{"serve"},
		Timeout:   mcpclient.DefaultTimeout,
	}
	s, err := mcpclient.Connect(
		ctx,
		mcpclient.Options{Version: cli.ReadVersion().Version, Dir: t.project, Env: t.env()},
		server,
	)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, call := range []struct {
		tool string
		args map[string]any
		fail bool
	}{
		{"search", map[string]any{"query": "say hello", "scope": "tool", "space": "project", "limit": int64(1)}, false},
		{"execute", map[string]any{"item_type": "tool", "item_id": "demo/hello", "parameters": map[string]any{"name": "agent"}}, false},
		{"execute", map[string]any{"item_type": "tool", "item_id": "demo/hello", "parameters": map[string]any{"nam": "agent"}}, true},
		{"sign", map[string]any{"item_type": "tool", "item_id": "demo/hello"}, true},
	} {
		err := t.call(ctx, s, call.tool, call.args, call.fail)
		if err != nil {
			return err
		}
	}
	return nil
}

// call makes one call and shows it. It returns an error unless the call fails
// exactly if fail is set.
func (t *tour) call(
	ctx context.Context,
	s *mcpclient.Session,
	tool string,
	args map[string]any,
	fail bool,
) error {
	arguments, err := jsonx.Marshal(args)
	if err != nil {
		return err
	}
	res, err := s.Call(ctx, tool, args)
	if err != nil {
		return err
	}
	step := tourStep{Who: "agent", Command: tool + " " + string(arguments), Output: firstText(res)}
	if res.IsError {
		step.Exit = cli.ExitStatus(diag.ExecutionFailed)
	}
	t.Steps = append(t.Steps, step)
	t.out("%s", t.c.UI.Style(cli.Cyan, "agent> "+step.Command))
	t.text(strings.TrimRight(step.Output, "\n") + "\n")
	t.out("")
	if res.IsError != fail {
		return diag.New(diag.ExecutionFailed, "touring: the agent's call of %s failed: %t", tool, res.IsError)
	}
	return nil
}

// firstText returns the first text of a result.
func firstText(r *mcpclient.Result) string {
	for _, c := range r.Content {
		if m, ok := c.(map[string]any); ok {
			text, _ := m["text"].(string)
			return text
		}
	}
	return ""
}
