package provider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

const (
	ollamaRead = `{"id":"t1", "function":{"index":0,"name":"read","arguments":{"n":12345678901234567890.10}}}`
	ollamaList = `{"function":{"name":"list","arguments":{}}}`
)

func ollamaSample() string {
	return strings.Join([]string{
		`{"model":"llama","message":{"role":"assistant","content":"","thinking":"look "},"done":false}`,
		`{"model":"llama","message":{"role":"assistant","content":"","thinking":"first","future":[1.0]},"done":false}`,
		`{"model":"llama","message":{"role":"assistant","content":"Reading "},"done":false}`,
		`{"model":"llama","message":{"role":"assistant","content":"ü."},"done":false}`,
		`{"model":"llama","message":{"role":"assistant","content":"","tool_calls":[` + ollamaRead + `,` + ollamaList + `]},"done":false}`,
		`{"model":"llama","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":120,"eval_count":30}`,
	}, "\n")
}

func TestOllamaResponse(t *testing.T) {
	c := fed(mustParse(t, ollama), ollamaSample())
	got, err := c.Call(t.Context(), ask("llama"), nil)
	if err != nil {
		t.Fatal(err)
	}
	own := func(b message.Block, raw string) message.Block {
		return wire{Ollama, "test/providers/a", "llama"}.mark(b, []byte(raw))
	}
	same(t, got, message.Response{
		Model: "llama", Stop: message.StopToolCalls, StopRaw: "stop", Usage: message.Usage{Input: 120, Output: 30},
		Blocks: []message.Block{
			own(message.Block{Type: message.Reasoning}, `{"thinking":"look first"}`),
			own(message.Block{Type: message.Opaque}, `{"future":[1.0]}`),
			message.TextBlock("Reading ü."),
			own(message.Block{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)}, ollamaRead),
			own(message.Block{Type: message.ToolCall, ID: "call_1_2", Name: "list", Input: json.RawMessage(`{}`)}, ollamaList),
		},
	})
	// 120·0.5 + 30·2 USD for a million tokens
	if cost, assumed := c.Cost(got.Model, got.Usage); cost != 60_000+60_000 || assumed {
		t.Errorf("cost %d", cost)
	}
}

func TestOllamaFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		stream string
		want   Failure
	}{
		"error":     {`{"error":"model runner has stopped"}`, Failure{Code: "PROVIDER_ERROR", Message: "model runner has stopped"}},
		"no end":    {`{"message":{"content":"a"},"done":false}` + "\n", Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete}},
		"malformed": {"{{\n", Failure{Code: "PARSING_ERROR"}},
		"loaded":    {`{"done":true,"done_reason":"load"}`, Failure{Code: "load", Reason: unknownEnd}},
		"unloaded":  {`{"done":true,"done_reason":"unload"}`, Failure{Code: "unload", Reason: unknownEnd}},
	} {
		r, err := fed(mustParse(t, ollama), tc.stream).Call(t.Context(), ask("llama"), nil)
		var f *Failure
		if !errors.As(err, &f) || len(r.Blocks) > 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Code != tc.want.Code || f.Reason != tc.want.Reason || tc.want.Message != "" && f.Message != tc.want.Message {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if r, err := fed(mustParse(t, ollama), `{"done":true,"done_reason":"length"}`).Call(t.Context(), ask("llama"), nil); err != nil || r.Stop != message.StopMaxOutput || r.Usage.Assumed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The request states the window, without which the service cuts the conversation.
func TestOllamaRequest(t *testing.T) {
	c := mustParse(t, ollama)
	for effort, want := range map[string]string{"": "", "none": `"think":false`, "high": `"think":"high"`} {
		req := ask("llama")
		req.Effort, req.Temperature = effort, "0.5"
		body, err := c.Encode(req)
		if err != nil || !strings.Contains(string(body), want) || strings.Contains(string(body), "think") != (want != "") {
			t.Errorf("effort %q: %s, %v", effort, body, err)
		}
		if !strings.Contains(string(body), `"options":{"num_predict":100,"num_ctx":32000,"temperature":0.5}`) {
			t.Errorf("%s", body)
		}
	}
}

func FuzzOllamaStream(f *testing.F) {
	fuzzStream(f, ollama, "llama", ollamaSample(), func(s string) bool {
		return strings.Contains(s, "true")
	})
}
