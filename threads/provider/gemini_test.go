package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

const (
	signedCall  = `{"functionCall":{"name":"read","args":{"n":12345678901234567890.10}},"thoughtSignature":"b3BhcXVl"}`
	secondCall  = `{"functionCall":{"name":"list","args":{},"id":"g2"}}`
	codePart    = `{"executableCode":{"language":"PYTHON", "code":"1.0"}}`
	pieced      = `{"path":"notes","at":[{"n":1}]}`
	signedEmpty = `{"text":"","thoughtSignature":"ZW1wdHk="}`
)

func geminiSample() string {
	chunk := func(part string) string {
		return `{"candidates":[{"content":{"parts":[` + part + `],"role":"model"},"index":0}],"modelVersion":"flash","responseId":"g1","usageMetadata":{"promptTokenCount":7}}`
	}
	return sse(chunk(`{"text":"look ","thought":true}`), chunk(`{"text":"first","thought":true}`), chunk(codePart), chunk(`{"text":"Read"},{"text":"ing ü."}`),
		chunk(signedEmpty), chunk(signedCall+","+secondCall),
		chunk(`{"functionCall":{"name":"read","willContinue":true}}`), chunk(`{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":"no","willContinue":true}],"willContinue":true}}`),
		chunk(`{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":"tes"},{"jsonPath":"$.at[0].n","numberValue":1}],"willContinue":true}}`), chunk(`{"functionCall":{}}`),
		`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0},{"index":1,"content":{"parts":[{"text":"other"}]}}],`+
			`"usageMetadata":{"promptTokenCount":120,"toolUsePromptTokenCount":4,"cachedContentTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":10},"modelVersion":"flash","responseId":"g1"}`)
}

