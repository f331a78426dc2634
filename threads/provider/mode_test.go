package provider

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

const textTools = `  tools:
    mode: text
    pattern: '(?s)<invoke name="(?P<name>[^"]+)">(?P<arguments>.*?)</invoke>'
    prompt: "Call a tool with <invoke name=…>. The tools: {tools}"
`

// In the mode text a model writes its calls, and reads its own words again.
func TestTextTools(t *testing.T) {
	item := strings.Replace(chat, "  tools: {parallel: true}\n", textTools, 1)
	answer := `I read <invoke name="read">{"n": 1}</invoke> and <invoke name="list">{</invoke>`
	quoted, _ := json.Marshal(answer)
	c := fed(mustParse(t, item), sse(`{"choices":[{"delta":{"content":`+string(quoted)+`},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, "[DONE]"))
	var deltas []message.Delta
	r, err := c.Call(t.Context(), ask("plain"), func(d message.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	by := wire{dialect: textDialect}
	want := []message.Block{
		message.TextBlock("I read "),
		by.mark(message.Block{Type: message.ToolCall, ID: "call_1_1", Name: "read", Input: json.RawMessage(`{"n": 1}`)}, []byte(`<invoke name="read">{"n": 1}</invoke>`)),
		message.TextBlock(" and "),
		by.mark(message.Block{Type: message.ToolCall, ID: "call_1_2", Name: "list", InvalidInput: "{"}, []byte(`<invoke name="list">{</invoke>`)),
	}
	if !reflect.DeepEqual(r.Blocks, want) || r.Stop != message.StopToolCalls || len(deltas) != 6 {
		t.Errorf("%+v, stop %s, %d deltas", r.Blocks, r.Stop, len(deltas))
	}
	next := ask("plain")
	next.Messages = append(next.Messages, message.Message{Role: message.Assistant, Blocks: r.Blocks},
		message.Message{Role: message.User, Blocks: []message.Block{
			{Type: message.ToolResult, CallID: "call_1_1", Content: []message.Block{message.TextBlock("one")}},
			{Type: message.ToolResult, CallID: "call_1_2", Content: []message.Block{message.TextBlock("not JSON")}, IsError: true},
		}})
	var body struct {
		Tools    []any `json:"tools"`
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	raw, err := c.Encode(next)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, raw, &body)
	if body.Tools != nil || len(body.Messages) != 4 || body.Messages[2].Content != answer {
		t.Errorf("%s", raw)
	}
	if system, _ := body.Messages[0].Content.(string); !strings.Contains(system, `{"name":"read","description":"Reads.","arguments":{"type":"object"`) {
		t.Errorf("system text: %s", system)
	}
	results, _ := json.Marshal(body.Messages[3].Content)
	for _, want := range []string{`\"call_id\":\"call_1_1\",\"result\":\"one\"`, `\"error\":\"not JSON\"`} {
		if !strings.Contains(string(results), want) {
			t.Errorf("%s is not in %s", want, results)
		}
	}
}

const schemaTools = "  tools: {mode: schema, prompt: \"The tools: {tools}\"}\n"

func TestSchemaTools(t *testing.T) {
	item := strings.Replace(chat, "  tools: {parallel: true}\n", schemaTools, 1)
	for name, tc := range map[string]struct {
		answer, finish string
		want           message.Block
		stop           message.Stop
	}{
		"say": {`{"say":"Done."}`, "stop", message.TextBlock("Done."), message.StopEnd},
		"cut": {`{"say":"Do`, "length", message.TextBlock(`{"say":"Do`), message.StopMaxOutput},
		"call": {`{"call": {"name":"read","arguments":{"n":1.10}}}`, "stop", wire{dialect: textDialect}.mark(
			message.Block{Type: message.ToolCall, ID: "call_1_1", Name: "read", Input: json.RawMessage(`{"n":1.10}`)},
			[]byte(`{"call": {"name":"read","arguments":{"n":1.10}}}`)), message.StopToolCalls},
	} {
		quoted, _ := json.Marshal(tc.answer)
		c := fed(mustParse(t, item), sse(`{"choices":[{"delta":{"content":`+string(quoted)+`},"finish_reason":"`+tc.finish+`"}]}`, "[DONE]"))
		r, err := c.Call(t.Context(), ask("plain"), nil)
		if err != nil || !reflect.DeepEqual(r.Blocks, []message.Block{tc.want}) || r.Stop != tc.stop {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	c := mustParse(t, item)
	raw, err := c.Encode(ask("plain"))
	if err != nil || !strings.Contains(string(raw), `"enum":["read"]`) || !strings.Contains(string(raw), `"type":"json_schema"`) || strings.Contains(string(raw), `"tools":`) {
		t.Errorf("%s, %v", raw, err)
	}
	plain := ask("plain")
	plain.Tools = nil
	if raw, _ = c.Encode(plain); strings.Contains(string(raw), "json_schema") {
		t.Errorf("without tools: %s", raw)
	}
}

func TestQuirks(t *testing.T) {
	c := mustParse(t, chat)
	req := ask("quirky")
	req.Serial, req.Temperature = true, "0.5"
	req.Messages = append(req.Messages,
		message.Message{Role: message.Assistant, Blocks: []message.Block{{Type: message.ToolCall, ID: "toolu_01", Name: "list", Input: json.RawMessage(`{}`)}}},
		message.Message{Role: message.User, Blocks: []message.Block{{Type: message.ToolResult, CallID: "toolu_01"}}})
	raw, err := c.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	id := (&chatEncoder{m: c.Models["quirky"]}).id("toolu_01")
	for _, want := range []string{`"max_completion_tokens":100`, `{"role":"developer","content":"Be brief."}`, `"reasoning":{"effort":"low"}`,
		`"id":"` + id + `"`, `"tool_call_id":"` + id + `"`, `"parallel_tool_calls":false`, `"temperature":0.5`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
	if len(id) != 9 || strings.Contains(string(raw), `"max_tokens"`) {
		t.Errorf("id %s in %s", id, raw)
	}
	for item, want := range map[string]string{
		"quirks: [system_as_user, no_parallel]":       `{"role":"user","content":"Be brief."}`,
		"body: {add: {seed: 7}, drop: [temperature]}": `"seed":7`,
	} {
		c := mustParse(t, strings.Replace(chat, "provider:\n", "provider:\n  "+item+"\n", 1))
		req.Model = "plain"
		raw, err := c.Encode(req)
		if err != nil || !strings.Contains(string(raw), want) || strings.Contains(item, "no_parallel") && strings.Contains(string(raw), "parallel_tool_calls") ||
			strings.Contains(item, "drop") && strings.Contains(string(raw), "temperature") {
			t.Errorf("%s: %s, %v", item, raw, err)
		}
	}
	counted := fed(mustParse(t, strings.Replace(chat, "provider:\n", "provider:\n  quirks: [no_usage, no_done]\n", 1)),
		sse(`{"choices":[{"delta":{"content":"abcd"},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`))
	if r, err := counted.Call(t.Context(), ask("plain"), nil); err != nil || r.Usage.Assumed != 1 || r.Usage.Output != 2 {
		t.Errorf("no_usage: %+v, %v", r, err)
	}
	req.Temperature = "2.5"
	if _, err := c.Encode(req); err == nil || !strings.Contains(err.Error(), "from 0 to 2") {
		t.Error(err)
	}
	req.Temperature = ""
	req.Messages[0].Blocks = append(req.Messages[0].Blocks, message.Block{Type: message.File, MediaType: "application/pdf", Data: []byte("x")})
	if _, err := c.Encode(req); err == nil || !strings.Contains(err.Error(), "not pdf") {
		t.Error(err)
	}
}
