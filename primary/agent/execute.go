package agent

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

func (w *Workspace) execute(
	ctx context.Context,
	req Request,
	args map[string]any,
) (*diag.Envelope, error) {
	env := &diag.Envelope{}
	ref, err := refOf(args)
	if err != nil {
		return env, err
	}
	call := primary.Call{
		Ref:    ref,
		Held:   req.Held,
		Within: req.Within,
		Ask:    req.Ask,
	}
	call.Params, _ = args["parameters"].(map[string]any)
	call.DryRun, _ = args["dry_run"].(bool)
	if req.Progress != nil {
		call.OnLine = func(_ proc.Stream, line []byte) {
			req.Progress(string(line))
		}
	}
	if req.Steps != nil {
		call.Within.Progress = req.Steps
	}
	if mode, _ := args["mode"].(string); mode != "" {
		if call, err = asThread(call, mode); err != nil {
			return env, err
		}
	}
	switch call.Ref.Kind {
	case item.Tool:
		// Also nil: a program below a run does not ask the user of the run's caller.
		call.Within.Asking = req.Asking
		return w.tool(ctx, call)
	case item.Directive:
		env.Data, err = w.directive(ctx, call)
	default:
		env.Data, err = w.knowledge(ctx, call)
	}
	return env, err
}

// asThread returns the call of the tool that has a thread follow a directive: it passes the
// gates of that tool, because it starts a program and spends money.
func asThread(call primary.Call, mode string) (primary.Call, error) {
	if call.Ref.Kind != item.Directive {
		return call, diag.New(diag.ValidationFailed, "executing %s: mode is for directives", call.Ref)
	}
	inputs := call.Params
	if inputs == nil {
		inputs = map[string]any{}
	}
	call.Params = map[string]any{"directive_id": call.Ref.ID, "inputs": inputs, "mode": map[string]string{"thread": "wait", "spawn": "spawn"}[mode]}
	call.Ref = item.Ref{Kind: item.Tool, ID: threadTool}
	return call, nil
}

// threadTool is the tool that starts a thread.
const threadTool = "rye/agent/threads/thread_directive"

func (w *Workspace) tool(ctx context.Context, call primary.Call) (*diag.Envelope, error) {
	if call.Within.Depth >= maxDepth {
		return &diag.Envelope{}, diag.New(diag.LimitExceeded, "executing %s: tools call tools more than %d deep", call.Ref, maxDepth)
	}
	call.Within.Depth++
	run, err := w.Verbs.Tool(ctx, call)
	meta := *run.Metadata
	env := &diag.Envelope{Data: run.Data, Metadata: &meta}
	if !call.DryRun { // these cost a model tokens and do not help it
		meta.Chain = nil
		meta.Usage = nil
		meta.Sandbox = nil
		meta.Calls = nil
		meta.MoreCalls = 0
		env.Data = present(toolOf(run), waiting(run.Data), interleaved(call))
	}
	if err != nil {
		err = presentError(toolOf(run), err)
	}
	return env, err
}

// toolOf returns the item of a run, nil if it was not planned.
func toolOf(run *primary.Run) *resolve.Item {
	if run.Plan == nil {
		return nil
	}
	return run.Plan.Chain.Tool()
}

// interleaved reports whether the caller requested the output of a command as one
// text.
func interleaved(call primary.Call) bool {
	yes, _ := call.Params["interleaved"].(bool)
	return yes
}

// maxDepth is the number of nested calls of tools by tools through the verbs.
const maxDepth = 10

// prepared is the result of executing a directive.
type prepared struct {
	Directions  string         `json:"your_directions,omitempty"`
	ID          string         `json:"id"`
	Title       string         `json:"title,omitempty"`
	Inputs      map[string]any `json:"inputs,omitempty"`
	Outputs     []item.Input   `json:"outputs,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Body        string         `json:"body,omitempty"`
}

func (w *Workspace) directive(ctx context.Context, call primary.Call) (any, error) {
	d, err := w.Verbs.Directive(ctx, call)
	if err != nil {
		return nil, err
	}
	out := prepared{
		ID:          d.Item.Ref.ID,
		Title:       d.Title,
		Inputs:      d.Inputs,
		Outputs:     d.Outputs,
		Permissions: d.Permissions,
	}
	if !call.DryRun {
		out.Directions = w.Settings.Directions
		out.Body = d.Body
	}
	return out, nil
}

func (w *Workspace) knowledge(ctx context.Context, call primary.Call) (any, error) {
	it, err := w.Verbs.Text(ctx, call)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"id": it.Ref.ID, "title": it.Meta.Title, "version": it.Meta.Version}
	if !call.DryRun {
		out["body"] = primary.Body(it)
	}
	return out, nil
}
