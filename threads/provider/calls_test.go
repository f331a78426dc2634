package provider

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
)

// pieceOf writes a chunk with pieces of calls.
func pieceOf(pieces ...string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(pieces, ",") + `]}}]}`
}

// The tool clean has optional parameters only, so that {} would be a call of its own.
func cleanRequest(model string) message.Request {
	req := ask(model)
	req.Tools = append(req.Tools, message.ToolDef{Name: "clean", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","default":"everything"}}}`)})
	return req
}

// A call runs with the arguments that arrived whole; otherwise nothing of the answer does.
func TestCallPieces(t *testing.T) {
	const head = `{"index":0,"id":"a","function":{"name":"clean","arguments":""}}`
	const whole = `{"index":0,"id":"a","function":{"name":"clean","arguments":"{\"path\":\"x\"}"}}`
	for name, tc := range map[string]struct {
		chunks []string
		want   []string // the calls, or none if the answer is refused
	}{
		"rotating ids":           {[]string{pieceOf(head), pieceOf(`{"index":0,"id":"b","function":{"arguments":"{\"path\":"}}`), pieceOf(`{"index":0,"id":"c","function":{"arguments":"\"x\"}"}}`)}, []string{`clean {"path":"x"}`}},
		"repeated name":          {[]string{pieceOf(head), pieceOf(`{"index":0,"id":"b","function":{"name":"clean","arguments":"{\"path\":\"x\"}"}}`)}, []string{`clean {"path":"x"}`}},
		"name in each piece":     {[]string{pieceOf(head), pieceOf(`{"index":0,"function":{"name":"clean","arguments":"{\"path\""}}`), pieceOf(`{"index":0,"function":{"name":"clean","arguments":":\"x\"}"}}`), pieceOf(`{"index":0,"function":{"name":"clean","arguments":""}}`)}, []string{`clean {"path":"x"}`}},
		"one id, two indexes":    {[]string{pieceOf(head), pieceOf(`{"index":1,"id":"a","function":{"arguments":"{\"path\":\"x\"}"}}`)}, []string{`clean {"path":"x"}`}},
		"id of another index":    {[]string{pieceOf(whole), pieceOf(`{"index":1,"id":"b","function":{"name":"clean","arguments":""}}`), pieceOf(`{"index":1,"id":"a","function":{"arguments":"{\"path\":\"y\"}"}}`)}, nil},
		"tail at another index":  {[]string{pieceOf(whole), pieceOf(`{"index":0,"id":"d","function":{"name":"clean","arguments":""}}`), pieceOf(`{"index":1,"function":{"arguments":"{\"path\":\"y\"}"}}`)}, nil},
		"tail of another call":   {[]string{pieceOf(whole), pieceOf(`{"index":1,"id":"d","function":{"name":"clean","arguments":""}}`), pieceOf(`{"index":0,"function":{"arguments":"{\"path\":\"y\"}"}}`)}, nil},
		"all at index 0":         {[]string{pieceOf(whole), pieceOf(`{"index":0,"id":"d","function":{"name":"clean","arguments":""}}`), pieceOf(`{"index":0,"function":{"arguments":"{\"path\":\"y\"}"}}`)}, []string{`clean {"path":"x"}`, `clean {"path":"y"}`}},
		"one id for two calls":   {[]string{pieceOf(whole), pieceOf(`{"index":1,"id":"a","function":{"name":"clean","arguments":"{\"path\":\"y\"}"}}`)}, []string{`clean {"path":"x"}`, `clean {"path":"y"}`}},
		"the whole again":        {[]string{pieceOf(head), pieceOf(`{"index":0,"function":{"arguments":"{\"path\":\"x\"}"}}`), pieceOf(whole)}, []string{`clean {"path":"x"}`}},
		"an object":              {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":{"path":"x"}}}`)}, []string{`clean {"path":"x"}`}},
		"an object and a text":   {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":{"path":"x"}}}`), pieceOf(`{"index":0,"function":{"arguments":"{\"path\":\"y\"}"}}`)}, nil},
		"an empty object first":  {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":{}}}`), pieceOf(`{"index":0,"function":{"arguments":"{\"path\":\"x\"}"}}`)}, []string{`clean {"path":"x"}`}},
		"JSON in JSON":           {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":"\"{\\\"path\\\":\\\"x\\\"}\""}}`)}, []string{`clean {"path":"x"}`}},
		"a list":                 {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":["x"]}}`)}, nil},
		"a number":               {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":7}}`)}, nil},
		"null":                   {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":null}}`)}, nil},
		"null as text":           {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":"null"}}`)}, nil},
		"none":                   {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean"}}`)}, nil},
		"no call":                {[]string{`{"choices":[{"index":0,"delta":{"content":"I call it."}}]}`}, nil},
		"two messages":           {[]string{`{"choices":[{"message":{"content":"I call it."}},{"message":{"tool_calls":[{"id":"a","function":{"name":"clean","arguments":"{\"path\":\"x\"}"}}]}}]}`}, []string{`clean {"path":"x"}`}},
		"the head only":          {[]string{pieceOf(head)}, nil},
		"no parameters":          {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"list","arguments":""}}`)}, []string{`list {}`}},
		"a part":                 {[]string{pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":"{\"path\":\"x"}}`)}, nil},
		"one of two is a part":   {[]string{pieceOf(whole), pieceOf(`{"index":1,"id":"b","function":{"name":"clean","arguments":"{\"pa"}}`)}, nil},
		"no name":                {[]string{pieceOf(`{"index":0,"id":"a","function":{"arguments":"{\"path\":\"x\"}"}}`)}, nil},
		"a late name":            {[]string{pieceOf(`{"index":0,"id":"a","function":{"arguments":"{\"path\":"}}`), pieceOf(`{"index":0,"function":{"name":"clean","arguments":"\"x\"}"}}`)}, []string{`clean {"path":"x"}`}},
		"two names":              {[]string{pieceOf(head), pieceOf(`{"index":0,"id":"a","function":{"name":"list","arguments":"{}"}}`)}, nil},
		"function_call":          {[]string{`{"choices":[{"index":0,"delta":{"function_call":{"name":"clean","arguments":""}}}]}`, `{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"path\":\"x\"}"}}}]}`}, []string{`clean {"path":"x"}`}},
		"not a list":             {[]string{`{"choices":[{"index":0,"delta":{"tool_calls":"clean"}}]}`}, nil},
		"the message":            {[]string{`{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"clean","arguments":"{\"path\":\"x\"}"}},{"id":"b","function":{"name":"list","arguments":""}}]}}]}`}, []string{`clean {"path":"x"}`, `list {}`}},
		"pieces and the message": {[]string{pieceOf(whole), `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"clean","arguments":"{\"path\":\"x\"}"}}]}}]}`}, []string{`clean {"path":"x"}`}},
	} {
		stream := sse(append(append([]string{}, tc.chunks...), `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")...)
		r, err := fed(mustParse(t, chat), stream).Call(t.Context(), cleanRequest("plain"), nil)
		checkCalls(t, name, r, err, tc.want)
	}
	// What no value begins with is a mistake of the model, which reads it.
	stream := sse(pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":"{path: x}"}}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")
	r, err := fed(mustParse(t, chat), stream).Call(t.Context(), cleanRequest("plain"), nil)
	if err != nil || len(r.Calls()) != 1 || r.Calls()[0].InvalidInput != "{path: x}" {
		t.Errorf("%+v, %v", r.Blocks, err)
	}
}

func checkCalls(t *testing.T, name string, r message.Response, err error, want []string) {
	t.Helper()
	var f *Failure
	if want == nil {
		if !errors.As(err, &f) || f.Reason != unreadableCalls || len(r.Blocks) > 0 {
			t.Errorf("%s: %+v, %v", name, r.Blocks, err)
		}
		return
	}
	var got []string
	ids := map[string]bool{}
	for _, b := range r.Calls() {
		got = append(got, b.Name+" "+string(b.Input))
		if ids[b.ID] || b.ID == "" {
			t.Errorf("%s: the id %q twice", name, b.ID)
		}
		ids[b.ID] = true
	}
	if err != nil || !slices.Equal(got, want) || r.Stop != message.StopToolCalls {
		t.Errorf("%s: %q, stop %s, %v", name, got, r.Stop, err)
	}
}

// The rule is the same in the other dialects.
func TestCallsOfOtherDialects(t *testing.T) {
	toolUse := func(input string, deltas ...string) string {
		events := []string{`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"clean"` + input + `}}`}
		for _, d := range deltas {
			events = append(events, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+d+`}}`)
		}
		return sse(append(events, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`)...)
	}
	item := func(kind, id, args string) string {
		return `{"type":"response.output_item.` + kind + `","item":{"id":"` + id + `","type":"function_call","call_id":"a","name":"clean"` + args + `}}`
	}
	const argsX = `,"arguments":"{\"path\":\"x\"}"`
	completed := func(output string) string {
		return `{"type":"response.completed","response":{"model":"think","output":[` + output + `]}}`
	}
	wholeItem := `{"id":"f","type":"function_call","call_id":"a","name":"clean"` + argsX + `}`
	line := func(call string) string {
		return `{"message":{"tool_calls":[` + call + `]},"done":false}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n"
	}
	part := func(call string) string {
		return sse(`{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}]},"finishReason":"STOP"}]}`)
	}
	x := []string{`clean {"path":"x"}`}
	for name, tc := range map[string]struct {
		item, model, stream string
		want                []string
	}{
		"anthropic pieces":         {claude, "sonnet", toolUse(`,"input":{}`, `""`, `"{\"path\":"`, `"\"x\"}"`), x},
		"anthropic input at once":  {claude, "sonnet", toolUse(`,"input":{"path":"x"}`), x},
		"anthropic both":           {claude, "sonnet", toolUse(`,"input":{"path":"y"}`, `"{\"path\":\"x\"}"`), nil},
		"anthropic object":         {claude, "sonnet", toolUse(`,"input":{}`, `{"path":"x"}`), x},
		"anthropic part":           {claude, "sonnet", toolUse(`,"input":{}`, `"{\"path\":"`), nil},
		"anthropic no input":       {claude, "sonnet", toolUse(``), nil},
		"anthropic {}":             {claude, "sonnet", toolUse(`,"input":{}`, `""`), []string{`clean {}`}},
		"anthropic whole":          {claude, "sonnet", `{"type":"message","content":[{"type":"tool_use","id":"a","name":"clean","input":{"path":"x"}}],"stop_reason":"tool_use"}`, x},
		"responses rotating ids":   {responses, "think", sse(item("added", "f1", ""), `{"type":"response.function_call_arguments.delta","item_id":"f2","delta":"{\"path\":\"x\"}"}`, item("done", "f3", argsX), completed("")), x},
		"responses done only":      {responses, "think", sse(item("done", "f1", argsX), completed("")), x},
		"responses completed only": {responses, "think", sse(completed(wholeItem)), x},
		"responses at the end":     {responses, "think", sse(item("added", "f", ""), `{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{\"path\":"}`, completed(wholeItem)), x},
		"responses other end":      {responses, "think", sse(item("added", "f", ""), `{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{\"path\":\"y"}`, completed(wholeItem)), nil},
		"responses no arguments":   {responses, "think", sse(item("done", "f1", ""), completed("")), nil},
		"responses kept pieces":    {responses, "think", sse(item("added", "f1", ""), `{"type":"response.function_call_arguments.delta","item_id":"f1","delta":"{\"path\":\"x\"}"}`, item("done", "f1", ""), completed("")), x},
		"responses two open":       {responses, "think", sse(item("added", "f1", ""), item("added", "f2", ""), `{"type":"response.function_call_arguments.delta","item_id":"f3","delta":"{}"}`, completed("")), nil},
		"responses whole":          {responses, "think", `{"object":"response","status":"completed","model":"think","output":[` + wholeItem + `]}`, x},
		"ollama object":            {ollama, "llama", line(`{"function":{"name":"clean","arguments":{"path":"x"}}}`), x},
		"ollama text":              {ollama, "llama", line(`{"function":{"name":"clean","arguments":"{\"path\":\"x\"}"}}`), x},
		"ollama none":              {ollama, "llama", line(`{"function":{"name":"clean"}}`), nil},
		"ollama null":              {ollama, "llama", line(`{"function":{"name":"clean","arguments":null}}`), nil},
		"ollama list":              {ollama, "llama", line(`{"function":{"name":"clean","arguments":[]}}`), nil},
		"ollama no name":           {ollama, "llama", line(`{"function":{"arguments":{}}}`), nil},
		"ollama one id":            {ollama, "llama", line(`{"id":"a","function":{"name":"clean","arguments":{"path":"x"}}},{"id":"a","function":{"name":"list","arguments":{}}}`), append(x, `list {}`)},
		"gemini object":            {gemini, "flash", part(`{"name":"clean","args":{"path":"x"}}`), x},
		"gemini text":              {gemini, "flash", part(`{"name":"clean","args":"{\"path\":\"x\"}"}`), x},
		"gemini list":              {gemini, "flash", part(`{"name":"clean","args":[1]}`), nil},
		"gemini no name":           {gemini, "flash", part(`{"args":{}}`), nil},
		"gemini list of chunks":    {gemini, "flash", `[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"clean","args":{"path":"x"}}}]}}]},` + "\n" + `{"candidates":[{"finishReason":"STOP"}]}]`, x},
		"mapped object":            {mapped, "m", `{"tools":[{"name":"clean","args":{"path":"x"}}]}` + "\n" + `{"done":true}` + "\n", x},
		"mapped none":              {mapped, "m", `{"tools":[{"name":"clean"}]}` + "\n" + `{"done":true}` + "\n", nil},
		"mapped part":              {mapped, "m", `{"tools":[{"name":"clean","args":"{\"pa"}]}` + "\n" + `{"done":true}` + "\n", nil},
		"mapped id":                {mapped, "m", `{"tools":[{"id":"a","name":"clean","args":""},{"id":"b","name":"list","args":"{}"}]}` + "\n" + `{"tools":[{"id":"a","args":"{\"path\":\"x\"}"}]}` + "\n" + `{"done":true}` + "\n", append(x, `list {}`)},
	} {
		r, err := fed(mustParse(t, tc.item), tc.stream).Call(t.Context(), cleanRequest(tc.model), nil)
		checkCalls(t, name, r, err, tc.want)
	}
}

// Calls in a text are read where their meaning is certain.
func TestCallsInText(t *testing.T) {
	x := []string{`clean {"path":"x"}`}
	for text, want := range map[string][]string{
		`<tool_call>{"name":"clean","arguments":{"path":"x"}}</tool_call>`:                                                                        x,
		"I clean it.\n<tool_call>\n{\"name\": \"clean\", \"arguments\": {\"path\":\"x\"}}\n</tool_call>\n":                                        x,
		"<tool_call>{\"name\":\"clean\",\"arguments\":{\"path\":\"x\"}}</tool_call>\n<tool_call>{\"name\":\"list\",\"arguments\":{}}</tool_call>": append(x, `list {}`),
		"<tool_call>\n<function=clean>\n<parameter=path>\nx\n</parameter>\n</function>\n</tool_call>":                                             x,
		"<tool_call>clean\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n</tool_call>":                                                       x,
		`<function=clean>{"path":"x"}</function>`:                                                                                                 x,
		`[TOOL_CALLS][{"name":"clean","arguments":{"path":"x"}}]`:                                                                                 x,
		`[TOOL_CALLS]clean[ARGS]{"path":"x"}`:                                                                                                     x,
		`<|python_tag|>{"name":"clean","parameters":{"path":"x"}}`:                                                                                x,
		`{"name":"clean","arguments":{"path":"x"}}`:                                                                                               x,
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>clean\n```json\n{\"path\":\"x\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>":                 x,
		`<|tool_calls_section_begin|><|tool_call_begin|>functions.clean:0<|tool_call_argument_begin|>{"path":"x"}<|tool_call_end|><|tool_calls_section_end|>`: x,
		// Not certain: the text stays.
		`<tool_call>{"name":"wipe","arguments":{"path":"x"}}</tool_call>`:                              nil,
		`<tool_call>{"name":"clean","arguments":{"path":"x"}`:                                          nil,
		`<tool_call>{"name":"clean","arguments":{"path":"x}}</tool_call>`:                              nil,
		`<tool_call>{"name":"clean"}</tool_call>`:                                                      nil,
		`Write <tool_call>{"name":"clean","arguments":{"path":"x"}}</tool_call>`:                       nil,
		`<tool_call>{"name":"clean","arguments":{"path":"x"}}</tool_call> is the form.`:                nil,
		"```\n<tool_call>{\"name\":\"clean\",\"arguments\":{\"path\":\"x\"}}</tool_call>":              nil,
		`{"name":"clean","arguments":{"path":"x"},"note":"an example"}`:                                nil,
		"<tool_call>\n<function=clean>\n<parameter=other>\nx\n</parameter>\n</function>\n</tool_call>": nil,
		`[TOOL_CALLS][{"name":"clean","arguments":{"path":"x"}},{"name":"wipe","arguments":{}}]`:       nil,
	} {
		stream := sse(`{"choices":[{"index":0,"delta":{"content":`+string(encoded(text))+`},"finish_reason":"stop"}]}`, "[DONE]")
		r, err := fed(mustParse(t, chat), stream).Call(t.Context(), cleanRequest("plain"), nil)
		if want != nil {
			checkCalls(t, text, r, err, want)
			continue
		}
		if err != nil || len(r.Calls()) > 0 || r.Text() != text || r.Stop != message.StopEnd {
			t.Errorf("%s: %+v, %v", text, r.Blocks, err)
		}
	}
}

