package activity_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

func view() *activity.View {
	return activity.New(activity.Start{
		ThreadID: "triage-1", Ref: "directive:demo/triage", Version: "1.0.0", Signer: "ada (0123abcd)", Model: "scripted-1",
		Limits: threads.Limits{Turns: 6, Spend: 200_000_000}, Attempts: 4,
	})
}

func line(event, data string) *transcript.Line {
	return &transcript.Line{Event: event, Data: json.RawMessage(data)}
}

// TestLines renders events whose data fit the shipped schemas: a line for an event that
// nothing records would be of no use.
func TestLines(t *testing.T) {
	events := shipped(t)
	v := view()
	if got, want := v.First(), "thread triage-1  directive:demo/triage@1.0.0 signed by ada (0123abcd)  scripted-1  budget $0.20"; got != want {
		t.Errorf("the first line is %q", got)
	}
	for _, c := range []struct{ event, data, want string }{
		{"tool_call", `{"turn":1,"call_id":"a","name":"rye__file-system__read","ref":"tool:rye/file-system/read","input":{"file_path":"x.md"},"decision":"run"}`, ""},
		{"tool_result", `{"call_id":"a","is_error":false,"content":[],"bytes":1,"cut":false,"duration_ms":12}`, "  rye/file-system/read x.md  ok 12ms"},
		{"tool_result", `{"call_id":"a","is_error":true,"content":[],"bytes":1,"cut":false,"duration_ms":1200}`, "  rye/file-system/read x.md  failed 1.2s"},
		{"tool_denied", `{"call_id":"a","code":"POLICY_DENIED","message":"Not this file."}`, "  rye/file-system/read x.md  denied  POLICY_DENIED: Not this file."},
		{"tool_denied", `{"call_id":"b","ref":"tool:rye/bash/bash","capability":"rye.execute.tool.rye.bash.bash","code":"PERMISSION_DENIED","message":"running tool:rye/bash/bash: not permitted"}`,
			"  rye/bash/bash  denied  PERMISSION_DENIED: running tool:rye/bash/bash: not permitted"},
		{"tool_result", `{"call_id":"b","is_error":true,"content":[],"bytes":1,"cut":false,"duration_ms":0}`, ""},
		{"tool_denied", `{"call_id":"c","code":"POLICY_DENIED","message":"no"}`, "  call c  denied  POLICY_DENIED: no"},
		{"model_response", `{"turn":1,"attempt":1,"blocks":[],"stop":"end","usage":{"input":9000,"output":500},"cost":"0.034","model":"m","duration_ms":1}`, "turn 1/6  9.5k tok  $0.034/$0.20"},
		{"model_response", `{"turn":2,"attempt":1,"blocks":[{"type":"tool_call","id":"d","name":"rye__bash__bash","input":{"command":"sh x.sh"}},{"type":"tool_call","id":"e","name":"team__x","input":{"b":[1],"a":"y z"}}],"stop":"tool_calls","usage":{"input":0,"output":0},"cost":"0","model":"m","duration_ms":1}`,
			"turn 2/6  9.5k tok  $0.034/$0.20"},
		{"tool_call", `{"turn":2,"call_id":"d","name":"rye__bash__bash","ref":"tool:rye/bash/bash","input":{"command":"sh x.sh","timeout":120},"decision":"run"}`, ""},
		{"tool_result", `{"call_id":"d","ref":"tool:rye/bash/bash","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"EXECUTION_FAILED\",\"message\":\"running tool:rye/bash/bash: exit status 1\"}}"}],"bytes":1,"cut":false,"duration_ms":3}`,
			"  rye/bash/bash sh x.sh  failed 3ms: exit status 1"},
		{"tool_result", `{"call_id":"e","ref":"tool:team/x","is_error":true,"content":[{"type":"text","text":"no such file\nand more"}],"bytes":1,"cut":false,"duration_ms":3}`,
			"  team/x a=y z b=[1]  failed 3ms: no such file"},
		{"tool_result", `{"call_id":"e","ref":"tool:team/x","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"TIMEOUT\",\"message\":\"too slow\"}}"}],"bytes":1,"cut":false,"duration_ms":3}`,
			"  team/x a=y z b=[1]  failed 3ms: TIMEOUT: too slow"},
		{"model_error", `{"turn":2,"attempt":2,"code":"CANCELLED","message":"cancelled"}`, ""},
		{"model_error", `{"turn":2,"attempt":1,"category":"rate_limited","code":"PROVIDER_ERROR","message":"slow down","retry_in_ms":2500}`,
			"  model error  PROVIDER_ERROR rate_limited: slow down; retry in 2.5 s (attempt 2 of 4)"},
		{"model_error", `{"turn":2,"attempt":2,"code":"AUTH_FAILED","message":"no"}`, "  model error  AUTH_FAILED: no"},
		{"model_switched", `{"from":"p:a","to":"q:b","reason":"overloaded"}`, "  model switched  from p:a to q:b: overloaded"},
		{"limit_reached", `{"limit":"turns","value":6,"max":6}`, "  limit reached  turns: 6 of 6"},
		{"limit_reached", `{"limit":"turns","value":6,"max":6}`, ""}, // the step and the kernel
		{"limit_reached", `{"limit":"spend","value":"0.190000000","max":"0.200000000"}`, "  limit reached  spend: $0.19 of $0.20"},
		{"limit_reached", `{"limit":"duration_seconds","value":1800,"max":1800}`, "  limit reached  duration: 1800 of 1800 s"},
		{"budget_warning", `{"scope":"thread","value":"0.170000000","max":"0.200000000"}`, "  budget warning  thread: $0.17 of $0.20"},
		{"watchdog", `{"kind":"repeated_calls","count":3,"fingerprint":"f"}`, "  watchdog  3 equal calls with equal results in a row"},
		{"watchdog", `{"kind":"repeated_failures","count":4,"fingerprint":"f"}`, "  watchdog  4 failures of one tool in a row"},
		{"watchdog", `{"kind":"same_file","count":4,"fingerprint":"f"}`, "  watchdog  4 same file"},
		{"context_pressure", `{"ratio":0.82,"tokens":32800,"window":40000}`, "  context  the next request fills 82 % of the window, 32.8k of 40.0k tok"},
		{"context_limit", `{"ratio":1.1,"tokens":44000,"window":40000}`, "  context  the next request does not fit: 110 % of the window, 44.0k of 40.0k tok"},
		{"hook_run", `{"event":"after_tool","hook":"log","ref":"tool:team/log","ok":true,"duration_ms":1}`, ""},
		{"hook_run", `{"event":"after_tool","hook":"log","ref":"tool:team/log","ok":false,"error":"timed out","duration_ms":1}`, "  hook log of after_tool  failed: timed out"},
		{"thread_resumed", `{"from_seq":17,"pid":1}`, "  resumed  after line 17 of the log"},
		{"turn_started", `{"turn":1}`, ""},
	} {
		parsed, fs := jsonx.ParseMessage([]byte(c.data))
		if len(fs) > 0 {
			t.Fatal(fs)
		}
		if err := events.Check(steps.SourceKernel, c.event, parsed); err != nil {
			t.Errorf("%s: %v", c.event, err)
		}
		if got := v.Event(line(c.event, c.data)); got.Line != c.want || got.Streamed != "" {
			t.Errorf("%s: %+v, want %q", c.event, got, c.want)
		}
	}
}

