package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/testing/stepevents"
	"github.com/ryeos/rye/internal/yamlx"
)

// layer returns a layer of config:agent/hooks.
func layer(t *testing.T, source int64, path, hooks string) HookLayer {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(hooks))
	if doc == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	return HookLayer{Source: source, Path: path, Doc: doc}
}

func builtin(t *testing.T) HookLayer {
	b, err := os.ReadFile("../../stdlib/.ai/config/agent/hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return layer(t, BuiltinHooks, "builtin", string(b))
}

// executor runs the control item itself and records every other action.
func executor(t *testing.T, ran *[]string, data map[string]any) func(context.Context, Action) (any, error) {
	return func(ctx context.Context, a Action) (any, error) {
		if a.ID == hooks.ControlID {
			out, err := control(ctx, Input{Params: a.Params})
			if err != nil {
				return nil, err
			}
			return object(out) // the whole output, as a native returns it
		}
		b, err := json.Marshal(a.Params)
		if err != nil {
			t.Fatal(err)
		}
		*ran = append(*ran, fmt.Sprintf("%s %s:%s %s", a.Verb, a.Kind, a.ID, b))
		if err, is := data[a.ID].(error); is {
			return nil, err
		}
		return data[a.ID], nil
	}
}

// run runs the hooks of an event and returns the result, the events, and what ran.
func run(t *testing.T, hooks []Hook, event, scope string, data map[string]any) (out Output, ran []string) {
	t.Helper()
	list, err := object(map[string]any{"hooks": hooks})
	if err != nil {
		t.Fatal(err)
	}
	s, b := services(t, nil), broker{}
	s.Execute = b.record(executor(t, &ran, data))
	in := Input{Services: s, Params: map[string]any{"event": event, "context": parse(t, scope), "hooks": list["hooks"]}}
	out, err = runHooks(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	sameAsTwin(t, "run_hooks", in, b, out, nil)
	return out, ran
}

func load(t *testing.T, layers []HookLayer, of ...hooks.Hook) []Hook {
	t.Helper()
	list, fs := LoadHooks(layers, of, "directive:x", rules(t))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	return list
}

// rules returns the events of hooks that rye ships.
func rules(t *testing.T) *hooks.Rules {
	t.Helper()
	root, err := services(t, nil).Config(t.Context(), EventsConfig)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadRules(root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decided(out Output) string {
	c, _ := out.Data["control"].(map[string]any)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%v by %v", c["action"], c["by"])
}

// Sources are in the order user, directive, project, builtin; a layer only raises; the
// first decision ends the run, except for observers.
func TestHookOrder(t *testing.T) {
	tool := func(id, more string) string {
		return fmt.Sprintf("{id: %s, event: after_step, tool: %s%s}", id, id, more)
	}
	layers := []HookLayer{
		layer(t, BuiltinHooks, "builtin", "hooks: ["+tool("four", "")+","+tool("five", ", layer: 5")+","+tool("same", "")+"]"),
		layer(t, ProjectHooks, "project", "hooks: ["+tool("three", "")+","+tool("same", "")+"]"),
		layer(t, UserHooks, "user", "hooks: ["+tool("one", "")+","+tool("raised", ", layer: 4")+"]"),
	}
	of := []hooks.Hook{{ID: "two", Event: "after_step", OnFailure: "continue", Action: hooks.Action{Primary: "execute", Kind: "tool", ID: "two"}}}
	list := load(t, layers, of...)
	order := func(ran []string) string {
		var out []string
		for _, r := range ran {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(r, "execute tool:"), " null"))
		}
		return strings.Join(out, " ")
	}
	_, ran := run(t, list, "after_step", `{}`, nil)
	if got, want := order(ran), "one two three same four raised five"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	out, ran := run(t, list, "after_step", `{}`, map[string]any{"two": map[string]any{"control": map[string]any{"action": "suspend"}}, "five": map[string]any{"control": map[string]any{"action": "abort"}}})
	if got, want := order(ran), "one two five"; got != want || decided(out) != "suspend by two" {
		t.Errorf("order %s, want %s: %s", got, want, decided(out))
	}
	if len(out.Events) != 4 || out.Events[2].Event != "control" {
		t.Errorf("events %v", out.Events)
	}
	events := shippedEvents(t)
	for _, e := range out.Events {
		if err := events.Check(stepevents.SourceStep, e.Event, e.Data); err != nil {
			t.Error(err)
		}
	}
}

func shippedEvents(t *testing.T) *stepevents.Events {
	t.Helper()
	root, err := services(t, nil).Config(t.Context(), EventsConfig)
	if err != nil {
		t.Fatal(err)
	}
	events, err := stepevents.ReadEvents(root)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestHookLayers(t *testing.T) {
	// A lower number than that of the source is a warning and has no effect.
	hooks, fs := LoadHooks([]HookLayer{layer(t, ProjectHooks, "p.yaml", "hooks: [{id: x, event: error, layer: 1, tool: t/x}]")}, nil, "", rules(t))
	if len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || fs[0].Path != "p.yaml" || len(hooks) != 1 || hooks[0].Source != ProjectHooks {
		t.Errorf("%v %v", hooks, fs)
	}
	// A project does not replace a hook of the user.
	hooks = load(t, []HookLayer{
		layer(t, ProjectHooks, "p", "hooks: [{id: guard, event: before_tool, tool: p/x}]"),
		layer(t, UserHooks, "u", "hooks: [{id: guard, event: before_tool, tool: u/x}]"),
	})
	if len(hooks) != 2 || hooks[0].Item != "u/x" {
		t.Errorf("%v", hooks)
	}
	for src, want := range map[string]string{
		`{id: x, event: eror, tool: t/x}`:                                "event",
		`{id: x, event: error, tool: t/x, conditon: "a"}`:                "conditon",
		`{id: x, event: error, tool: t/x, condition: {path: a, op: is}}`: "op",
		`{event: error, tool: t/x}`:                                      "id",
		`{id: x, event: error}`:                                          "action",
		`{id: x, event: error, tool: t/x, condition: {}}`:                "empty",
	} {
		_, fs := LoadHooks([]HookLayer{layer(t, ProjectHooks, "p.yaml", "hooks: ["+src+"]")}, nil, "", rules(t))
		if !diag.Failed(fs) || !strings.Contains(fs[0].Message, want) || fs[0].Line != 1 {
			t.Errorf("%s: %v, want %q", src, fs, want)
		}
	}
}

// One denial wins where a hook guards a call, whatever ran before.
func TestHookDenial(t *testing.T) {
	decide := func(action string) map[string]any {
		return map[string]any{"control": map[string]any{"action": action}}
	}
	hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", "hooks: [{id: a, event: before_tool, tool: a}, {id: b, event: before_tool, tool: b}, {id: c, event: before_tool, tool: c}]")})
	for _, c := range []struct {
		data map[string]any
		want string
	}{
		{map[string]any{}, ""},
		{map[string]any{"a": decide("skip"), "b": decide("deny"), "c": decide("skip")}, "deny by b"},
		{map[string]any{"a": decide("skip")}, "skip by a"},
		{map[string]any{"a": map[string]any{"success": true, "data": decide("deny")}}, "deny by a"},
		{map[string]any{"b": decide("deny"), "c": decide("deny")}, "deny by b"},
		{map[string]any{"c": errors.New("broken")}, "deny by c"}, // fails closed
		{map[string]any{"c": decide("continue")}, "deny by c"},   // may not decide this
		{map[string]any{"a": map[string]any{"control": "skip"}}, "deny by a"},
		{map[string]any{"a": decide("retyr")}, "deny by a"},             // a broken decision
		{map[string]any{"a": map[string]any{"action": "continue"}}, ""}, // data of a tool
		{map[string]any{"a": "text", "b": []any{"x"}, "c": int64(1)}, ""},
	} {
		out, ran := run(t, hooks, "before_tool", `{"call":{"name":"x"}}`, c.data)
		if len(ran) != 3 || decided(out) != c.want {
			t.Errorf("%v: ran %d, %q, want %q", c.data, len(ran), decided(out), c.want)
		}
	}
}

func TestHookFailure(t *testing.T) {
	// There is no call to deny after it ran: deny keeps the thread from continuing.
	for onFailure, want := range map[string]string{"": "", "continue": "", "deny": "escalate by x", "fail": "fail by x"} {
		more := ""
		if onFailure != "" {
			more = ", on_failure: " + onFailure
		}
		hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", "hooks: [{id: x, event: after_tool, tool: a, params: {n: \"${call.missing}\"}"+more+"}]")})
		out, ran := run(t, hooks, "after_tool", `{"call":{}}`, nil)
		if len(ran) != 0 || decided(out) != want || out.Events[0].Data["ok"] != false || !strings.Contains(out.Events[0].Data["error"].(string), "call.missing") {
			t.Errorf("%q: %q, want %q: %v", onFailure, decided(out), want, out.Events)
		}
	}
}

// A hook that decides to stop stops also if its decision cannot be read: a mistake in it
// must not let the thread continue.
func TestHookFailsClosed(t *testing.T) {
	decide := func(action string) map[string]any {
		return map[string]any{"a": map[string]any{"control": map[string]any{"action": action}}}
	}
	for _, c := range []struct {
		name, event, action string
		data                map[string]any
		want                string
	}{
		{"a template of the message", "after_tool", "action: escalate, params: {message: \"${call.missing}\"}", nil, "escalate by x"},
		{"a template of a failure", "after_step", "action: fail, params: {message: \"${none}\"}", nil, "fail by x"},
		{"a template of a suspension", "before_model", "action: suspend, params: {message: \"${none}\"}", nil, "suspend by x"},
		{"a template of a target", "after_tool", "action: escalate, params: {to: \"${call.name}\"}", nil, "escalate by x"},
		{"a template of a retry", "error", "action: retry, params: {feedback: \"${none}\"}", nil, ""},
		{"a misspelled result", "after_tool", "tool: a", decide("esclate"), "escalate by x"},
		{"a result without action", "after_step", "tool: a", map[string]any{"a": map[string]any{"control": map[string]any{"to": "person"}}}, "escalate by x"},
		{"an unknown member", "after_step", "tool: a", map[string]any{"a": map[string]any{"control": map[string]any{"action": "escalate", "too": "person"}}}, "escalate by x"},
		{"not permitted here", "before_model", "tool: a", decide("escalate"), "suspend by x"},
		{"not permitted, and of no consequence", "before_model", "tool: a", decide("retry"), ""},
		{"the outputs", "directive_return", "tool: a", decide("escalate"), "fail by x"},
	} {
		list := load(t, []HookLayer{layer(t, ProjectHooks, "p", "hooks: [{id: x, event: "+c.event+", "+c.action+"}]")})
		out, _ := run(t, list, c.event, `{"call":{"name":"n"}}`, c.data)
		if decided(out) != c.want || out.Events[0].Data["ok"] != false {
			t.Errorf("%s: %q, want %q: %v", c.name, decided(out), c.want, out.Events)
		}
	}
}

// A hook whose decision can be seen to be wrong keeps the thread from starting.
func TestHookUnusable(t *testing.T) {
	for src, want := range map[string]string{
		`{id: x, event: after_tool, action: escalate, params: {to: persn}}`:                                                `to is "persn"`,
		`{id: x, event: after_tool, action: escalate, params: {too: person}}`:                                              `unknown parameter "too"`,
		`{id: x, event: before_model, action: escalate}`:                                                                   "before_model does not permit",
		`{id: x, event: after_tool, tool: rye/agent/threads/internal/control, params: {action: esclate}}`:                  `action is "esclate"`,
		`{id: x, event: after_tool, tool: rye/agent/threads/internal/control}`:                                             `action is ""`,
		`{id: x, event: thread_completed, action: {item_id: rye/agent/threads/internal/control, params: {action: abort}}}`: "no hook decides there",
	} {
		_, fs := LoadHooks([]HookLayer{layer(t, ProjectHooks, "p.yaml", "hooks: ["+src+"]")}, nil, "", rules(t))
		if !diag.Failed(fs) || !strings.Contains(fs[0].Message, want) || fs[0].Line != 1 || fs[0].Path != "p.yaml" {
			t.Errorf("%s: %v, want %q", src, fs, want)
		}
	}
	// An event of the runs of graphs is of no consequence for a thread.
	list, fs := LoadHooks([]HookLayer{layer(t, ProjectHooks, "p.yaml", "hooks: [{id: x, event: node_started, tool: t/x}]")}, nil, "", rules(t))
	if len(list) > 0 || len(fs) > 0 {
		t.Errorf("%v %v", list, fs)
	}
}

func TestHookTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", "hooks: [{id: x, event: after_tool, tool: a, on_failure: fail}]")})
		list, err := object(map[string]any{"hooks": hooks})
		if err != nil {
			t.Fatal(err)
		}
		s := services(t, nil)
		s.Now = time.Now
		s.Execute = func(ctx context.Context, _ Action) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		out, err := runHooks(t.Context(), Input{Services: s, Params: map[string]any{"event": "after_tool", "context": map[string]any{}, "hooks": list["hooks"]}})
		if err != nil || decided(out) != "fail by x" || out.Events[0].Data["duration_ms"] != int64(30_000) {
			t.Errorf("%v, %v", out, err)
		}
	})
}

