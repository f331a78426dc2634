package provider

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
)

// published are the dialects with a published description. That of mapped is in each item, and programs have none.
func published() []string {
	return slices.DeleteFunc(dialects(), func(d string) bool { return d == Mapped || isProgram(d) })
}

const mapped = `
config: {body: "{request}", mode: stream, framing: jsonl}
provider:
  dialect: mapped
  request: {model: "{model}", turns: "{messages}", limit: "{max_output}", functions: "{tools}", style: {heat: "{temperature}", note: "for {model}"}, stream: true}
  templates:
    message: {who: "{role}", parts: [{t: "{text}"}]}
    roles: {assistant: bot}
  stream:
    text: delta.text
    reasoning: delta.thought
    model: from
    call: {list: tools, id: id, name: name, arguments: args}
    usage: {input: meta.in, cache_read: meta.hit, output: meta.out, reasoning: meta.thought, cache_is_input: true, reasoning_is_output: false}
    error: {path: error.message}
    stop: {path: why, max_output: [length], refusal: [blocked]}
    keep: {state: delta.state}
    end: {path: done, op: eq, value: true}
  models:
    m: {window: 32000, max_output: 8192, prices: {input: "0.5", cache_read: "0.25", output: "2"}}
    other: {window: 32000, max_output: 8192, prices: {input: "0", output: "0"}}
`

func mappedSample() string {
	return strings.Join([]string{
		`{"from":"m","delta":{"thought":"look "}}`,
		`{"delta":{"thought":"first","state":{"b":1.0,"a":[2]}}}`,
		`{"delta":{"text":"Reading "},"meta":{"in":120}}`,
		`{"delta":{"text":"ü."},"unheard":{"of":1}}`,
		`{"tools":[{"id":"t1","name":"read","args":{"n":12345678901234567890.10}},{"name":"list","args":""}]}`,
		`{"tools":[{"args":"{\"d"},{"args":"eep\":true}"}]}`,
		`{"done":true,"why":"stop","meta":{"in":120,"hit":100,"out":30,"thought":10}}`,
		`[DONE]`, ``,
	}, "\n")
}

