package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/provider"
)

// TestRefusals changes the item by what a service refuses, as services word it, and the
// service is answered then.
func TestRefusals(t *testing.T) {
	const at = "POST /v1/chat/completions"
	for _, c := range []struct {
		name    string
		refused string                 // the answer
		when    func(body string) bool // of a request that is refused
		want    func(it *Item) bool
		has     string // in the item
		note    string
	}{
		{
			"stream_options", `400 {"error":{"message":"Unrecognized request argument supplied: stream_options"}}`,
			func(b string) bool { return strings.Contains(b, "stream_options") },
			func(it *Item) bool { return !it.AddUsage && len(it.Quirks) == 0 }, "", "refuses stream_options",
		},
		{
			"max_tokens", `400 {"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`,
			func(b string) bool { return strings.Contains(b, `"max_tokens"`) },
			nil, `quirks: ["max_completion_tokens"]`, "max_completion_tokens",
		},
		{
			"the role system", `400 {"error":{"message":"System role not supported"}}`,
			func(b string) bool { return strings.Contains(b, `"role":"system"`) },
			nil, `quirks: ["system_as_user"]`, "refuses the role system",
		},
		{
			"the role system, by a template", `500 {"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`,
			func(b string) bool { return strings.Contains(b, `"role":"system"`) },
			nil, `quirks: ["system_as_user"]`, "refuses the role system",
		},
		{
			"the role developer", `400 {"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model. Use 'developer'."}}`,
			func(b string) bool { return strings.Contains(b, `"role":"system"`) },
			nil, `quirks: ["developer_role"]`, "the role of the system text is developer",
		},
		{
			"ids", `422 {"message":"Tool call id was call_1_1 but must be a-z, A-Z, 0-9, with a length of 9."}`,
			func(b string) bool { return strings.Contains(b, `"call_1_1"`) },
			nil, `quirks: ["tool_ids_9"]`, "9 letters or digits",
		},
		{
			"tools", `400 {"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`,
			func(b string) bool { return strings.Contains(b, `"tools"`) },
			func(it *Item) bool { return it.Tools == toolsSchema }, "mode: schema", "refuses tools",
		},
		{
			"tools and schemas", `400 {"error":{"message":"tools and response_format are not supported by this function"}}`,
			func(b string) bool { return strings.Contains(b, `"tools"`) || strings.Contains(b, "response_format") },
			func(it *Item) bool { return it.Tools == toolsText }, "mode: text", "refuses tools",
		},
		{
			"streams", `400 {"error":{"message":"Streaming is not supported by this deployment. Set stream to false."}}`,
			func(b string) bool { return strings.Contains(b, `"stream":true`) },
			func(it *Item) bool { return !it.AddUsage }, `quirks: ["no_stream"]`, "refuses streams",
		},
		{
			"several things", `400 {"detail":"extra fields not permitted: stream_options; system role is not supported"}`,
			func(b string) bool {
				return strings.Contains(b, "stream_options") || strings.Contains(b, `"role":"system"`)
			},
			func(it *Item) bool { return !it.AddUsage }, `quirks: ["system_as_user"]`, "refuses the role system",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &service{answers: map[string]string{
				"GET /v1/models": `{"object":"list","data":[{"id":"m","max_model_len":9000}]}`,
				at:               chatOK(), at + " tool": chatTool(),
			}}
			s.refuse = func(path, body string) string {
				switch {
				case !strings.Contains(path, "chat"):
				case c.when(body):
					return c.refused
				case strings.Contains(body, `"stream":false`):
					message := `{"role":"assistant","content":"ok"}`
					if strings.Contains(body, `"report"`) {
						message = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"report","arguments":"{\"word\":\"ok\"}"}}]}`
					}
					return `{"id":"1","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":2}}`
				case strings.Contains(body, "response_format"):
					return chat(`{"role":"assistant","content":"{\"call\":{\"name\":\"report\",\"arguments\":{\"word\":\"ok\"}}}"}`)
				case strings.Contains(body, "<invoke"):
					return chat(`{"role":"assistant","content":"<invoke name=\"report\">{\"word\":\"ok\"}</invoke>"}`)
				}
				return ""
			}
			it, report, _, err := add(t, Wish{ID: "mine/llm", URL: start(t, s)}, "")
			if err != nil {
				t.Fatal(err)
			}
			text := it.Text()
			if c.want != nil && !c.want(it) || !strings.Contains(text, c.has) || !report.Called {
				t.Errorf("report %+v of\n%s", report, text)
			}
			if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
				t.Errorf("no note about %q: %q", c.note, report.Notes)
			}
			if last := s.sent[len(s.sent)-1]; c.when(last) {
				t.Errorf("the last request has what is refused: %s", last)
			}
		})
	}
}

// TestOddities reads answers that differ from the dialect, states how, and writes the quirk
// that calls need.
func TestOddities(t *testing.T) {
	const at = "POST /v1/chat/completions"
	usage := `"usage":{"prompt_tokens":11,"completion_tokens":2}`
	chunk := func(delta, finish string) string {
		return `data: {"id":"1","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	counts := `data: {"id":"1","choices":[],` + usage + "}\n\n"
	const ok, done = `{"role":"assistant","content":"ok"}`, "data: [DONE]\n\n"
	for _, c := range []struct{ name, answer, quirks, note string }{
		{"no mark of the end", chunk(ok, "null") + chunk("{}", `"stop"`) + counts, "", "without the mark of their end"},
		{"no counts", chunk(ok, "null") + chunk("{}", `"stop"`) + done, `quirks: ["no_usage"]`, "how many tokens"},
		{"a whole body", `{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],` + usage + "}", "", "as one document"},
		{"no reason of the end", chunk(ok, "null") + counts + done, `quirks: ["no_finish"]`, "no reason of their end"},
		{"a list of parts", chunk(`{"role":"assistant","content":[{"type":"text","text":"ok"}]}`, `"stop"`) + counts + done, "", "as a list of parts"},
		{"empty events", "data:\n\n" + chunk(ok, `"stop"`) + counts + done, "", "without data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &service{answers: map[string]string{"GET /v1/models": `{"data":[{"id":"m","max_model_len":9000}]}`, at: c.answer, at + " tool": chatTool()}}
			it, report, _, err := add(t, Wish{ID: "mine/llm", URL: start(t, s)}, "")
			if err != nil {
				t.Fatal(err)
			}
			if text := it.Text(); !strings.Contains(text, c.quirks) || c.quirks == "" && strings.Contains(text, "quirks:") {
				t.Errorf("want %q in\n%s", c.quirks, text)
			}
			if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], c.note) {
				t.Errorf("notes %q", report.Notes)
			}
		})
	}
}

