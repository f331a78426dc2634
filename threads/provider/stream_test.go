package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/message"
)

// sse writes events: data with the name that its type has.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var head struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(e), &head) == nil && head.Type != "" {
			b.WriteString("event: " + head.Type + "\n")
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const unknownBlock = `{"type":"future_block","id":"f1", "n":1.0,"z":{"b":1,"a":2}}`

func anthropicSample() string {
	return sse(
		`{"type":"message_start","message":{"id":"msg_1","model":"sonnet","usage":{"input_tokens":1200,"cache_read_input_tokens":10000,"cache_creation_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":2000,"ephemeral_1h_input_tokens":0},"output_tokens":1}}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"first"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":`+unknownBlock+`}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Reading \u00fc."}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1234567890"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1234567890.10}"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t2","name":"list","input":{},"caller":{"type":"direct"}}}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":850,"input_tokens":null,"server_tool_use":{"web_search_requests":2}}}`,
		`{"type":"message_stop"}`,
	)
}

func chatSample() string {
	return sse(
		`{"id":"c1","model":"plain","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_details":[{"type":"r","data":1.0}]},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"reasoning_content":"look first","reasoning_details":[{"type":"s"}]}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"Reading "}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"ü."}},{"index":1,"delta":{"content":"other"},"finish_reason":"stop"}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"read","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":1234567890"}},{"index":1,"id":"t2","type":"function","function":{"name":"list","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1234567890.10}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
		`{"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":10}}}`,
		`[DONE]`,
	)
}

// fed returns c with a transport that answers with a stream.
func fed(c *Config, stream string) *Config {
	c.Send = func(context.Context, string, []byte) (*httpstep.Reply, error) {
		return &httpstep.Reply{Status: 200, Stream: io.NopCloser(strings.NewReader(stream))}, nil
	}
	return c
}

func ask(model string) message.Request {
	return message.Request{
		Model: model, MaxOutput: 100, System: []message.Block{message.TextBlock("Be brief.")},
		Messages: []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock("Read it.")}}},
		Tools: []message.ToolDef{
			{Name: "list", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)},
		},
	}
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

func TestAnthropicResponse(t *testing.T) {
	c := fed(mustParse(t, claude), anthropicSample())
	var deltas []message.Delta
	got, err := c.Call(t.Context(), ask("sonnet"), func(d message.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	own := func(b message.Block, raw string) message.Block {
		return wire{Anthropic, "test/providers/a", "sonnet"}.mark(b, []byte(raw))
	}
	want := message.Response{
		ID: "msg_1", Model: "sonnet", Stop: message.StopToolCalls, StopRaw: "tool_use",
		Usage: message.Usage{Input: 1200, CacheRead: 10000, CacheWrite5m: 2000, Output: 850, Requests: map[string]int64{"web_search": 2}},
		Blocks: []message.Block{
			own(message.Block{Type: message.Reasoning}, `{"type":"thinking","thinking":"look first","signature":"c2ln"}`),
			own(message.Block{Type: message.Opaque}, unknownBlock),
			message.TextBlock("Reading ü."),
			{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)},
			own(message.Block{Type: message.ToolCall, ID: "t2", Name: "list", Input: json.RawMessage(`{}`)},
				`{"type":"tool_use","id":"t2","name":"list","input":{},"caller":{"type":"direct"}}`),
		},
	}
	same(t, got, want)
	sameDeltas(t, deltas, []message.Delta{
		{Kind: message.DeltaReasoning, Text: "look "}, {Kind: message.DeltaReasoning, Text: "first"}, {Kind: message.DeltaText, Text: "Reading ü."},
		{Kind: message.DeltaCallStart, CallID: "t1", Name: "read"}, {Kind: message.DeltaToolInput, CallID: "t1", Text: `{"n":1234567890`},
		{Kind: message.DeltaToolInput, CallID: "t1", Text: `1234567890.10}`}, {Kind: message.DeltaCallStart, CallID: "t2", Name: "list"},
	})
	if cost, assumed := c.Cost(got.Model, got.Usage); cost != 26_850_000+20_000_000 || assumed {
		t.Errorf("cost %d", cost)
	}
}

func TestChatResponse(t *testing.T) {
	c := fed(mustParse(t, chat), chatSample())
	got, err := c.Call(t.Context(), ask("plain"), nil)
	if err != nil {
		t.Fatal(err)
	}
	own := func(b message.Block, raw string) message.Block {
		return wire{Chat, "test/providers/a", "plain"}.mark(b, []byte(raw))
	}
	want := message.Response{
		ID: "c1", Model: "plain", Stop: message.StopToolCalls, StopRaw: "tool_calls",
		Usage: message.Usage{Input: 20, CacheRead: 100, Output: 30, Reasoning: 10},
		Blocks: []message.Block{
			own(message.Block{Type: message.Reasoning}, `{"reasoning_content":"look first"}`),
			own(message.Block{Type: message.Opaque}, `{"reasoning_details":[{"type":"r","data":1.0},{"type":"s"}]}`),
			message.TextBlock("Reading ü."),
			{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)},
			{Type: message.ToolCall, ID: "t2", Name: "list", Input: json.RawMessage(`{}`)},
		},
	}
	same(t, got, want)
	// 20·0.5 + 100·0.25 + 30·2 USD for a million tokens
	if cost, _ := c.Cost(got.Model, got.Usage); cost != 10_000+25_000+60_000 {
		t.Errorf("cost %d", cost)
	}
}

func same(t *testing.T, got, want message.Response) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		a, _ := jsonx.MarshalIndent(got)
		b, _ := jsonx.MarshalIndent(want)
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

func sameDeltas(t *testing.T, got, want []message.Delta) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("deltas\ngot  %+v\nwant %+v", got, want)
	}
}

// A stream that is cut after any byte is never a part of a response: the whole one after the
// proof of its end, else nothing.
func TestCutAtEveryByte(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts each answer at every byte")
	}
	for name, tc := range samples() {
		c := mustParse(t, tc.item)
		whole, err := fed(c, tc.stream).Call(t.Context(), ask(tc.model), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		proven := strings.LastIndex(tc.stream, map[string]string{"anthropic": "message_delta", "chat": `"finish_reason":"tool_calls"`, "ollama": "done_reason"}[name])
		for n := range len(tc.stream) {
			r, err := fed(c, tc.stream[:n]).Call(t.Context(), ask(tc.model), nil)
			if err == nil && n > proven && reflect.DeepEqual(r.Blocks, whole.Blocks) && r.Stop == whole.Stop {
				continue
			}
			var f *Failure
			if !errors.As(err, &f) || len(r.Blocks) > 0 {
				t.Fatalf("%s: cut at %d of %d: %+v, %v", name, n, len(tc.stream), r, err)
			}
			if f.Usage.Assumed != 1 || f.Usage.InputTotal() == 0 || f.Reason != streamIncomplete {
				t.Fatalf("%s: cut at %d: %+v", name, n, f)
			}
		}
	}
}

// What a service wrote goes back to it byte for byte, and to no other.
func TestEcho(t *testing.T) {
	for name, tc := range map[string]struct {
		item, model, other, stream string
		want, never                []string
	}{
		"anthropic": {claude, "sonnet", "haiku", anthropicSample(), []string{
			`{"type":"thinking","thinking":"look first","signature":"c2ln"}`, unknownBlock, `"input":{"n":12345678901234567890.10}`, `"caller":{"type":"direct"}`,
		}, []string{"look first", "future_block", "caller"}},
		"chat": {strings.Replace(chat, "    plain: {", "    plain: {quirks: [reasoning_content_echo], ", 1), "plain", "quirky", chatSample(), []string{
			`"reasoning_content":"look first"`, `"reasoning_details":[{"type":"r","data":1.0},{"type":"s"}]`, `"arguments":"{\"n\":12345678901234567890.10}"`,
		}, []string{"look first", "reasoning_details"}},
		"responses": {responses, "think", "other", responsesSample(), []string{thoughtItem, searchItem, messageItem, readCallItem, listCallItem},
			[]string{"look first", "web_search_call", "phase", "fc_1"}},
		"gemini": {gemini, "flash", "other", geminiSample(), []string{`{"text":"look first","thought":true}`, codePart, signedEmpty, signedCall, secondCall},
			[]string{"look first", "thoughtSignature", "executableCode"}},
		"ollama": {ollama, "llama", "other", ollamaSample(), []string{`"thinking":"look first"`, `"future":[1.0]`, ollamaRead, ollamaList},
			[]string{"look first", "future", `"index":0`}},
		"mapped": {mapped, "m", "other", mappedSample(), []string{`"state":{"b":1.0,"a":[2]}`, `{\"n\":12345678901234567890.10}`}, []string{"look first", "state"}},
	} {
		c := fed(mustParse(t, tc.item), tc.stream)
		r, err := c.Call(t.Context(), ask(tc.model), nil)
		if err != nil {
			t.Fatal(err)
		}
		// The transcript keeps the blocks as JSON.
		stored, _ := jsonx.Marshal(message.Message{Role: message.Assistant, Blocks: r.Blocks})
		var answer message.Message
		if err := json.Unmarshal(stored, &answer); err != nil {
			t.Fatal(err)
		}
		next := ask(tc.model)
		next.Messages = append(next.Messages, answer, message.Message{Role: message.User, Blocks: []message.Block{
			{Type: message.ToolResult, CallID: r.Calls()[0].ID, Content: []message.Block{message.TextBlock("one")}},
			{Type: message.ToolResult, CallID: r.Calls()[1].ID, Content: []message.Block{message.TextBlock("two")}, IsError: true},
		}})
		body, err := c.Encode(next)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: %s\nis not in %s", name, want, body)
			}
		}
		next.Model = tc.other
		if body, err = c.Encode(next); err != nil {
			t.Fatal(err)
		}
		c.ID = "test/providers/b"
		next.Model = tc.model
		elsewhere, err := c.Encode(next)
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range tc.never {
			if strings.Contains(string(body), never) || strings.Contains(string(elsewhere), never) {
				t.Errorf("%s: another model or provider receives %s", name, never)
			}
		}
	}
}