// Values keep their type, and text of the context is never a template.
func TestHookParams(t *testing.T) {
	hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", `hooks: [{id: x, event: after_tool, tool: "log/${call.name}", params: {whole: "${call.input}", text: "cost ${cost}", n: "${turn}", none: "${result.error?}"}}]`)})
	_, ran := run(t, hooks, "after_tool", `{"call":{"name":"a","input":{"q":"${turn} {base}"}},"cost":"0.01","turn":3,"result":{}}`, nil)
	if want := []string{`execute tool:log/a {"n":3,"none":null,"text":"cost 0.01","whole":{"q":"${turn} {base}"}}`}; !slices.Equal(ran, want) {
		t.Errorf("%q, want %q", ran, want)
	}
}

// error.code is each name of the error.
func TestErrorNames(t *testing.T) {
	const scope = `{"error":{"code":"rate_limit_exceeded","message":"slow"},"classification":{"id":"http_429","category":"rate_limited","code":"PROVIDER_ERROR","aliases":["rate_limit"],"action":"x"},"attempt":1}`
	for condition, want := range map[string]bool{
		"error.code == 'rate_limit_exceeded'":            true,
		"error.code == 'http_429'":                       true,
		"error.code == 'rate_limited'":                   true,
		"error.code == 'rate_limit'":                     true,
		"error.code == 'PROVIDER_ERROR'":                 true,
		"error.code == 'slow'":                           false,
		"error.code in ['x', 'rate_limit']":              true,
		"error.code matches '^http_'":                    true,
		"not error.code == 'rate_limit'":                 false,
		"error.code != 'rate_limit'":                     false,
		"error.code != 'other'":                          true,
		"exists(error.code) and error.message == 'slow'": true,
	} {
		hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", fmt.Sprintf("hooks: [{id: x, event: error, tool: a, params: {code: \"${error.code}\"}, condition: %q}]", condition))})
		_, ran := run(t, hooks, "error", scope, nil)
		if (len(ran) == 1) != want {
			t.Errorf("%s: ran %v, want %v", condition, ran, want)
		}
		if want && ran[0] != `execute tool:a {"code":"rate_limit_exceeded"}` {
			t.Errorf("a parameter is not the code itself: %s", ran)
		}
	}
}