// Reasoning between marks is not a part of the answer, however the text is divided.
func TestThinkingInText(t *testing.T) {
	for text, want := range map[string][2]string{
		"<think>\nlook first\n</think>\n\nFour.":  {"look first", "Four."},
		" \n<think>a < b</thin</think>x</think>y": {"a < b</thin", "x</think>y"},
		"[THINK]look[/THINK]Four.":                {"look", "Four."},
		"<think>never closed":                     {"never closed", ""},
		"The mark is <think>.":                    {"", "The mark is <think>."},
		"<thin":                                   {"", "<thin"},
		"<think></think>Four.":                    {"", "Four."},
	} {
		for size := 1; size <= len(text); size++ {
			var chunks []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				chunks = append(chunks, `{"choices":[{"index":0,"delta":{"content":`+string(encoded(rest[:n]))+`}}]}`)
				rest = rest[n:]
			}
			chunks = append(chunks, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")
			thought, answer := "", ""
			r, err := fed(mustParse(t, chat), sse(chunks...)).Call(t.Context(), ask("plain"), func(d message.Delta) {
				if d.Kind == message.DeltaReasoning {
					thought += d.Text
				} else {
					answer += d.Text
				}
			})
			raw := ""
			for _, b := range r.Blocks {
				if b.Type == message.Reasoning {
					raw = str(at(plainJSON(b.Raw), "text"))
				}
			}
			if err != nil || r.Text() != want[1] || raw != want[0] || strings.TrimSpace(thought) != want[0] || strings.TrimLeft(answer, "\n") != want[1] {
				t.Fatalf("%q in pieces of %d: text %q, reasoning %q, watched %q and %q, %v", text, size, r.Text(), raw, answer, thought, err)
			}
		}
	}
}