func TestGeminiResponse(t *testing.T) {
	c := fed(mustParse(t, gemini), geminiSample())
	got, err := c.Call(t.Context(), ask("flash"), nil)
	if err != nil {
		t.Fatal(err)
	}
	own := func(b message.Block, raw string) message.Block {
		return wire{Gemini, "test/providers/a", "flash"}.mark(b, []byte(raw))
	}
	same(t, got, message.Response{
		ID: "g1", Model: "flash", Stop: message.StopToolCalls, StopRaw: "STOP",
		Usage: message.Usage{Input: 24, CacheRead: 100, Output: 30, Reasoning: 10},
		Blocks: []message.Block{
			own(message.Block{Type: message.Reasoning}, `{"text":"look first","thought":true}`),
			own(message.Block{Type: message.Opaque}, codePart),
			message.TextBlock("Reading ü."),
			own(message.Block{Type: message.Opaque}, signedEmpty),
			own(message.Block{Type: message.ToolCall, ID: "call_1_1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)}, signedCall),
			own(message.Block{Type: message.ToolCall, ID: "g2", Name: "list", Input: json.RawMessage(`{}`)}, secondCall),
			own(message.Block{Type: message.ToolCall, ID: "call_1_3", Name: "read", Input: json.RawMessage(pieced)}, `{"functionCall":{"name":"read","args":`+pieced+`}}`),
		},
	})
	// 24·0.5 + 100·0.05 + 30·3 USD for a million tokens
	if cost, assumed := c.Cost(got.Model, got.Usage); cost != 12_000+5_000+90_000 || assumed {
		t.Errorf("cost %d", cost)
	}
}

func TestGeminiFailures(t *testing.T) {
	part := func(part, finish string) string {
		return `{"candidates":[{"content":{"parts":[` + part + `]},"finishReason":"` + finish + `"}]}`
	}
	for name, tc := range map[string]struct {
		events []string
		want   Failure
	}{
		"error": {[]string{`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
			Failure{Code: "503", Type: "UNAVAILABLE", Message: "The model is overloaded."}},
		"wait": {[]string{`{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`},
			Failure{Code: "429", Type: "RESOURCE_EXHAUSTED", RetryAfterMS: 34_500}},
		"no end":         {[]string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`}, Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete}},
		"after the end":  {[]string{part(`{"text":"a"}`, "STOP"), part(`{"text":"b"}`, "STOP")}, Failure{Code: "PARSING_ERROR"}},
		"pieces":         {[]string{part(`{"functionCall":{"name":"read","partialArgs":[{"jsonPath":"$.n","numberValue":1}],"willContinue":true}}`, "STOP")}, Failure{Code: "PARSING_ERROR", Reason: unreadableCalls}},
		"malformed call": {[]string{part("", "MALFORMED_FUNCTION_CALL")}, Failure{Code: "MALFORMED_FUNCTION_CALL", Type: "MALFORMED_FUNCTION_CALL", Reason: unknownEnd}},
		"language":       {[]string{part(`{"text":"a"}`, "LANGUAGE")}, Failure{Code: "LANGUAGE", Type: "LANGUAGE", Reason: unknownEnd}},
		"other":          {[]string{part(`{"text":"a"}`, "OTHER")}, Failure{Code: "OTHER", Type: "OTHER", Reason: unknownEnd}},
		"new reason":     {[]string{part("", "A_NEW_REASON")}, Failure{Code: "A_NEW_REASON", Type: "A_NEW_REASON", Reason: unknownEnd}},
	} {
		r, err := fed(mustParse(t, gemini), sse(tc.events...)).Call(t.Context(), ask("flash"), nil)
		var f *Failure
		if !errors.As(err, &f) || len(r.Blocks) > 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Code != tc.want.Code || f.Type != tc.want.Type || f.Reason != tc.want.Reason || f.RetryAfterMS != tc.want.RetryAfterMS || tc.want.Message != "" && f.Message != tc.want.Message {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for chunk, want := range map[string]message.Stop{
		part(`{"text":"a"}`, "STOP"): message.StopEnd, part(`{"text":"a"}`, "MAX_TOKENS"): message.StopMaxOutput, part("", "SAFETY"): message.StopRefusal,
		part(signedCall, "STOP"): message.StopToolCalls, `{"promptFeedback":{"blockReason":"OTHER"}}`: message.StopRefusal,
	} {
		if r, err := fed(mustParse(t, gemini), sse(chunk)).Call(t.Context(), ask("flash"), nil); err != nil || r.Stop != want {
			t.Errorf("%s: %+v, %v", chunk, r, err)
		}
	}
}

// A schema has the keywords that the service accepts, and a result the name of its
// function and the id that the service gave.
func TestGeminiRequest(t *testing.T) {
	c := mustParse(t, gemini)
	req := ask("flash")
	req.Effort, req.Temperature = "high", "0.5"
	req.Tools[1].Schema = json.RawMessage(`{"$schema":"x","type":"object","properties":{"pattern":{"const":"a","pattern":"^a"},"n":{"anyOf":[{"type":"integer","exclusiveMinimum":1},{"type":"array","items":{"type":"string","minLength":1}}]}},"additionalProperties":false,"required":["n"]}`)
	own := wire{Gemini, "test/providers/a", "flash"}
	call := own.mark(message.Block{Type: message.ToolCall, ID: "call_1_1", Name: "read", Input: json.RawMessage("{}")}, []byte(signedCall))
	req.Messages = append(req.Messages, message.Message{Role: message.Assistant, Blocks: []message.Block{call, {Type: message.ToolCall, ID: "t2", Name: "list"}}},
		message.Message{Role: message.User, Blocks: []message.Block{
			{Type: message.ToolResult, CallID: "call_1_1", Content: []message.Block{message.TextBlock("one"), {Type: message.Image, MediaType: "image/png", Data: []byte{1}}}},
			{Type: message.ToolResult, CallID: "t2", IsError: true, Content: []message.Block{message.TextBlock("two")}},
		}})
	body, err := c.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"parametersJsonSchema":{"type":"object","properties":{"pattern":{"enum":["a"]},"n":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}},"additionalProperties":false,"required":["n"]}`,
		`"parts":[` + signedCall + `,{"functionCall":{"id":"t2","name":"list","args":{}}}]`,
		`{"functionResponse":{"name":"read","response":{"output":"one"}}},{"functionResponse":{"id":"t2","name":"list","response":{"error":"two"}}},{"text":"[of the result of call_1_1]"},{"inlineData":{"mimeType":"image/png","data":"AQ=="}}`,
		`"generationConfig":{"maxOutputTokens":100,"temperature":0.5,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s\nis not in %s", want, body)
		}
	}
	for effort, want := range map[string]string{"": "", "none": `"thinkingConfig":{"thinkingBudget":0}`, "low": `"maxOutputTokens":1124,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}`} {
		budget := ask("other")
		budget.Effort = effort
		if body, err := c.Encode(budget); err != nil || !strings.Contains(string(body), want) || strings.Contains(string(body), "thinking") != (want != "") {
			t.Errorf("effort %q: %s, %v", effort, body, err)
		}
	}
}

// Arguments that arrive in pieces are read once all of them did, and nothing else is.
func TestGeminiPieces(t *testing.T) {
	const part = `{"candidates":[{"content":{"parts":[%s]},"index":0}]}`
	const end = `{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`
	call := func(members string) string { return fmt.Sprintf(part, `{"functionCall":{`+members+`}}`) }
	begin := fmt.Sprintf(part, `{"functionCall":{"name":"read","id":"g7","willContinue":true},"thoughtSignature":"c2ln"}`)
	at := func(path, value string) string {
		return call(`"partialArgs":[{"jsonPath":` + string(encoded(path)) + `,` + value + `}],"willContinue":true`)
	}
	whole := []string{begin, at("$.path", `"stringValue":"no","willContinue":true`), at("$.path", `"stringValue":"tes\u00fc","willContinue":true`), at("$.path", `"stringValue":""`),
		at("$.at[0].line", `"numberValue":12.50`), at("$.at[0]['a b']", `"boolValue":false`), at(`$.at[1]["c"]`, `"nullValue":"NULL_VALUE"`), call("")}
	want := `{"path":"notesü","at":[{"line":12.50,"a b":false},{"c":null}]}`
	r, err := fed(mustParse(t, gemini), sse(append(append([]string{fmt.Sprintf(part, signedCall)}, whole...), end)...)).Call(t.Context(), ask("flash"), nil)
	if err != nil || len(r.Blocks) != 2 {
		t.Fatalf("%+v, %v", r.Blocks, err)
	}
	if b := r.Blocks[1]; string(b.Input) != want || b.ID != "g7" || string(b.Raw) != `{"functionCall":{"name":"read","id":"g7","args":`+want+`},"thoughtSignature":"c2ln"}` {
		t.Errorf("%s %s %s", b.ID, b.Input, b.Raw)
	}
	for name, events := range map[string][]string{
		"not ended":            append(slices.Clone(whole[:7]), end),
		"a string not ended":   {begin, at("$.path", `"stringValue":"no","willContinue":true`), call(""), end},
		"another call within":  {begin, call(`"name":"list"`), call(""), end},
		"a text within":        {begin, fmt.Sprintf(part, `{"text":"a"}`), call(""), end},
		"a value twice":        {begin, at("$.n", `"numberValue":1`), at("$.n", `"numberValue":1`), call(""), end},
		"more after its end":   {begin, at("$.n", `"stringValue":"a"`), at("$.n", `"stringValue":"b"`), call(""), end},
		"an item left out":     {begin, at("$.n[1]", `"numberValue":1`), call(""), end},
		"two kinds":            {begin, at("$.n[0]", `"numberValue":1`), at("$.n.a", `"numberValue":1`), call(""), end},
		"the whole as a value": {begin, at("$", `"numberValue":1`), call(""), end},
		"every member":         {begin, at("$.*", `"numberValue":1`), call(""), end},
		"no value":             {begin, at("$.n", `"other":1`), call(""), end},
		"no name":              {at("$.n", `"numberValue":1`), call(""), end},
		"an object too":        {begin, call(`"args":{"n":1}`), end},
	} {
		r, err := fed(mustParse(t, gemini), sse(events...)).Call(t.Context(), ask("flash"), nil)
		var f *Failure
		if !errors.As(err, &f) || f.Reason != unreadableCalls || len(r.Blocks) > 0 {
			t.Errorf("%s: %+v, %v", name, r.Blocks, err)
		}
	}
	cut := []string{begin, at("$.path", `"stringValue":"no","willContinue":true`), `{"candidates":[{"content":{"parts":[]},"finishReason":"MAX_TOKENS"}]}`}
	r, err = fed(mustParse(t, gemini), sse(cut...)).Call(t.Context(), ask("flash"), nil)
	if err != nil || r.Stop != message.StopMaxOutput || len(r.Blocks) != 1 || r.Blocks[0].InvalidInput == "" || r.Blocks[0].Input != nil {
		t.Errorf("an answer that is cut within arguments: %+v, %v", r, err)
	}
}

func FuzzGeminiStream(f *testing.F) {
	fuzzStream(f, gemini, "flash", geminiSample(), func(s string) bool {
		return strings.Contains(s, "eason") || strings.Contains(s, `\u`) // escapes may spell finishReason in another way
	})
}