// The builtin hooks decide as the classifier proposes.
func TestBuiltinHooks(t *testing.T) {
	hooks := load(t, []HookLayer{builtin(t)})
	for _, c := range []struct{ event, scope, want string }{
		{"error", `{"error":{},"classification":{"action":"retry","delay":2.5,"message":"m"}}`, "retry by retry"},
		{"error", `{"error":{},"classification":{"action":"fail","message":"m"}}`, "fail by permanent"},
		{"error", `{"error":{},"classification":{"action":"abort","message":"m"}}`, "abort by cancelled"},
		{"error", `{"error":{},"classification":{"action":"suspend","delay":900}}`, "suspend by wait_for_rate_limit"},
		{"error", `{"error":{},"classification":{"action":"fallback"}}`, ""},
		{"limit", `{"limit":"turns","value":8,"max":8,"present":true,"headless":"deny"}`, "escalate by ask_about_limit"},
		{"limit", `{"limit":"turns","value":8,"max":8,"present":false,"headless":"suspend"}`, "escalate by ask_about_limit"},
		{"limit", `{"limit":"turns","value":8,"max":8,"present":false,"headless":"deny"}`, "fail by limit"},
		{"context_limit", `{"limit":"window","value":0.91,"max":0.9}`, "continue by context_limit"},
		{"thread_started", `{}`, ""},
	} {
		out, _ := run(t, hooks, c.event, c.scope, nil)
		if got := decided(out); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.event, c.scope, got, c.want)
		}
	}
	out, _ := run(t, hooks, "error", `{"error":{},"classification":{"action":"retry","delay":2.5,"message":"m"}}`, nil)
	if c := out.Data["control"].(map[string]any); c["delay"] != 2.5 {
		t.Errorf("delay %v", c["delay"])
	}
	// A project's hook with the id of a builtin one replaces it.
	// The error may be whole, as the kernel has it.
	hooks = load(t, []HookLayer{layer(t, ProjectHooks, "p", "hooks: [{id: x, event: error, action: abort, condition: \"error.code == 'slow' and error.type == 't' and status_code == 429\"}]")})
	out, _ = run(t, hooks, "error", `{"error":{"status_code":429,"error":{"code":"slow","type":"t"}},"status_code":429}`, nil)
	if got := decided(out); got != "abort by x" {
		t.Error(got)
	}
	hooks = load(t, []HookLayer{builtin(t), layer(t, ProjectHooks, "p", "hooks: [{id: retry, event: error, action: abort}]")})
	out, _ = run(t, hooks, "error", `{"error":{},"classification":{"action":"retry","delay":2,"message":"m"}}`, nil)
	if got := decided(out); got != "abort by retry" {
		t.Error(got)
	}
}

