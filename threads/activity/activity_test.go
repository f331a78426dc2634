package activity_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/testing/stepevents"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

func tree() *activity.Tree {
	return activity.New(activity.Start{
		ThreadID: "triage-1", Ref: "directive:demo/triage", Version: "1.0.0", Signer: "ada", Model: "scripted-1", Turns: 6, Spend: 200_000_000, Attempts: 4,
	})
}

func line(event, data string) *transcript.Line {
	return &transcript.Line{Event: event, Time: "2026-11-22T10:30:00.000Z", Data: json.RawMessage(data)}
}

// shown writes changes as text, one a line.
func shown(changes []activity.Change) string {
	var out []string
	for _, c := range changes {
		b := c.Block
		text := fmt.Sprintf("%s %s", b.Kind, b.State)
		if b.Number > 0 {
			text += fmt.Sprintf(" #%d", b.Number)
		}
		for _, s := range []string{b.Title, b.Args, b.Text} {
			if s != "" {
				text += " | " + s
			}
		}
		if b.Printed > 0 {
			text += fmt.Sprintf(" | %d lines: %s", b.Printed, strings.Join(b.Output, "/"))
		}
		if b.Kind == activity.Turn {
			text += fmt.Sprintf("/%d %d %s/%s", b.MaxTurns, b.Tokens, activity.Money(b.Spent), activity.Money(b.Max))
		}
		if b.Total > 0 {
			text += fmt.Sprintf(" %d/%d %d failed", b.Done, b.Total, b.Failures)
		}
		if c.Ended != !b.Ended.IsZero() {
			text += " WRONG END"
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// TestBlocks passes events whose data fit the shipped schemas: a block for an event that
// nothing records would be of no use.
func TestBlocks(t *testing.T) {
	events := shipped(t)
	v := tree()
	for _, c := range []struct{ event, data, want string }{
		{"thread_started", `{"directive":{"ref":"directive:demo/triage"},"signer":"s","extends":[],"inputs":{},"loop":{},"steps":[],"model":"scripted-1","provider":{},"limits":{},"held":[],"workspace":{},"parent":null,"rye":"1"}`,
			"head done | demo/triage@1.0.0 | ada | scripted-1"},
		{"token_delta", `{"turn":1,"kind":"reasoning","text":"hm"}`, "reasoning open | hm"},
		{"token_delta", `{"turn":1,"kind":"text","text":"I *read*"}`, "text open | I *read*"},
		{"token_delta", `{"turn":1,"kind":"text","text":" it"}`, "text open | I *read* it"},
		{"model_response", `{"turn":1,"attempt":1,"blocks":[{"type":"text","text":"I *read* it"},{"type":"tool_call","id":"a","name":"rye__file-system__read","input":{"file_path":"x.md"}}],"stop":"tool_calls","usage":{"input":9000,"output":500},"cost":"0.034","model":"m","duration_ms":1}`,
			"reasoning done | hm\ntext done | I *read* it\nturn done #1/6 9500 0.034/0.20"},
		{"tool_call", `{"turn":1,"call_id":"a","name":"rye__file-system__read","ref":"tool:rye/file-system/read","input":{"file_path":"x.md","limit":2000},"decision":"run"}`, "call open #1 | read | x.md"},
		{"tool_result", `{"call_id":"a","is_error":false,"content":[{"type":"text","text":"one\ntwo\n"}],"bytes":1,"cut":false,"duration_ms":12}`, "call done #1 | read | x.md | 2 lines: one/two"},
		{"tool_call", `{"turn":1,"call_id":"b","name":"team__x","ref":"tool:team/x","input":{"b":[1],"a":"y z"},"decision":"run"}`, "call open #2 | team/x | a=y z b=[1]"},
		{"tool_output", `{"call_id":"b","stream":"stdout","text":"printed"}`, "call open #2 | team/x | a=y z b=[1] | 1 lines: printed"},
		{"tool_result", `{"call_id":"b","ref":"tool:team/x","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"EXECUTION_FAILED\",\"message\":\"running tool:team/x: exit status 1\"}}"}],"bytes":1,"cut":false,"duration_ms":3}`,
			"call failed #2 | team/x | a=y z b=[1] | exit 1 | 1 lines: printed"},
		{"tool_denied", `{"call_id":"c","ref":"tool:rye/bash/bash","capability":"rye.execute.tool.rye.bash.bash","code":"PERMISSION_DENIED","message":"not permitted"}`,
			"call denied #3 | bash | PERMISSION_DENIED: not permitted"},
		{"tool_call", `{"turn":1,"call_id":"c","name":"rye__bash__bash","ref":"tool:rye/bash/bash","input":{"command":"rm -r x"},"decision":"refused"}`, ""}, // it was not started
		{"tool_result", `{"call_id":"c","is_error":true,"content":[],"bytes":1,"cut":false,"duration_ms":0}`, ""},
		{"tool_denied", `{"call_id":"d","code":"POLICY_DENIED","message":"no"}`, "call denied #4 | call d | POLICY_DENIED: no"},
		{"tool_call", `{"turn":1,"call_id":"h","name":"team__z","ref":"tool:team/z","input":{"a":1},"decision":"refused"}`, "call open #5 | team/z | 1"},
		{"tool_result", `{"call_id":"h","ref":"tool:team/z","is_error":true,"content":[{"type":"text","text":"POLICY_DENIED: not this one"}],"bytes":1,"cut":false,"duration_ms":0}`, "call denied #5 | team/z | 1 | POLICY_DENIED: not this one"},
		{"tool_denied", `{"call_id":"h","code":"POLICY_DENIED","message":"not this one"}`, ""}, // of a hook, after the result
		{"tool_result", `{"call_id":"e","ref":"tool:team/y","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"TIMEOUT\",\"message\":\"too slow\"}}"}],"bytes":1,"cut":false,"duration_ms":3}`,
			"call failed | team/y | TIMEOUT: too slow"},
		{"tool_call", `{"turn":1,"call_id":"f","name":"rye__agent__threads__thread_directive","ref":"tool:rye/agent/threads/thread_directive","input":{"directive_id":"demo/scan"},"decision":"run"}`, "call open #6 | thread_directive | demo/scan"},
		{"tool_output", `{"call_id":"f","stream":"stderr","text":"thread scan-1"}`, "child open | thread_directive | demo/scan"},
		{"tool_result", `{"call_id":"f","is_error":false,"content":[],"bytes":1,"cut":false,"duration_ms":3}`, "child done | thread_directive | demo/scan\ncall done #6 | thread_directive | demo/scan"},
		{"approval_requested", `{"approval_id":"q","call_id":"g","tier":"T3","grants":[],"expires":"x","summary":"run rm?"}`, "question open | run rm?"},
		{"approval_resolved", `{"approval_id":"q","decision":"once","by":"person"}`, "question done | once by person | run rm?"},
		{"message_added", `{"role":"user","source":"client","blocks":[{"type":"text","text":"go on"}]}`, "note done | message from client  go on"},
		{"message_added", `{"role":"user","source":"nudge","blocks":[{"type":"text","text":"go on"}]}`, ""},
		{"model_error", `{"turn":2,"attempt":2,"code":"CANCELLED","message":"cancelled"}`, ""},
		{"model_error", `{"turn":2,"attempt":1,"category":"rate_limited","code":"PROVIDER_ERROR","message":"slow down","retry_in_ms":2500}`,
			"note done | model error  PROVIDER_ERROR rate_limited: slow down; retry in 2.5 s (attempt 2 of 4)"},
		{"model_error", `{"turn":2,"attempt":2,"code":"AUTH_FAILED","message":"no"}`, "note done | model error  AUTH_FAILED: no"},
		{"model_switched", `{"from":"p:a","to":"q:b","reason":"overloaded"}`, "note done | model switched  from p:a to q:b: overloaded"},
		{"limit_reached", `{"limit":"turns","value":6,"max":6}`, "note done | limit reached  turns: 6 of 6"},
		{"limit_reached", `{"limit":"turns","value":6,"max":6}`, ""}, // the step and the kernel
		{"limit_reached", `{"limit":"spend","value":"0.190000000","max":"0.200000000"}`, "note done | limit reached  spend: $0.19 of $0.20"},
		{"limit_reached", `{"limit":"duration_seconds","value":1800,"max":1800}`, "note done | limit reached  duration: 1800 of 1800 s"},
		{"budget_warning", `{"scope":"thread","value":"0.170000000","max":"0.200000000"}`, "note done | budget warning  thread: $0.17 of $0.20"},
		{"watchdog", `{"kind":"repeated_calls","count":3,"fingerprint":"f"}`, "note done | watchdog  3 equal calls with equal results in a row"},
		{"watchdog", `{"kind":"repeated_failures","count":4,"fingerprint":"f"}`, "note done | watchdog  4 failures of one tool in a row"},
		{"watchdog", `{"kind":"same_file","count":4,"fingerprint":"f"}`, "note done | watchdog  4 same file"},
		{"context_pressure", `{"ratio":0.82,"tokens":32800,"window":40000}`, "note done | context  the next request fills 82 % of the window, 32.8k of 40.0k tok"},
		{"context_limit", `{"ratio":1.1,"tokens":44000,"window":40000}`, "note done | context  the next request does not fit: 110 % of the window, 44.0k of 40.0k tok"},
		{"hook_run", `{"event":"after_tool","hook":"log","ref":"tool:team/log","ok":true,"duration_ms":1}`, ""},
		{"hook_run", `{"event":"after_tool","hook":"log","ref":"tool:team/log","ok":false,"error":"timed out","duration_ms":1}`, "note done | hook log of after_tool  failed: timed out"},
		{"thread_resumed", `{"from_seq":17,"pid":1}`, "note done | resumed  after line 17 of the log"},
		{"turn_started", `{"turn":1}`, ""},
		{"thread_completed", `{"cost":{"turns":1,"spend":"0.034"}}`, "end done | completed"},
	} {
		parsed, fs := jsonx.ParseMessage([]byte(c.data))
		if len(fs) > 0 {
			t.Fatal(fs)
		}
		if err := events.Check(stepevents.SourceKernel, c.event, parsed); err != nil {
			t.Errorf("%s: %v", c.event, err)
		}
		if got := shown(v.Add("triage-1", line(c.event, c.data))); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.event, got, c.want)
		}
	}
	if len(v.Live()) != 0 || v.State != "completed" {
		t.Errorf("open at its end: %d, %s", len(v.Live()), v.State)
	}
}

// TestGraph reads the logs of a run and of the run below it.
func TestGraph(t *testing.T) {
	events := shipped(t)
	v := activity.New(activity.Start{ThreadID: "outer-1"})
	for _, c := range []struct{ log, event, data, want string }{
		{"outer-1", "graph_started", `{"graph":"tool:demo/outer","digest":"d","inputs":null,"state":null,"node":"a","targets":[],"held":[],"limits":null,"depth":0,"nodes":3,"pid":1}`, ""},
		{"outer-1", "node_started", `{"node":"a","step":1}`, "node open #1 | a"},
		{"outer-1", "node_committed", `{"node":"a","step":1,"assign":null,"next":"each","duration_ms":1500,"cached":true}`, "node done #1 | a | cached"},
		{"outer-1", "node_started", `{"node":"each","step":2,"child":"item-1"}`, "node open #2 | each"},
		{"outer-1", "item_committed", `{"node":"each","index":0,"of":3,"at_once":2}`, "node open #2 | each 1/3 0 failed"},
		{"outer-1", "item_committed", `{"node":"each","index":1,"of":3,"at_once":2,"error":{"code":"X","message":"no"}}`, "node open #2 | each 2/3 1 failed"},
		{"outer-1", "node_failed", `{"node":"each","step":2,"error":{"code":"X","message":"no"},"attempt":1,"edge":"continue"}`, "node failed #2 | each | X: no 2/3 1 failed"},
		{"outer-1", "node_started", `{"node":"call","step":3,"child":"inner-1"}`, "node open #3 | call"},
		{"inner-1", "graph_started", `{"graph":"tool:demo/inner","digest":"d","inputs":null,"state":null,"node":"q","targets":[],"held":[],"limits":null,"depth":1,"nodes":1,"pid":1}`, ""},
		{"inner-1", "node_started", `{"node":"q","step":1}`, "node open #1 | q"},
		{"inner-1", "ask_opened", `{"node":"q","question":"go?","to":"person"}`, "question open | go?"},
		{"inner-1", "ask_answered", `{"node":"q","answer":"yes","by":"person","time":"t"}`, "question done | yes by person | go?"},
		{"inner-1", "thread_suspended", `{"reason":"wait","nodes":["q"]}`, "node suspended #1 | q | wait q\nend done | suspended | wait"},
		{"outer-1", "branch_committed", `{"node":"both","branch":"one","assign":null}`, "node done | both.one"},
		{"outer-1", "graph_failed", `{"steps":3}`, "end done | failed"},
	} {
		parsed, _ := jsonx.ParseMessage([]byte(c.data))
		if err := events.Check(stepevents.SourceGraph, c.event, parsed); err != nil && c.event != "thread_suspended" {
			t.Errorf("%s: %v", c.event, err)
		}
		if got := shown(v.Add(c.log, line(c.event, c.data))); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.event, got, c.want)
		}
	}
	if in := v.Log("inner-1"); in == nil || !in.IsGraph() || in.Depth != 1 {
		t.Errorf("the run below is %+v", in)
	}
}

