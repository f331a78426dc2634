package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

var (
	someLimits = Limits{Turns: 8, Tokens: 40_000, Spend: 200_000_000, Spawns: 5, Depth: 3, DurationSeconds: 1800}
	someUsage  = Usage{Turns: 2, InputTokens: 9000, OutputTokens: 400, Spend: 33_000_000, DurationMS: 8000, ContextTokens: 9000, Window: 200_000}
)

func TestLimitChecker(t *testing.T) {
	for name, change := range map[string]func(*Limits, *Usage){
		`{"reached":null}`: func(*Limits, *Usage) {},
		`{"reached":{"code":"LIMIT_EXCEEDED","limit":"turns","max":8,"value":8}} limit_reached{"limit":"turns","max":8,"value":8}`:                                    func(_ *Limits, u *Usage) { u.Turns = 8 },
		`{"reached":{"code":"LIMIT_EXCEEDED","limit":"tokens","max":40000,"value":40000}} limit_reached{"limit":"tokens","max":40000,"value":40000}`:                  func(_ *Limits, u *Usage) { u.NewTokens = 40_000 },
		`{"reached":{"code":"BUDGET_EXCEEDED","limit":"spend","max":"0.20","value":"0.20"}} limit_reached{"limit":"spend","max":"0.20","value":"0.20"}`:               func(_ *Limits, u *Usage) { u.Spend = 200_000_000 },
		`{"reached":{"code":"LIMIT_EXCEEDED","limit":"duration_seconds","max":1800,"value":1800}} limit_reached{"limit":"duration_seconds","max":1800,"value":1800}`:  func(_ *Limits, u *Usage) { u.DurationMS = 1_800_500 },
		`{"reached":{"code":"LIMIT_EXCEEDED","limit":"turns","max":0,"value":2}} limit_reached{"limit":"turns","max":0,"value":2}`:                                    func(l *Limits, _ *Usage) { l.Turns = 0 },
		`{"reached":{"code":"BUDGET_EXCEEDED","limit":"spend","max":"0.00","value":"0.000000001"}} limit_reached{"limit":"spend","max":"0.00","value":"0.000000001"}`: func(l *Limits, u *Usage) { l.Spend, u.Spend = 0, 1 },
	} {
		l, u := someLimits, someUsage
		change(&l, &u)
		if got := both(t, "limit_checker", Input{Limits: l, Usage: u}); got != name {
			t.Errorf("got  %s\nwant %s", got, name)
		}
	}
	// A maximum of 0 and a model without a price.
	if got := both(t, "limit_checker", Input{Limits: Limits{Turns: 1, Tokens: 1, DurationSeconds: 1}}); got != `{"reached":null}` {
		t.Error(got)
	}
}

func TestCancelChecker(t *testing.T) {
	for params, want := range map[string]string{
		``:              `{"action":"continue","messages":0,"reason":""}`,
		`{"inbox": []}`: `{"action":"continue","messages":0,"reason":""}`,
		`{"inbox":[{"kind":"suspend","payload":{"reason":"later"},"by":"person"},{"kind":"cancel","payload":"stop","by":"person"},{"kind":"suspend","by":"x"}]}`: `{"action":"cancel","messages":0,"reason":"stop"}` +
			` inbox{"by":"person","kind":"suspend","payload":{"reason":"later"}} inbox{"by":"person","kind":"cancel","payload":"stop"} inbox{"by":"x","kind":"suspend","payload":null}`,
		`{"inbox":[{"id":"1","kind":"message","payload":"also the tests","by":"person"}]}`: `{"action":"continue","messages":1,"reason":""}` +
			` inbox{"by":"person","id":"1","kind":"message","payload":"also the tests"} message_added{"blocks":[{"text":"also the tests","type":"text"}],"role":"user","source":"person"}`,
		// to suspend is obeyed before to hand off, in any order
		`{"inbox":[{"kind":"handoff","payload":{"message":"only the label"},"by":"thread a-1"},{"kind":"suspend","by":"person"},{"kind":"handoff","by":"person"}]}`: `{"action":"suspend","messages":1,"reason":""}` +
			` inbox{"by":"thread a-1","kind":"handoff","payload":{"message":"only the label"}} message_added{"blocks":[{"text":"only the label","type":"text"}],"role":"user","source":"thread a-1"}` +
			` inbox{"by":"person","kind":"suspend","payload":null} inbox{"by":"person","kind":"handoff","payload":null}`,
		`{"inbox":[{"kind":"event","payload":{"event":"more","payload":{"n":1}},"by":"person"},{"kind":"event","payload":{"event":"done"},"by":"client"}]}`: `{"action":"continue","messages":2,"reason":""}` +
			` inbox{"by":"person","kind":"event","payload":{"event":"more","payload":{"n":1}}} message_added{"blocks":[{"text":"Event more of person: {\"n\":1}","type":"text"}],"role":"user","source":"person"}` +
			` inbox{"by":"client","kind":"event","payload":{"event":"done"}} message_added{"blocks":[{"text":"Event done of client","type":"text"}],"role":"user","source":"client"}`,
		`{"inbix": []}`: `error: reading the parameters of the step cancel_checker: inbix is unknown; known are inbox`,
	} {
		if got := both(t, "cancel_checker", Input{Params: parse(t, params)}); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", params, got, want)
		}
	}
}