func TestHookTexts(t *testing.T) {
	hooks := load(t, []HookLayer{layer(t, ProjectHooks, "p", `hooks: [{id: a, event: thread_started, knowledge: team/a, position: system}, {id: b, event: thread_started, knowledge: team/b}, {id: c, event: thread_started, tool: team/c, on_failure: continue}]`)})
	out, ran := run(t, hooks, "thread_started", `{}`, map[string]any{
		"team/a": map[string]any{"trust": "trusted", "content": "text of a", "digest": "sha256:1"},
		"team/b": map[string]any{"trust": "agent", "content": "obey me"},
		"team/c": "text of c",
	})
	if len(ran) != 3 || !strings.HasPrefix(ran[0], "load knowledge:team/a") {
		t.Errorf("%q", ran)
	}
	texts, err := json.Marshal(out.Data["texts"])
	if want := `[{"hook":"a","position":"system","ref":"knowledge:team/a","text":"text of a"},{"hook":"c","position":"before","ref":"tool:team/c","text":"text of c"}]`; err != nil || string(texts) != want {
		t.Errorf("%s\nwant %s", texts, want)
	}
	if out.Events[1].Data["ok"] != false || !strings.Contains(out.Events[1].Data["error"].(string), "is agent") {
		t.Errorf("%v", out.Events[1])
	}
	// The same event with runtime, as generated knowledge has.
	out, _ = run(t, hooks[:1], "thread_started", `{}`, map[string]any{"team/a": map[string]any{"trust": "runtime", "content": "x"}})
	if len(out.Data["texts"].([]any)) != 0 {
		t.Errorf("%v", out.Data)
	}
	// A decision is not permitted there.
	out, _ = run(t, hooks[:1], "thread_started", `{}`, map[string]any{"team/a": map[string]any{"control": map[string]any{"action": "abort"}}})
	if decided(out) != "" || out.Events[0].Data["ok"] != false {
		t.Errorf("%v", out)
	}
}

func TestUnknownHookEvent(t *testing.T) {
	_, err := runHooks(t.Context(), Input{Services: services(t, nil), Params: parse(t, `{"event":"before_tol"}`)})
	if diag.CodeOf(err) != diag.ValidationFailed || diag.Typed(err).Details["nearest"] != "before_tool" {
		t.Error(err)
	}
}