// TestNoTools writes the item of a model that writes text only, if the service refuses
// tools in every form, or states that the model has none.
func TestNoTools(t *testing.T) {
	const at = "POST /v1/chat/completions"
	s := &service{answers: map[string]string{"GET /v1/models": `{"data":[{"id":"m","max_model_len":9000}]}`, at: chatOK()}}
	s.refuse = func(path, body string) string {
		if strings.Contains(body, `"tools"`) || strings.Contains(body, "response_format") {
			return `400 {"error":{"message":"m does not support tools"}}`
		}
		if strings.Contains(body, "<invoke") {
			return `500 {"error":{"message":"tools"}}`
		}
		return ""
	}
	it, report, _, err := add(t, Wish{ID: "mine/llm", URL: start(t, s)}, "")
	if err != nil || report.Called || !strings.Contains(it.Text(), "tools: false") || parsed(t, it).Models["m"].CallsTools {
		t.Errorf("%v %+v\n%s", err, report, it.Text())
	}

	s = &service{answers: map[string]string{"GET /v1/models": `{"data":[{"id":"m","supported_parameters":["temperature"]}]}`, at: chatOK()}}
	it, report, _, err = add(t, Wish{ID: "mine/llm", URL: start(t, s)}, "")
	if err != nil || !strings.Contains(it.Text(), "tools: false") || s.asked(at) != 1 || len(report.Notes) != 1 {
		t.Errorf("%v %+v after %v", err, report, s.seen)
	}

	// A model that answers without a call may do so the next time.
	s = &service{answers: map[string]string{"GET /v1/models": `{"data":[{"id":"m"}]}`, at: chatOK()}}
	it, report, _, err = add(t, Wish{ID: "mine/llm", URL: start(t, s)}, "")
	if err != nil || report.Called || strings.Contains(it.Text(), "tools: false") {
		t.Errorf("%v %+v\n%s", err, report, it.Text())
	}
}

// TestEndless ends a test of a service that refuses everything.
func TestEndless(t *testing.T) {
	const at = "POST /v1/chat/completions"
	s := &service{answers: map[string]string{at: `400 {"error":{"message":"unknown parameter: stream_options, max_tokens is not supported, system role not supported, temperature top_p store include think"}}`}}
	_, _, _, err := add(t, Wish{ID: "mine/llm", URL: start(t, s), Model: "m", Dialect: provider.Chat}, "")
	if err == nil || s.asked(at) != maxChanges+1 {
		t.Errorf("%v after %d calls", err, s.asked(at))
	}
}