func TestCostTracker(t *testing.T) {
	in := Input{Limits: someLimits, Usage: someUsage, Params: parse(t, `{"warn_at": 0.8, "periods": [{"scope":"day","value":"15.999999999","max":"20.00"},{"scope":"month","value":"160","max":"200.00"}]}`)}
	in.Usage.Spend = 160_000_000
	const data = `{"context_ratio":0.045,"max_spend":"0.20","max_turns":8,"spend":"0.16","tokens":9400,"turns":2,"warnings":`
	if got, want := both(t, "cost_tracker", in), data+`["thread","month"]} budget_warning{"max":"0.20","scope":"thread","value":"0.16"} budget_warning{"max":"200.00","scope":"month","value":"160.00"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	in.Conversation = lines(t, `budget_warning {"scope":"thread","value":"0.16","max":"0.20"}`, `budget_warning {"scope":"month","value":"160.00","max":"200.00"}`)
	if got, want := both(t, "cost_tracker", in), data+`[]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestContinuation(t *testing.T) {
	in := Input{Usage: Usage{ContextTokens: 159_000, Window: 200_000}, Services: services(t, nil)}
	for _, c := range []struct {
		tokens, window int64
		before         []string
		want           string
	}{
		{159_000, 200_000, nil, `{"code":"","event":"","limit":false,"pressure":false,"ratio":0.795,"tokens":159000,"window":200000}`},
		{160_000, 200_000, nil, `{"code":"","event":"context_pressure","limit":false,"pressure":true,"ratio":0.8,"tokens":160000,"window":200000} context_pressure{"ratio":0.8,"tokens":160000,"window":200000}`},
		{170_000, 200_000, []string{`context_pressure {"ratio":0.8}`}, `{"code":"","event":"","limit":false,"pressure":true,"ratio":0.85,"tokens":170000,"window":200000}`},
		{170_000, 200_000, []string{`context_pressure {"ratio":0.8}`, `context_compacted {"step":"references"}`}, `{"code":"","event":"context_pressure","limit":false,"pressure":true,"ratio":0.85,"tokens":170000,"window":200000} context_pressure{"ratio":0.85,"tokens":170000,"window":200000}`},
		{180_000, 200_000, nil, `{"code":"CONTEXT_FULL","event":"context_limit","limit":true,"pressure":true,"ratio":0.9,"tokens":180000,"window":200000} context_limit{"ratio":0.9,"tokens":180000,"window":200000}`},
		{180_000, 0, nil, `{"code":"","event":"","limit":false,"pressure":false,"ratio":0,"tokens":180000,"window":0}`},
	} {
		in.Usage.ContextTokens, in.Usage.Window, in.Conversation = c.tokens, c.window, lines(t, c.before...)
		if got := both(t, "continuation", in); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	in.Services = services(t, map[string]string{"agent/coordination": "continuation: {trigger_threshold: 0.7}"})
	in.Usage = Usage{ContextTokens: 70, Window: 100}
	if out, err := continuation(t.Context(), in); err != nil || out.Data["limit"] != true {
		t.Errorf("a project's threshold is not used: %v, %v", out.Data, err)
	}
}

func TestControlAndEmitter(t *testing.T) {
	for params, want := range map[string]string{
		`{"action":"retry","delay":5}`:               `{"action":"retry","control":{"action":"retry","delay":5},"delay":5}`,
		`{"action":"escalate"}`:                      `{"action":"escalate","control":{"action":"escalate","to":"person"},"to":"person"}`,
		`{"action":"fail","message":"no"}`:           `{"action":"fail","control":{"action":"fail","message":"no"},"message":"no"}`,
		`{"action":"retyr"}`:                         `error: reading a control action: action is "retyr", must be one of retry, continue, skip, deny, fail, abort, suspend, escalate`,
		`{"action":"skip","delay":5}`:                `error: reading a control action: delay has no effect for skip, only for retry`,
		`{"action":"fail","to":"person"}`:            `error: reading a control action: to is "person", must be parent or person, of escalate`,
		`{"action":"retry","delay":-1}`:              `error: reading a control action: delay is -1, must be from 0 to 86400 seconds`,
		`{"action":"retry","delay":86401}`:           `error: reading a control action: delay is 86401, must be from 0 to 86400 seconds`,
		`{"action":"escalate","to":"administrator"}`: `error: reading a control action: to is "administrator", must be parent or person, of escalate`,
	} {
		out, err := control(t.Context(), Input{Params: parse(t, params)})
		if got := show(t, out, err); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", params, got, want)
		}
	}
	out, err := emitter(t.Context(), Input{Params: parse(t, `{"name":"stuck","data":{"turn":2}}`)})
	if got, want := show(t, out, err), `{} observation{"data":{"turn":2},"name":"stuck"}`; got != want {
		t.Error(got)
	}
	if _, err := emitter(t.Context(), Input{Params: parse(t, `{"data":1}`)}); diag.CodeOf(err) != diag.ValidationFailed {
		t.Error(err)
	}
}

func TestWatchdog(t *testing.T) {
	read := func(id, path, text string) []string {
		return called(id, "tool:rye/file-system/read", `{"file_path":"`+path+`"}`, text, false)
	}
	fails := func(id, input string) []string {
		return called(id, "tool:team/build", input, `{"success":false,"error":{"code":"EXECUTION_FAILED","message":"exit 1"}}`, true)
	}
	run := func(calls ...[]string) string {
		return both(t, "watchdog", Input{Conversation: lines(t, slices.Concat(calls...)...), Services: services(t, nil)})
	}
	if got := run(); got != `{"hints":0,"stop":null}` {
		t.Error(got)
	}
	if got := run(read("1", "a", "x"), read("2", "a", "x"), read("3", "a", "y")); got != `{"hints":0,"stop":null}` {
		t.Errorf("another result is another fingerprint: %s", got)
	}
	if got := run(read("1", "a", "x"), read("2", "b", "x"), read("3", "a", "x"), read("4", "a", "x")); got != `{"hints":0,"stop":null}` {
		t.Errorf("another call between: %s", got)
	}
	// The order of the members does not make another call.
	third := called("3", "tool:t/x", `{"b":2,"a":1.0}`, "r", false)
	got := run(called("1", "tool:t/x", `{"a":1.0,"b":2}`, "r", false), called("2", "tool:t/x", `{"a":1.0,"b":2}`, "r", false), third)
	if !strings.Contains(got, `"hints":1`) || !strings.Contains(got, ` watchdog{"count":3,`) || !strings.Contains(got, `"source":"watchdog"`) || !strings.Contains(got, "t/x") {
		t.Error(got)
	}
	hinted := []string{`watchdog {"kind":"repeated_calls","count":3}`}
	if got := run(read("1", "a", "x"), read("2", "a", "x"), read("3", "a", "x"), hinted, read("4", "a", "x")); got != `{"hints":0,"stop":null}` {
		t.Errorf("a second hint: %s", got)
	}
	// A turn of parallel calls can pass from 2 to 4.
	if got := run(read("1", "a", "x"), read("2", "a", "x"), read("3", "a", "x"), read("4", "a", "x")); !strings.Contains(got, `"hints":1`) {
		t.Errorf("no hint at four: %s", got)
	}
	got = run(read("1", "a", "x"), read("2", "a", "x"), read("3", "a", "x"), hinted, read("4", "a", "x"), read("5", "a", "x"))
	if !strings.HasPrefix(got, `{"hints":0,"stop":{"code":"LIMIT_EXCEEDED","limit":"repeated_calls","max":5,"value":5}}`) || !strings.Contains(got, " limit_reached{") {
		t.Error(got)
	}
	if got := run(fails("1", `{"n":1}`), fails("2", `{"n":2}`), fails("3", `{"n":3}`)); !strings.Contains(got, `"kind":"repeated_failures"`) || !strings.Contains(got, "EXECUTION_FAILED") {
		t.Error(got)
	}
	if got := run(fails("1", `{"n":1}`), read("2", "a", "x"), fails("3", `{"n":2}`), fails("4", `{"n":3}`)); got != `{"hints":0,"stop":null}` {
		t.Error(got)
	}
}

// Answers are compared, not results: equal calls of one answer are one, and the volatile
// parts of results make no difference.
func TestWatchdogAnswers(t *testing.T) {
	n := 0
	answer := func(calls ...string) (out []string) {
		var blocks, made []string
		for _, c := range calls {
			n++
			id, fingerprint, different := fmt.Sprintf("c%d", n), "", ""
			if strings.HasSuffix(c, "~") {
				fingerprint = `,"fingerprint":"sha256:1"`
			}
			if strings.HasSuffix(c, "~") || strings.HasSuffix(c, "!") {
				different = strconv.Itoa(n)
			}
			blocks = append(blocks, fmt.Sprintf(`{"type":"tool_call","id":%q,"name":"x","input":{}}`, id))
			made = append(made, fmt.Sprintf(`tool_call {"turn":1,"call_id":%q,"ref":"tool:t/x","input":{"n":%q}}`, id, c),
				fmt.Sprintf(`tool_result {"call_id":%q,"ref":"tool:t/x","is_error":false,"content":[{"type":"text","text":"r%s"}]%s}`, id, different, fingerprint))
		}
		return append([]string{`model_response {"turn":1,"stop":"tool_calls","blocks":[` + strings.Join(blocks, ",") + `]}`}, made...)
	}
	times := func(count int, calls ...string) (out []string) {
		for range count {
			out = append(out, answer(calls...)...)
		}
		return out
	}
	const none = `{"hints":0,"stop":null}`
	for _, c := range []struct {
		name, params string
		answers      []string
		want         string
	}{
		{"five equal calls in one answer", `{}`, answer("a", "a", "a", "a", "a"), none},
		{"three such answers", `{}`, times(3, "a", "a"), `"count":3`},
		{"five such answers", `{}`, times(5, "a", "a"), `"stop":{"code":"LIMIT_EXCEEDED","limit":"repeated_calls","max":5,"value":5}`},
		{"two calls in turn in each answer", `{}`, times(5, "a", "b"), `"limit":"repeated_calls"`},
		{"another call in the second answer", `{}`, slices.Concat(answer("a"), answer("a", "b"), answer("a")), none},
		{"a volatile part", `{}`, times(5, "a~"), `"limit":"repeated_calls"`},
		{"other results", `{}`, times(9, "a!"), none},
		{"ten equal calls with other results", `{}`, times(10, "a!"), `"kind":"equal_calls"`},
		{"twenty equal calls with other results", `{}`, times(20, "a!"), `"stop":{"code":"LIMIT_EXCEEDED","limit":"equal_calls","max":20,"value":20}`},
		{"a tool that waits", `{"polls":["NEWEST"]}`, times(20, "a!"), none},
		{"a tool that waits for what does not change", `{"polls":["NEWEST"]}`, times(20, "a"), `"hints":1`},
	} {
		_, newest, _ := strings.Cut(c.answers[len(c.answers)-1], `"call_id":"`)
		newest, _, _ = strings.Cut(newest, `"`)
		params := parse(t, strings.ReplaceAll(c.params, "NEWEST", newest))
		got := both(t, "watchdog", Input{Params: params, Conversation: lines(t, c.answers...), Services: services(t, nil)})
		if !strings.Contains(got, c.want) || c.want == none && got != none {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFinish(t *testing.T) {
	answer := func(stop, text string) string {
		return `model_response {"turn":1,"stop":"` + stop + `","blocks":[{"type":"text","text":"` + text + `"}]}`
	}
	const withCall = `model_response {"turn":1,"stop":"tool_calls","blocks":[{"type":"tool_call","id":"1","name":"x","input":{}}]}`
	nudge := `message_added {"source":"nudge"}`
	length := `message_added {"source":"max_output"}`
	empty := `message_added {"source":"empty"}`
	thought := `model_response {"turn":1,"stop":"end","blocks":[{"type":"reasoning","dialect":"openai_chat","model":"m","raw":"{}"}]}`
	for _, c := range []struct {
		params string
		lines  []string
		want   string
	}{
		{``, []string{answer("end", "hello")}, `{"done":true,"state":"completed","text":"hello"}`},
		{`{"declared":true}`, []string{answer("end", "hello")}, `{"done":false} message_added{NUDGE`},
		{`{"declared":true}`, []string{answer("end", "a"), nudge, answer("end", "b"), nudge, answer("end", "c")}, `{"done":true,"error":{"code":"VALIDATION_FAILED",`},
		{`{"declared":true}`, []string{answer("end", "a"), nudge, answer("end", "b"), nudge, withCall, `tool_result {}`, answer("end", "c")}, `{"done":false} message_added{NUDGE`},
		{``, []string{answer("max_output", "a ")}, `{"done":false} message_added{LENGTH`},
		{``, []string{answer("max_output", "a "), length, answer("max_output", "b "), length, answer("end", "c")}, `{"done":true,"state":"completed","text":"a b c"}`},
		{``, []string{answer("max_output", "a "), length, answer("max_output", "b "), length, answer("max_output", "c")}, `{"done":true,"error":{"code":"ANSWER_CUT",`},
		{``, []string{answer("end", "  ")}, `{"done":false} message_added{EMPTY`},
		{``, []string{thought}, `{"done":false} message_added{EMPTY`},
		{``, []string{withCall, `tool_result {}`, thought}, `{"done":false} message_added{EMPTY`},
		{``, []string{thought, empty, thought}, `{"done":true,"error":{"code":"ANSWER_EMPTY",`},
		{`{"declared":true}`, []string{thought, empty, thought}, `{"done":true,"error":{"code":"ANSWER_EMPTY",`},
		{``, []string{thought, empty, answer("end", "hello")}, `{"done":true,"state":"completed","text":"hello"}`},
		{``, []string{thought, empty, withCall, `tool_result {}`, thought}, `{"done":false} message_added{EMPTY`},
		{``, []string{answer("max_output", "a "), length, answer("end", "")}, `{"done":true,"state":"completed","text":"a "}`},
		{`{"declared":true}`, []string{answer("end", "<tool_call>none</tool_call>")}, `{"done":false} message_added{"blocks":[{"text":"A call in the text`},
		{`{"declared":true}`, []string{answer("max_output", "a"), length, answer("max_output", "b"), length, answer("max_output", "c")}, `{"done":false} message_added{NUDGE`},
		{``, []string{answer("pause", "a")}, `{"done":false}`},
		{``, []string{answer("refusal", "no")}, `{"done":true,"error":{"code":"MODEL_REFUSED","message":"the model refused to answer"},"state":"error","text":"no"}`},
		{``, []string{withCall}, `{"done":false}`},
		{`{"state":"suspended","reason":"hook","returned":{"label":"bug"},"declared":true}`, []string{withCall}, `{"done":true,"reason":"hook","state":"suspended"}`},
		{`{"returned":{"label":"bug"},"declared":true}`, []string{withCall}, `{"done":true,"outputs":{"label":"bug"},"state":"completed"} directive_return{"outputs":{"label":"bug"}}`},
		{`{"error":{"code":"LIMIT_EXCEEDED","message":"turns","details":{"max":3}}}`, []string{answer("end", "part")}, `{"done":true,"error":{"code":"LIMIT_EXCEEDED","details":{"max":3},"message":"turns"},"state":"error","text":"part"}`},
		{`{"state":"cancelled","reason":"request"}`, nil, `{"done":true,"reason":"request","state":"cancelled"}`},
	} {
		got := both(t, "finish", Input{Params: parse(t, c.params), Conversation: lines(t, c.lines...), Services: services(t, nil)})
		for word, source := range map[string]string{"NUDGE": `"source":"nudge"`, "LENGTH": `"source":"max_output"`, "EMPTY": `"source":"empty"`} {
			if before, ok := strings.CutSuffix(c.want, word); ok {
				if !strings.HasPrefix(got, before) || !strings.Contains(got, source) {
					t.Errorf("%s %v: %s", c.params, c.lines, got)
				}
				got = c.want
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %v:\ngot  %s\nwant %s", c.params, c.lines, got, c.want)
		}
	}
}

func TestInputForm(t *testing.T) {
	in := Input{ThreadID: "t-1", Turn: 3, Limits: someLimits, Usage: someUsage, Params: map[string]any{"x": int64(1)}, ConversationFile: "/tmp/c"}
	m, err := object(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"thread_id", "turn", "limits", "usage", "params", "conversation_file"} {
		if _, ok := m[key]; !ok {
			t.Errorf("%s is missing in %v", key, m)
		}
	}
	if len(m) != 6 {
		t.Errorf("more than six members: %v", m)
	}
	if got := m["limits"].(map[string]any)["spend"]; got != "0.20" {
		t.Errorf("spend is %v", got)
	}
	var usd policy.USD
	if err := usd.UnmarshalText([]byte("0.20")); err != nil || usd != someLimits.Spend {
		t.Errorf("%v, %v", usd, err)
	}
}