func TestMappedResponse(t *testing.T) {
	c := fed(mustParse(t, mapped), mappedSample())
	var deltas []message.Delta
	got, err := c.Call(t.Context(), ask("m"), func(d message.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	by := wire{Mapped, "test/providers/a", "m"}
	same(t, got, message.Response{Model: "m", Stop: message.StopToolCalls, StopRaw: "stop", Blocks: []message.Block{
		by.mark(message.Block{Type: message.Reasoning}, []byte(`{"text":"look first"}`)),
		by.mark(message.Block{Type: message.Opaque}, []byte(`{"state":{"b":1.0,"a":[2]}}`)),
		message.TextBlock("Reading ü."),
		{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)},
		{Type: message.ToolCall, ID: "call_1_2", Name: "list", Input: json.RawMessage(`{"deep":true}`)},
	}, Usage: message.Usage{Input: 20, CacheRead: 100, Output: 40, Reasoning: 10}})
	sameDeltas(t, deltas, []message.Delta{
		{Kind: message.DeltaReasoning, Text: "look "}, {Kind: message.DeltaReasoning, Text: "first"},
		{Kind: message.DeltaText, Text: "Reading "}, {Kind: message.DeltaText, Text: "ü."},
		{Kind: message.DeltaCallStart, CallID: "t1", Name: "read"}, {Kind: message.DeltaToolInput, CallID: "t1", Text: `{"n":12345678901234567890.10}`},
		{Kind: message.DeltaCallStart, CallID: "call_1_2", Name: "list"},
		{Kind: message.DeltaToolInput, CallID: "call_1_2", Text: `{"d`}, {Kind: message.DeltaToolInput, CallID: "call_1_2", Text: `eep":true}`},
	})
}

// The request is the template: values keep their types, members without a value are left
// out, and a text is put in once.
func TestMappedRequest(t *testing.T) {
	c := mustParse(t, mapped)
	req := ask("m")
	req.Messages[0].Blocks[0].Text = "Read {model} & <it>."
	req.Tools = req.Tools[1:]
	body, err := c.Encode(req)
	want := `{"functions":[{"description":"Reads.","name":"read","parameters":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}],` +
		`"limit":100,"model":"m","stream":true,"style":{"note":"for m"},` +
		`"turns":[{"parts":[{"t":"Be brief."}],"who":"system"},{"parts":[{"t":"Read {model} & <it>."}],"who":"user"}]}`
	if err != nil || string(body) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, body, want)
	}
	req.Tools, req.Temperature = nil, "0.20"
	if body, _ = c.Encode(req); strings.Contains(string(body), "functions") || !strings.Contains(string(body), `"heat":0.20`) {
		t.Errorf("%s", body)
	}
	// One text, with the system text in a place of its own.
	item := strings.Replace(mapped, `turns: "{messages}"`, `prompt: "{transcript_text}", first: "Rules: {system}"`, 1)
	req.Messages = append(req.Messages, message.Message{Role: message.Assistant, Blocks: []message.Block{message.TextBlock("Yes.")}},
		message.Message{Role: message.User, Blocks: []message.Block{{Type: message.ToolResult, CallID: "t1", Content: []message.Block{message.TextBlock("one")}}}})
	body, _ = mustParse(t, item).Encode(req)
	for _, want := range []string{`"first":"Rules: Be brief."`, `"prompt":"user: Read {model} & <it>.\n\nbot: Yes.\n\nuser: {\"call_id\":\"t1\",\"result\":\"one\"}\n\nbot:"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

func TestMappedFailures(t *testing.T) {
	for name, tc := range map[string]struct{ stream, code, message string }{
		"error":     {`{"delta":{"text":"a"}}` + "\n" + `{"error":{"message":"too hot"}}` + "\n" + mappedSample(), "PROVIDER_ERROR", "too hot"},
		"object":    {`{"error":{"message":{"type":"busy","message":"later"}}}` + "\n", "PROVIDER_ERROR", "later"},
		"no end":    {`{"delta":{"text":"a"}}` + "\n" + `{"done":"true"}` + "\n", "PROVIDER_ERROR", "stream.end"},
		"text":      {`{"delta":{"text":["a"]}}` + "\n", "PARSING_ERROR", "stream.text (delta.text) is not a text"},
		"failed":    {`{"done":true,"why":"network_error"}` + "\n", "network_error", "network_error"},
		"arguments": {`{"tools":[{"args":"{}"}]}` + "\n", "PARSING_ERROR", "without the name of a tool"},
		"no object": {"[1]\n", "PARSING_ERROR", "not a JSON object"},
	} {
		r, err := fed(mustParse(t, mapped), tc.stream).Call(t.Context(), ask("m"), nil)
		f, _ := err.(*Failure)
		if f == nil || len(r.Blocks) > 0 || f.Code != tc.code && name != "object" || !strings.Contains(f.Message, tc.message) || f.Usage.Assumed != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	// Counts that cannot be are as if they were not stated.
	for counts, want := range map[string]message.Usage{
		`{"in":-1,"out":3}`:    {Input: 190, Output: 3, Assumed: 1, Doubtful: 1},
		`{"in":2.5,"out":"3"}`: {Input: 3, Output: 3},
		`{"in":{},"out":9e18}`: {Input: 190, Output: 2, Assumed: 1, Doubtful: 2},
	} {
		r, err := fed(mustParse(t, mapped), `{"delta":{"text":"abc"},"done":true,"meta":`+counts+`}`+"\n").Call(t.Context(), ask("m"), nil)
		if err != nil || !reflect.DeepEqual(r.Usage, want) {
			t.Errorf("%s: %+v, %v", counts, r.Usage, err)
		}
	}
	// Words of the service, and counts that are not stated.
	for why, stop := range map[string]message.Stop{"length": message.StopMaxOutput, "blocked": message.StopRefusal, "odd": message.StopEnd} {
		r, err := fed(mustParse(t, mapped), `{"delta":{"text":"abc"},"done":true,"why":"`+why+`","meta":{"out":1}}`+"\n").Call(t.Context(), ask("m"), nil)
		if err != nil || r.Stop != stop || r.StopRaw != why || r.Usage.Assumed != 1 || r.Usage.Input == 0 || r.Usage.Output != 2 {
			t.Errorf("%s: %+v, %v", why, r, err)
		}
	}
}

// TestMappedItems: an item that cannot be used, or that could send or cost something else
// than it seems, has a finding.
func TestMappedItems(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"no end":       {"    end: {path: done, op: eq, value: true}\n", "", "provider.stream.end is missing"},
		"end":          {"op: eq", "op: equals", "provider.stream.end"},
		"path":         {"text: delta.text", "text: delta[0]", "provider.stream.text \"delta[0]\" is not a path"},
		"placeholder":  {"{model}", "{modle}", "provider.request contains {modle}"},
		"within":       {`"{messages}"`, `"all: {messages}"`, "provider.request contains {messages} within a text"},
		"max":          {`limit: "{max_output}"`, `limit: 10`, "provider.request must contain {max_output}"},
		"conversation": {`turns: "{messages}", `, "", "must contain {messages} or {transcript_text}"},
		"tools":        {`functions: "{tools}", `, "", "provider.request must contain {tools}"},
		"call":         {"    call: {list: tools, id: id, name: name, arguments: args}\n", "", "provider.stream.call is missing"},
		"cache":        {", cache_is_input: true", "", "provider.stream.usage.cache_is_input is missing"},
		"reasoning":    {", reasoning_is_output: false", "", "provider.stream.usage.reasoning_is_output is missing"},
		"output":       {", output: meta.out", "", "provider.stream.usage.output is missing"},
		"counter":      {"input: meta.in", "inputs: meta.in", `unknown field "provider.stream.usage.inputs"`},
		"keep":         {"keep: {state:", "keep: {who:", "provider.stream.keep.who is a member of each message"},
		"image":        {"m: {window: 32000,", "m: {window: 32000, input: [text, image],", "provider.models.m.input must be [text]"},
		"quirks":       {"  dialect: mapped", "  dialect: mapped\n  quirks: [no_done]", "provider.quirks is not part of the dialect mapped"},
		"framing":      {"framing: jsonl", "framing: lines", "config.framing must be sse or jsonl"},
		"template":     {`parts: [{t: "{text}"}]`, `parts: []`, "provider.templates.message must contain {text}"},
		"role":         {"roles: {assistant: bot}", "roles: {tool: bot}", `unknown field "provider.templates.roles.tool"`},
		"dialect":      {"dialect: mapped", "dialect: openai_chat", "provider.request is for the dialect mapped"},
	} {
		text := strings.Replace(mapped, tc.old, tc.new, 1)
		if text == mapped {
			t.Fatalf("%s: nothing was replaced", name)
		}
		doc, fs := yamlx.Parse([]byte(text))
		if doc == nil {
			t.Fatal(name, fs)
		}
		c, fs := Parse("a/b", doc)
		var all []string
		for _, f := range fs {
			all = append(all, f.String())
		}
		if c != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%s: %s\nwant %s", name, strings.Join(all, "\n"), tc.want)
		}
	}
}

// items of the dialect mapped that describe services with a codec.
var described = map[string]string{
	Chat: `
  request: {model: "{model}", messages: "{messages}", max_tokens: "{max_output}", tools: "{tools}", stream: true, stream_options: {include_usage: true}}
  templates: {tool: {type: function, function: {name: "{name}", description: "{description}", parameters: "{schema}"}}}
  stream:
    text: choices.0.delta.content
    reasoning: choices.0.delta.reasoning_content
    model: model
    call: {list: choices.0.delta.tool_calls, id: id, name: function.name, arguments: function.arguments}
    usage: {input: usage.prompt_tokens, cache_read: usage.prompt_tokens_details.cached_tokens, output: usage.completion_tokens, cache_is_input: true}
    stop: {path: choices.0.finish_reason, max_output: [length]}
    end: {path: choices.0.finish_reason, op: regex, value: .}
`,
	Ollama: `
  request: {model: "{model}", messages: "{messages}", options: {num_predict: "{max_output}"}, tools: "{tools}", stream: true}
  templates: {tool: {type: function, function: {name: "{name}", description: "{description}", parameters: "{schema}"}}}
  stream:
    text: message.content
    reasoning: message.thinking
    call: {list: message.tool_calls, id: id, name: function.name, arguments: function.arguments}
    usage: {input: prompt_eval_count, output: eval_count}
    stop: {path: done_reason, max_output: [length]}
    end: {path: done, op: eq, value: true}
`,
	Anthropic: `
  request: {model: "{model}", system: "{system}", messages: "{messages}", max_tokens: "{max_output}", tools: "{tools}", stream: true}
  templates: {tool: {name: "{name}", description: "{description}", input_schema: "{schema}"}}
  stream:
    text: delta.text
    reasoning: delta.thinking
    model: message.model
    call: {id: content_block.id, name: content_block.name, arguments: delta.partial_json}
    usage: {input: message.usage.input_tokens, cache_read: message.usage.cache_read_input_tokens, cache_write_5m: message.usage.cache_creation_input_tokens, output: usage.output_tokens, cache_is_input: false}
    stop: {path: delta.stop_reason, max_output: [max_tokens]}
    end: {path: type, op: eq, value: message_stop}
`,
}

// TestMappedServices: data alone reads the scripted streams of three services, which the
// official clients read, to the same text, calls and usage.
func TestMappedServices(t *testing.T) {
	for dialect, item := range described {
		coded, server, _ := wired(t, dialect, "answers")
		c := mustParse(t, "config: {framing: "+string(framing(dialect))+"}\nprovider:\n  dialect: mapped"+item+
			"  models: {"+modelOf(dialect)+": {names: [scripted], window: 32000, max_output: 8192, prices: {input: \"1\", output: \"2\"}}}\n")
		c.Send = coded.Send
		for i, want := range expectedAnswers(dialect) {
			r, err := c.Call(t.Context(), ask(modelOf(dialect)), nil)
			if err != nil {
				t.Fatalf("%s, step %d: %v %q", dialect, i+1, err, server.Problems())
			}
			got := readingOf(t, r)
			switch {
			case dialect == Chat && i == 7: // the item names no path of refusals
				want.Text = ""
			case dialect == Anthropic && i == 10: // the counts of the input are at another path
				want.Usage[0], got.Usage[0] = 0, 0
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, step %d:\ngot  %+v\nwant %+v", dialect, i+1, got, want)
			}
		}
	}
}

func FuzzMappedStream(f *testing.F) {
	fuzzStream(f, mapped, "m", mappedSample(), func(s string) bool { return strings.Contains(s, "true") })
}
