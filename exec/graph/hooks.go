package graph

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/hooks"
)

// skipped is the decision of a hook to leave out a node.
type skipped struct{}

// Error describes the decision.
func (*skipped) Error() string {
	return "a hook skipped the node"
}

// hookTime bounds one hook.
const hookTime = 30 * time.Second

// hooks runs the hooks of an event by their layers, until one decides; after it only
// observers run. A decision is the field action of the hook's result: skip, fail, abort
// or suspend.
func (w *walker) hooks(ctx context.Context, event string, more map[string]any) (decided error) {
	for _, h := range w.g.Hooks {
		if h.Event != event || decided != nil && h.Layer < graphdef.Observers {
			continue
		}
		step := w.startedSteps()
		scope := w.scope(w.root, step, nil)
		maps.Copy(scope, more)
		yes, err := h.Cond.Eval(scope)
		if err == nil && !yes {
			continue
		}
		var decision map[string]any
		if err == nil {
			decision, err = w.hook(ctx, h, step, scope)
		} else {
			err = diag.New(diag.ValidationFailed, "reading its condition: %w", err).WithReason("graph_compare")
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.report("hook "+h.ID, step, "failed", err.Error(), 0)
		}
		var c error
		if err == nil && h.Layer != graphdef.Observers {
			c, err = decide(h, decision, more)
		}
		switch {
		case h.Layer == graphdef.Observers:
		case err == nil:
			decided = c
		case h.OnFailure != "continue" || h.Stops() || c != nil:
			decided = diag.New(diag.CodeOf(err), "the hook %s of %s failed: %w", h.ID, event, err)
		}
	}
	return decided
}

// decide returns the decision of a hook as the error that the walker acts on, nil if the
// run continues. A decision that a graph cannot act on is an error; with it, stop is not nil
// if the run must not continue.
func decide(h *graphdef.Hook, decision, more map[string]any) (stop, err error) {
	switch action := decision["action"]; action {
	case "skip":
		return &skipped{}, nil
	case "fail":
		message, _ := decision["message"].(string)
		return diag.New(diag.ExecutionFailed, "the hook %s decided: %s", h.ID, message), nil
	case "abort":
		return fatal{diag.New(diag.Cancelled, "the hook %s cancelled the run", h.ID)}, nil
	case "suspend":
		if h.Event == "graph_suspended" || h.Event == "graph_completed" {
			return nil, nil
		}
		node, _ := more["node"].(string)
		return &Suspension{Reason: "hook", Nodes: []string{node}}, nil
	case nil, "", "continue", "retry":
		return nil, nil
	default:
		err = diag.New(
			diag.ValidationFailed,
			"it decided %v, and a hook of a graph may %s",
			action,
			strings.Join(graphdef.Decisions(h.Event), ", "),
		)
		word, _ := action.(string)
		_, control := decision["control"]
		if control || hooks.Stops(word) {
			stop = err
		}
		return stop, err
	}
}

// startedSteps returns how many nodes the run has started. Other branches start nodes meanwhile.
func (w *walker) startedSteps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.step
}

// hook calls the action of one hook with the permissions of the run.
func (w *walker) hook(
	ctx context.Context,
	h *graphdef.Hook,
	step int,
	scope map[string]any,
) (map[string]any, error) {
	within, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	began := w.p.Now()
	id, err := w.render(h.Action.ID, scope)
	if err != nil {
		return nil, err
	}
	f := &frame{base: map[string]any{}, assigned: map[string]any{}}
	a := *h.Action
	ref, t, err := w.resolve(within, f, &a, step, scope)
	var data any
	if err == nil {
		var params map[string]any
		if params, err = w.params(within, &a, ref, t, scope); err == nil {
			data, err = w.p.Dispatcher.Call(within, Call{
				Verb:   a.Verb,
				Ref:    ref,
				Params: params,
				Held:   w.held,
				RunID:  w.log.ID(),
				Key:    w.key("hook "+h.ID, step, -1),
			})
		}
	}
	d := map[string]any{
		"event":       h.Event,
		"hook":        h.ID,
		"ref":         id,
		"ok":          err == nil,
		"duration_ms": w.p.Now().Sub(began).Milliseconds(),
	}
	if err != nil {
		d["error"] = err.Error()
	}
	w.mu.Lock()
	logged := w.log.Append(evHook, d)
	w.mu.Unlock()
	out, _ := data.(map[string]any)
	return out, errors.Join(err, logged)
}
