package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// A hook may skip a node, fail it, end the run or suspend it, and its own failure
// follows on_failure. It has the permissions of the run.
func TestHooks(t *testing.T) {
	decide := func(action string) func(context.Context, Call) (any, error) {
		return func(context.Context, Call) (any, error) {
			return map[string]any{"action": action, "message": "because"}, nil
		}
	}
	for name, c := range map[string]struct {
		hook, permissions string
		status            string
		code              diag.Code
		output            string
	}{
		"nothing":                        {hook: "{id: h, event: node_started, action: {item_id: t/echo}}", status: StateCompleted, output: "map[a:map[v:1] b:2]"},
		"skip":                           {hook: "{id: h, event: node_started, condition: \"node == 'a'\", action: {item_id: t/skip}}", status: StateCompleted, output: "map[a:map[skipped:true] b:2]"},
		"fail":                           {hook: "{id: h, event: node_started, action: {item_id: t/fails}}", status: StateError, code: diag.ExecutionFailed},
		"abort":                          {hook: "{id: h, event: node_started, action: {item_id: t/abort}}", status: StateCancelled, code: diag.Cancelled},
		"suspend":                        {hook: "{id: h, event: node_started, condition: \"node == 'b'\", action: {item_id: t/suspend}}", status: StateSuspended},
		"error":                          {hook: "{id: h, event: node_started, action: {item_id: t/fail}}", status: StateCompleted, output: "map[a:map[v:1] b:2]"},
		"deny":                           {hook: "{id: h, event: node_started, on_failure: deny, action: {item_id: t/fail}}", status: StateError, code: diag.ExecutionFailed},
		"a word that graphs do not have": {hook: "{id: h, event: node_started, action: {item_id: t/escalate}}", status: StateError, code: diag.ValidationFailed},
		"another result":                 {hook: "{id: h, event: node_started, action: {item_id: t/logged}}", status: StateCompleted, output: "map[a:map[v:1] b:2]"},
		"a misspelled decision":          {hook: "{id: h, event: node_started, action: {item_id: t/misspelled}}", status: StateError, code: diag.ValidationFailed},
		"a template of a decision": {hook: "{id: h, event: node_started, action: {item_id: rye/agent/threads/internal/control, params: {action: abort, message: \"${state.gone}\"}}}",
			status: StateError, code: diag.ValidationFailed},
		"permitted": {hook: "{id: h, event: graph_started, on_failure: fail, action: {item_id: other/echo}}", permissions: "permissions: [rye.execute.tool.t.*]\n",
			status: StateError, code: diag.PermissionDenied},
	} {
		f := newFake()
		f.do["t/skip"], f.do["t/fails"], f.do["t/abort"], f.do["t/suspend"] = decide("skip"), decide("fail"), decide("abort"), decide("suspend")
		f.do["t/escalate"], f.do["t/logged"] = decide("escalate"), decide("logged")
		f.do["t/misspelled"] = func(context.Context, Call) (any, error) {
			return map[string]any{"control": map[string]any{"action": "abrt"}, "action": "abrt"}, nil
		}
		f.do["rye/agent/threads/internal/control"] = decide("abort")
		f.do["other/echo"] = f.do["t/echo"]
		text := head + c.permissions + "config: {start: a, hooks: [" + c.hook + `], nodes: {a: {action: {item_id: t/echo, params: {v: 1}}, assign: {a: "${result}"}, next: b}, b: {action: {item_id: t/echo}, assign: {b: 2}}}}`
		p := params(t, f)
		r, err := Start(t.Context(), parse(t, text), item.Digest{}, nil, p)
		if diag.CodeOf(err) != c.code || r == nil || r.Status != c.status || c.output != "" && fmt.Sprint(r.Output) != c.output {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if name == "permitted" && f.count("other/echo") > 0 {
			t.Error("a hook did what the run may not do")
		}
		if name == "fail" && !strings.Contains(err.Error(), "the hook h decided: because") {
			t.Errorf("fail: %v", err)
		}
	}
}