func TestStreamFailures(t *testing.T) {
	anthropic, plain := mustParse(t, claude), mustParse(t, chat)
	start := `{"type":"message_start","message":{"model":"sonnet","usage":{"input_tokens":7,"output_tokens":1}}}`
	open := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"abcd"}}`
	for name, tc := range map[string]struct {
		c      *Config
		stream string
		want   Failure
	}{
		"error event": {anthropic, sse(start, open, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
			Failure{Code: "PROVIDER_ERROR", Type: "overloaded_error", Message: "Overloaded", OutputBytes: 4, Usage: message.Usage{Input: 7, Output: 3, Assumed: 1}}},
		"no stop reason": {anthropic, sse(start, `{"type":"message_stop"}`), Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete, Usage: message.Usage{Input: 7, Output: 1, Assumed: 1}}},
		"open block": {anthropic, sse(start, open, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
			Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete, OutputBytes: 4, Usage: message.Usage{Input: 7, Output: 3, Assumed: 1}}},
		"two starts":     {anthropic, sse(start, open, start), Failure{Code: "PARSING_ERROR", OutputBytes: 4, Usage: message.Usage{Input: 7, Output: 3, Assumed: 1}}},
		"same block":     {anthropic, sse(start, open, open), Failure{Code: "PARSING_ERROR", OutputBytes: 4, Usage: message.Usage{Input: 7, Output: 3, Assumed: 1}}},
		"delta of none":  {anthropic, sse(start, `{"type":"content_block_delta","index":0,"delta":{}}`), Failure{Code: "PARSING_ERROR", Usage: message.Usage{Input: 7, Output: 1, Assumed: 1}}},
		"malformed":      {anthropic, "data: {\"type\":\n\n", Failure{Code: "PARSING_ERROR"}},
		"chat error":     {plain, sse(`{"error":{"message":"busy","type":"server_error","code":503}}`), Failure{Code: "503", StatusCode: 503, Type: "server_error", Message: "busy"}},
		"chat malformed": {plain, sse(`{"choices":[{"index":0,"delta":{"content":"abc"}}]}`) + "data: {{\n\n", Failure{Code: "PARSING_ERROR", OutputBytes: 3, Usage: message.Usage{Output: 2, Assumed: 1}}},
		"no finish":      {plain, sse(`{"choices":[{"index":0,"delta":{"content":"abc"}}]}`, `[DONE]`), Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete, OutputBytes: 3}},
		"not a stream":   {plain, `<html>{"choices":[{"message":{"content":"abc"},"finish_reason":"stop"}]}`, Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete}},
	} {
		model := "sonnet"
		if tc.c == plain {
			model = "plain"
		}
		_, err := fed(tc.c, tc.stream).Call(t.Context(), ask(model), nil)
		var f *Failure
		if !errors.As(err, &f) {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Code != tc.want.Code || f.Type != tc.want.Type || f.Reason != tc.want.Reason || f.OutputBytes != tc.want.OutputBytes || f.StatusCode != cmp.Or(tc.want.StatusCode, 200) {
			t.Errorf("%s: %+v", name, f)
		}
		if tc.want.Message != "" && f.Message != tc.want.Message {
			t.Errorf("%s: message %q", name, f.Message)
		}
		if tc.want.Usage.Input > 0 && !reflect.DeepEqual(f.Usage, tc.want.Usage) {
			t.Errorf("%s: usage %+v", name, f.Usage)
		}
		if diag.CodeOf(err) != diag.ProviderError && diag.CodeOf(err) != diag.ParsingError {
			t.Errorf("%s: %v has the code %s", name, err, diag.CodeOf(err))
		}
	}
}

func TestUsageThatIsNotStated(t *testing.T) {
	c := fed(mustParse(t, chat), sse(`{"choices":[{"index":0,"delta":{"content":"abcde"},"finish_reason":"stop"}]}`, `[DONE]`))
	r, err := c.Call(t.Context(), ask("plain"), nil)
	if err != nil || r.Usage.Assumed != 1 || r.Usage.Output != 3 || r.Usage.Input < 100 || r.Model != "plain" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStops(t *testing.T) {
	for raw, want := range map[string]message.Stop{
		"end_turn": message.StopEnd, "stop_sequence": message.StopEnd, "tool_use": message.StopToolCalls, "max_tokens": message.StopMaxOutput,
		"refusal": message.StopRefusal, "pause_turn": message.StopPause, "model_context_window_exceeded": message.StopMaxOutput, "new_reason": "", "sensitive": "",
	} {
		block := `{"type":"text","text":"a"}`
		if want == message.StopToolCalls {
			block = `{"type":"tool_use","id":"a","name":"list","input":{}}`
		}
		c := fed(mustParse(t, claude), sse(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":`+block+`}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"`+raw+`"}}`, `{"type":"message_stop"}`))
		checkStop(t, c, "sonnet", raw, want)
	}
	for raw, want := range map[string]message.Stop{
		"stop": message.StopEnd, "tool_calls": message.StopToolCalls, "length": message.StopMaxOutput, "content_filter": message.StopRefusal, "eos": message.StopEnd,
		"error": "", "network_error": "", "abort": "", "sensitive": "", "insufficient_system_resource": "", "a_new_reason": "",
	} {
		delta := `{"content":"a"}`
		if want == message.StopToolCalls {
			delta = `{"tool_calls":[{"index":0,"id":"a","function":{"name":"list","arguments":"{}"}}]}`
		}
		c := fed(mustParse(t, chat), sse(`{"choices":[{"delta":`+delta+`,"finish_reason":"`+raw+`"}]}`, `[DONE]`))
		checkStop(t, c, "plain", raw, want)
	}
}