// TestStreamed shows the text of an answer and nothing else of it, without control
// characters.
func TestStreamed(t *testing.T) {
	v := view()
	if got := v.Event(line("token_delta", `{"turn":1,"kind":"text","text":"a\tb\n\u001b[2Jc"}`)); !strings.HasPrefix(got.Streamed, "a\tb\n") || strings.Contains(got.Streamed, "\x1b") || !strings.HasSuffix(got.Streamed, "c") {
		t.Errorf("%q", got)
	}
	if got := v.Event(line("token_delta", `{"turn":1,"kind":"reasoning","text":"hm"}`)); got != (activity.Shown{}) {
		t.Errorf("%q", got)
	}
}

// TestHostile renders what a model or a tool chose, on one line of a bounded length.
func TestHostile(t *testing.T) {
	text, err := json.Marshal("x\n\x1b]0;title\x07" + strings.Repeat("y", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for event, data := range map[string]string{
		"tool_denied":    `{"call_id":` + s + `,"ref":` + s + `,"code":"C","message":` + s + `}`,
		"model_error":    `{"turn":1,"attempt":1,"message":` + s + `}`,
		"model_switched": `{"from":` + s + `,"to":` + s + `,"reason":` + s + `}`,
		"limit_reached":  `{"limit":` + s + `,"value":` + s + `,"max":` + s + `}`,
		"budget_warning": `{"scope":` + s + `,"value":` + s + `,"max":` + s + `}`,
		"watchdog":       `{"kind":` + s + `,"count":1,"fingerprint":` + s + `}`,
		"hook_run":       `{"event":` + s + `,"hook":` + s + `,"ref":"r","ok":false,"error":` + s + `,"duration_ms":1}`,
	} {
		got := view().Event(line(event, data)).Line
		if got == "" || strings.ContainsAny(got, "\n\x1b\x07") || len([]rune(got)) > 1000 {
			t.Errorf("%s: %d characters: %.200q", event, len([]rune(got)), got)
		}
	}
}

func shipped(t *testing.T) *steps.Events {
	t.Helper()
	b, err := os.ReadFile("../../stdlib/.ai/config/" + steps.EventsConfig + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, fs := yamlx.Parse(b)
	if doc == nil {
		t.Fatal(fs)
	}
	events, err := steps.ReadEvents(doc.Root)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestWaiting: a view counts down to the next attempt of a failed call, and not beyond it.
func TestWaiting(t *testing.T) {
	v := activity.New(activity.Start{Attempts: 4})
	at := time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC)
	line := func(event, data string) activity.Shown {
		return v.Event(&transcript.Line{Seq: 1, Time: at.Format("2006-01-02T15:04:05.000Z"), Event: event, Data: json.RawMessage(data)})
	}
	if v.Waiting(at) != "" {
		t.Error("a thread waits before its first call")
	}
	shown := line("model_error", `{"turn":1,"attempt":1,"category":"rate_limited","code":"PROVIDER_ERROR","message":"slow down","retry_in_ms":372300}`)
	if want := "  model error  PROVIDER_ERROR rate_limited: slow down; retry in 6m12s (attempt 2 of 4)"; shown.Line != want {
		t.Errorf("%q, want %q", shown.Line, want)
	}
	for after, want := range map[time.Duration]string{0: "6m12s", 70 * time.Second: "5m2s", 372 * time.Second: ""} {
		if got := v.Waiting(at.Add(after)); got != "" && got != "  waiting for the service  "+want || (got == "") != (want == "") {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	line("model_request", `{}`)
	if got := v.Waiting(at); got != "" {
		t.Errorf("it waits after the next request: %q", got)
	}
}