// Answers that are complete in another way than the description has are read, and Probe
// names what was odd.
func TestOddAnswers(t *testing.T) {
	const done = `{"choices":[{"index":0,"delta":{"content":"Four."},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`
	called := pieceOf(`{"index":0,"id":"a","function":{"name":"list","arguments":"{}"}}`)
	counts := func(usage string) string {
		return sse(`{"choices":[{"index":0,"delta":{"content":"Four."},"finish_reason":"stop"}],"usage":`+usage+`}`, "[DONE]")
	}
	for name, tc := range map[string]struct {
		stream string
		odd    []Oddity
	}{
		"as described":   {sse(done, "[DONE]"), nil},
		"no [DONE]":      {sse(done), []Oddity{NoDone}},
		"empty data":     {"data:\n\n" + sse(done, "[DONE]"), []Oddity{EmptyData}},
		"whole body":     {`{"choices":[{"index":0,"message":{"content":"Four."},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, []Oddity{WholeBody, NoDone}},
		"whole, lines":   {"\n{\n \"choices\": [{\"message\": {\"content\": \"Four.\"},\n  \"finish_reason\": \"stop\"}],\n\"usage\": {\"prompt_tokens\": 7, \"completion_tokens\": 2}\n}", []Oddity{WholeBody, NoDone}},
		"lines":          {done + "\n" + `{"choices":[]}` + "\n", []Oddity{OtherFraming, NoDone}},
		"no reason":      {sse(called, "[DONE]"), []Oddity{NoFinish, NoCounts}},
		"parts":          {sse(strings.Replace(done, `"Four."`, `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Four."}]`, 1), "[DONE]"), []Oddity{ContentAsParts}},
		"no counts":      {sse(`{"choices":[{"index":0,"delta":{"content":"Four."},"finish_reason":"stop"}]}`, "[DONE]"), []Oddity{NoCounts}},
		"null counts":    {counts(`null`), []Oddity{NoCounts}},
		"list of counts": {counts(`[]`), []Oddity{NoCounts}},
		"fractions":      {counts(`{"prompt_tokens":7.0,"completion_tokens":"2"}`), nil},
		"in the choice":  {sse(strings.Replace(done, `"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}`, `"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":2}}]`, 1), "[DONE]"), nil},
		"x_groq":         {sse(strings.Replace(done, `"usage":{"prompt_tokens":7,"completion_tokens":2}`, `"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":2}}`, 1), "[DONE]"), nil},
		"negative":       {counts(`{"prompt_tokens":-7,"completion_tokens":2}`), []Oddity{OddCounts}},
		"too many":       {counts(`{"prompt_tokens":7,"completion_tokens":9000000000000000000}`), []Oddity{OddCounts}},
		"an object":      {counts(`{"prompt_tokens":{},"completion_tokens":2}`), []Oddity{OddCounts}},
	} {
		r, odd, err := fed(mustParse(t, chat), tc.stream).Probe(t.Context(), ask("plain"))
		if err != nil || !slices.Equal(odd, tc.odd) || r.Text() != "Four." && name != "no reason" {
			t.Errorf("%s: %v, %q, %v", name, odd, r.Text(), err)
		}
		if u := r.Usage; u.Input < 1 || u.Input > 1000 || u.Output < 1 || u.Output > 1000 {
			t.Errorf("%s: %+v", name, u)
		}
		for _, o := range odd {
			if o.String() == string(o) {
				t.Errorf("%s has no sentence", o)
			}
		}
	}
	// Reasoning that a service counts next to the output is paid.
	r, err := fed(mustParse(t, chat), counts(`{"prompt_tokens":26,"completion_tokens":26,"total_tokens":248,"completion_tokens_details":{"reasoning_tokens":196}}`)).Call(t.Context(), ask("plain"), nil)
	if err != nil || r.Usage.Output != 222 || r.Usage.Reasoning != 196 {
		t.Errorf("%+v, %v", r.Usage, err)
	}
	// The newest count of what was written to the cache is true.
	r, err = fed(mustParse(t, claude), strings.Replace(anthropicSample(), `"usage":{"output_tokens":850`, `"usage":{"cache_creation_input_tokens":2600,"output_tokens":850`, 1)).Call(t.Context(), ask("sonnet"), nil)
	if err != nil || r.Usage.CacheWrite5m != 2600 {
		t.Errorf("%+v, %v", r.Usage, err)
	}
}

// The quirks and the words of the ends are data of the item.
func TestEndsOfAnItem(t *testing.T) {
	item := strings.Replace(chat, "  models:", "  ends: {weird: end, throttled: max_output}\n  models:", 1)
	for word, want := range map[string]message.Stop{"weird": message.StopEnd, "throttled": message.StopMaxOutput, "other_word": ""} {
		c := fed(mustParse(t, item), sse(`{"choices":[{"delta":{"content":"a"},"finish_reason":"`+word+`"}]}`, `[DONE]`))
		checkStop(t, c, "plain", word, want)
	}
	quirky := strings.Replace(chat, "    plain: {", "    plain: {quirks: [no_finish, empty_arguments], ", 1)
	r, err := fed(mustParse(t, quirky), sse(`{"choices":[{"delta":{"content":"a"}}]}`, `[DONE]`)).Call(t.Context(), ask("plain"), nil)
	if err != nil || r.Text() != "a" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = fed(mustParse(t, quirky), sse(pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":""}}`), `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`)).Call(t.Context(), cleanRequest("plain"), nil)
	checkCalls(t, "empty arguments", r, err, []string{"clean {}"})
	for _, bad := range []string{"ends: {weird: finished}", "ends: [weird]"} {
		doc, _ := yamlx.Parse([]byte(strings.Replace(chat, "  models:", "  "+bad+"\n  models:", 1)))
		if c, _ := Parse("test/providers/a", doc); c != nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// An answer that was cut may end before the arguments of its last call: the empty object that
// services write then is not what the model asked for.
func TestCutCalls(t *testing.T) {
	block := func(name string) string {
		return `{"type":"tool_use","id":"` + name + `","name":"` + name + `","input":{}}`
	}
	started := func(i, name string) []string {
		return []string{`{"type":"content_block_start","index":` + i + `,"content_block":` + block(name) + `}`, `{"type":"content_block_stop","index":` + i + `}`}
	}
	cut := func(events ...string) string {
		events = append([]string{`{"type":"message_start","message":{}}`}, events...)
		return sse(append(events, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, `{"type":"message_stop"}`)...)
	}
	for name, tc := range map[string]struct {
		item, model, stream string
		want                []string // names with arguments, without if they were cut
	}{
		"anthropic":               {claude, "sonnet", cut(started("0", "clean")...), []string{"clean "}},
		"anthropic whole":         {claude, "sonnet", `{"type":"message","content":[` + block("clean") + `],"stop_reason":"max_tokens"}`, []string{"clean "}},
		"anthropic, the last":     {claude, "sonnet", cut(append(started("0", "clean"), started("1", "clean")...)...), []string{"clean {}", "clean "}},
		"anthropic no parameters": {claude, "sonnet", cut(started("0", "list")...), []string{"list {}"}},
		"gemini":                  {gemini, "flash", sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"clean"}}]},"finishReason":"MAX_TOKENS"}]}`), []string{"clean "}},
		"chat":                    {chat, "plain", sse(pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":"{}"}}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`), []string{"clean "}},
		"ollama":                  {ollama, "llama", `{"message":{"tool_calls":[{"function":{"name":"clean","arguments":{}}}]},"done":false}` + "\n" + `{"done":true,"done_reason":"length"}` + "\n", []string{"clean "}},
	} {
		r, err := fed(mustParse(t, tc.item), tc.stream).Call(t.Context(), cleanRequest(tc.model), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, c := range r.Calls() {
			got = append(got, c.Name+" "+string(c.Input))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Bytes that are not UTF-8 do not go back to the service.
func TestInvalidUTF8(t *testing.T) {
	bad := "{\"path\":\"a\xffb\"}"
	for name, tc := range map[string]struct{ item, model, stream string }{
		"chat":      {chat, "plain", sse(pieceOf(`{"index":0,"id":"a","function":{"name":"clean","arguments":`+bad+`}}`), `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`)},
		"anthropic": {claude, "sonnet", `{"type":"message","content":[{"type":"tool_use","id":"a","name":"clean","input":` + bad + `}],"stop_reason":"tool_use"}`},
		"responses": {responses, "think", sse(`{"type":"response.completed","response":{"model":"think","output":[{"type":"function_call","call_id":"a","name":"clean","arguments":` + bad + `}]}}`)},
		"gemini":    {gemini, "flash", sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"clean","args":` + bad + `}}]},"finishReason":"STOP"}]}`)},
		"ollama":    {ollama, "llama", `{"message":{"tool_calls":[{"function":{"name":"clean","arguments":` + bad + `}}]},"done":false}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n"},
	} {
		c := fed(mustParse(t, tc.item), tc.stream)
		r, err := c.Call(t.Context(), cleanRequest(tc.model), nil)
		if err != nil || len(r.Calls()) != 1 || string(r.Calls()[0].Input) != `{"path":"a�b"}` {
			t.Errorf("%s: %+v, %v", name, r.Calls(), err)
			continue
		}
		req := cleanRequest(tc.model)
		req.Messages = append(req.Messages, message.Message{Role: message.Assistant, Blocks: r.Blocks})
		_, _, body, err := c.prepare(req)
		if err != nil || !utf8.Valid(body) {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}
