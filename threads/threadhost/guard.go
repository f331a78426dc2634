package threadhost

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/steps"
)

// guardEvent is the event whose hooks of the user run in the kernel.
const guardEvent = "before_tool"

// guarded runs the user's hooks before a call. They are a boundary of the user around
// what a project does, so they do not depend on the loop or on a step, which a project
// replaces. It returns the result of a call that a hook skips, and an error for one
// that a hook refuses.
func (r *Run) guarded(
	ctx context.Context,
	within exec.Call,
	c *threads.ToolCall,
) (*threads.ToolResult, error) {
	t := r.thread()
	if len(r.guards) == 0 || t == nil {
		return nil, nil
	}
	control, err := r.runGuards(ctx, within, t, map[string]any{
		"call": map[string]any{
			"name":  c.Tool.Name,
			"ref":   c.Tool.Ref,
			"input": c.Input,
			"tier":  c.Tool.Tier.String(),
		},
	})
	if err != nil || control == nil {
		return nil, err
	}
	if control.Action == "skip" {
		return &threads.ToolResult{
			Data:   map[string]any{"skipped": true},
			Blocks: []message.Block{message.TextBlock("[not run: the hook " + control.By + " left it out]")},
		}, nil
	}
	why := cmp.Or(control.Feedback, control.Message, "the hook "+control.By+" denied the call")
	return nil, diag.New(diag.PolicyDenied, "%s", why).
		WithReason("hook").
		WithDetail("hook", control.By)
}

// runGuards runs them with the function that rye ships, and records their events.
func (r *Run) runGuards(
	ctx context.Context,
	within exec.Call,
	t *threads.Thread,
	scope map[string]any,
) (*steps.Control, error) {
	within.Guarded = true // their own actions are not guarded again
	in, err := r.stepInput(ctx, t, "run_hooks", map[string]any{"event": guardEvent, "context": scope})
	if err != nil {
		return nil, err
	}
	var list struct {
		Hooks []steps.Hook `json:"hooks"`
	}
	list.Hooks = r.guards
	data, err := jsonx.Object(list)
	if err != nil {
		return nil, err
	}
	in.Params["hooks"] = data["hooks"]
	err = serve(r.Project, r, within, &in)
	if err != nil {
		return nil, err
	}
	out, err := steps.All()["run_hooks"](ctx, in)
	if err != nil {
		return nil, err
	}
	var events []threads.Event
	for _, e := range out.Events {
		events = append(events, threads.Event{Event: e.Event, Data: e.Data})
	}
	err = t.Step(ctx, within.Node, r.guardItem, events)
	if err != nil {
		return nil, err
	}
	return ControlOf(out.Data)
}

// ControlOf reads the decision in the result of run_hooks.
func ControlOf(data any) (*steps.Control, error) {
	raw, err := jsonx.Marshal(data)
	var res steps.HookResult
	if err == nil {
		err = json.Unmarshal(raw, &res)
	}
	if err != nil {
		return nil, diag.New(diag.Internal, "reading the decision of hooks: %w", err)
	}
	return res.Control, nil
}