// checkStop expects a response that ended so, or, without a reason of rye, a failure with
// the word of the service.
func checkStop(t *testing.T, c *Config, model, raw string, want message.Stop) {
	t.Helper()
	r, err := c.Call(t.Context(), ask(model), nil)
	var f *Failure
	switch {
	case want == "" && (!errors.As(err, &f) || f.Code != raw || f.Reason != unknownEnd || len(r.Blocks) > 0):
		t.Errorf("%s: %+v, %v", raw, r, err)
	case want != "" && (err != nil || r.Stop != want || r.StopRaw != raw):
		t.Errorf("%s: %+v, %v", raw, r, err)
	}
}

// Calls that the output maximum cut, and calls of services that give no id or no
// index, are calls all the same.
func TestUnusualCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		chunks []string
		want   []message.Block
	}{
		"cut": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"read","arguments":"{\"n\":"}}]},"finish_reason":"length"}]}`},
			[]message.Block{{Type: message.ToolCall, ID: "t1", Name: "read", InvalidInput: `{"n":`}}},
		"no id": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}`},
			[]message.Block{{Type: message.ToolCall, ID: "call_1_1", Name: "read", Input: json.RawMessage("{}")}}},
		"no index": {[]string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}},{"id":"b","function":{"name":"list","arguments":"{}"}}]},"finish_reason":"stop"}]}`},
			[]message.Block{{Type: message.ToolCall, ID: "a", Name: "read", Input: json.RawMessage("{}")}, {Type: message.ToolCall, ID: "b", Name: "list", Input: json.RawMessage("{}")}}},
		"index 0 twice": {[]string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"list","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
			[]message.Block{{Type: message.ToolCall, ID: "a", Name: "read", Input: json.RawMessage("{}")}, {Type: message.ToolCall, ID: "b", Name: "list", Input: json.RawMessage("{}")}}},
	} {
		c := fed(mustParse(t, chat), sse(append(tc.chunks, "[DONE]")...))
		r, err := c.Call(t.Context(), ask("plain"), nil)
		if err != nil || !reflect.DeepEqual(r.Blocks, tc.want) {
			t.Errorf("%s: %+v, %v", name, r.Blocks, err)
		}
	}
}

// fuzzStream feeds any bytes to a decoder: a response needs the dialect's proof.
func fuzzStream(f *testing.F, item, model, sample string, proof func(string) bool) {
	c := mustParse(f, item)
	f.Add([]byte(sample))
	f.Add([]byte(strings.ReplaceAll(sample, "\n", "\r\n")))
	f.Add([]byte(strings.ReplaceAll(sample, "ü", "\xa0\xe3ü\xe3\xa0\xff"))) // bytes that are no text
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := fed(c, string(in)).Call(t.Context(), ask(model), func(message.Delta) {})
		if err != nil {
			if len(r.Blocks) > 0 {
				t.Error("blocks next to an error")
			}
			return
		}
		if !proof(string(in)) {
			t.Errorf("a response without proof: %q", in)
		}
		if d := differs(c, string(in), r); d != "" {
			t.Errorf("%s: %q", d, in)
		}
		b, err := jsonx.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again message.Response
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		next := ask(model)
		next.Messages = append(next.Messages, message.Message{Role: message.Assistant, Blocks: again.Blocks})
		if body, err := c.Encode(next); err != nil || !json.Valid(body) {
			t.Errorf("the next request is not valid: %s, %v", body, err)
		}
		if u := r.Usage; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite5m < 0 || u.CacheWrite1h < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

func FuzzAnthropicStream(f *testing.F) {
	fuzzStream(f, claude, "sonnet", anthropicSample(), func(s string) bool {
		return strings.Contains(s, "stop") // escapes may spell message_stop in another way
	})
}

func FuzzChatStream(f *testing.F) {
	fuzzStream(f, chat, "plain", chatSample(), func(s string) bool {
		return strings.Contains(s, "[DONE]") || strings.Contains(s, "reason") || strings.Contains(s, `\\u`)
	})
}