// TestKeptLines: of what a call prints, the last lines are kept, and all are counted.
func TestKeptLines(t *testing.T) {
	v := tree()
	v.Add("", line("tool_call", `{"turn":1,"call_id":"a","name":"x","ref":"tool:x","input":{},"decision":"run"}`))
	for i := range 100 {
		v.Add("", line("tool_output", fmt.Sprintf(`{"call_id":"a","stream":"stdout","text":"line %d"}`, i)))
	}
	b := v.Live()[0]
	if b.Printed != 100 || len(b.Output) != 12 || b.Output[0] != "line 88" || b.Output[11] != "line 99" {
		t.Errorf("%d lines, kept %q", b.Printed, b.Output)
	}
}

// TestHostile: a note of what a model or a tool chose is one line of a bounded length.
func TestHostile(t *testing.T) {
	text, err := json.Marshal("x\n\x1b]0;title\x07" + strings.Repeat("y", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for event, data := range map[string]string{
		"model_error":    `{"turn":1,"attempt":1,"message":` + s + `}`,
		"model_switched": `{"from":` + s + `,"to":` + s + `,"reason":` + s + `}`,
		"limit_reached":  `{"limit":` + s + `,"value":` + s + `,"max":` + s + `}`,
		"budget_warning": `{"scope":` + s + `,"value":` + s + `,"max":` + s + `}`,
		"watchdog":       `{"kind":` + s + `,"count":1,"fingerprint":` + s + `}`,
		"hook_run":       `{"event":` + s + `,"hook":` + s + `,"ref":"r","ok":false,"error":` + s + `,"duration_ms":1}`,
		"message_added":  `{"role":"user","source":` + s + `,"blocks":[{"type":"text","text":` + s + `}]}`,
	} {
		changes := tree().Add("", line(event, data))
		if len(changes) != 1 || changes[0].Block.Kind != activity.Note {
			t.Fatalf("%s: %s", event, shown(changes))
		}
		if got := changes[0].Block.Text; got == "" || strings.ContainsAny(got, "\n\x1b\x07") || len([]rune(got)) > 1000 {
			t.Errorf("%s: %d characters: %.200q", event, len([]rune(got)), got)
		}
	}
}

func shipped(t *testing.T) *stepevents.Events {
	t.Helper()
	b, err := os.ReadFile("../../stdlib/.ai/config/" + steps.EventsConfig + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, fs := yamlx.Parse(b)
	if doc == nil {
		t.Fatal(fs)
	}
	events, err := stepevents.ReadEvents(doc.Root)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestWaiting: a tree counts down to the next attempt of a failed call, and not beyond it.
func TestWaiting(t *testing.T) {
	v := activity.New(activity.Start{Attempts: 4})
	at := time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC)
	if v.Waiting(at) != 0 {
		t.Error("a thread waits before its first call")
	}
	got := shown(v.Add("", line("model_error", `{"turn":1,"attempt":1,"category":"rate_limited","code":"PROVIDER_ERROR","message":"slow down","retry_in_ms":372300}`)))
	if want := "note done | model error  PROVIDER_ERROR rate_limited: slow down; retry in 6m12s (attempt 2 of 4)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for after, want := range map[time.Duration]string{0: "6m12s", 70 * time.Second: "5m2s", 373 * time.Second: "0s"} {
		if got := v.Waiting(at.Add(after)).Round(time.Second).String(); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	v.Add("", line("model_request", `{"turn":1,"model":"m","reserved":"0.017"}`))
	if v.Waiting(at) != 0 || v.Model.Name != "m" || v.Model.Reserved != 17_000_000 {
		t.Errorf("after the next request: %v, %+v", v.Waiting(at), v.Model)
	}
}
