package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/mcptest"
)

// weekModel is a server of models on this machine, as Ollama is one: it lists two models and
// answers as one that calls the only tool it has, reads todo.txt, and returns its outputs.
func weekModel(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen3:8b","owned_by":"library"},{"id":"llama3.2:latest","owned_by":"library"}]}`)
	})
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"models":[{"name":"qwen3:8b"},{"name":"llama3.2:latest"}]}`)
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		var req weekRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		send := json.NewEncoder(w).Encode
		message := req.answer()
		message["role"] = "assistant"
		_ = send(map[string]any{"model": req.Model, "message": message, "done": false})
		_ = send(map[string]any{"model": req.Model, "message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
			"prompt_eval_count": 2000, "eval_count": 20})
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var req weekRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(v map[string]any) {
			v["id"], v["model"] = "1", req.Model
			b, _ := json.Marshal(v)
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
		delta, reason := req.answer(), "stop"
		calls, _ := delta["tool_calls"].([]any)
		for i, c := range calls { // here arguments are a text, and calls have an id and an index
			f := c.(map[string]any)["function"].(map[string]any)
			b, _ := json.Marshal(f["arguments"])
			calls[i], reason = map[string]any{"index": i, "id": "call_1", "type": "function", "function": map[string]any{"name": f["name"], "arguments": string(b)}}, "tool_calls"
		}
		send(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
		send(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}})
		send(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 2000, "completion_tokens": 20, "total_tokens": 2020}})
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	return mux
}

// weekRequest is what the model reads of a request.
type weekRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name       string `json:"name"`
			Parameters struct {
				Properties map[string]any `json:"properties"`
			} `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// answer returns the message of the model.
func (req *weekRequest) answer() map[string]any {
	last := req.Messages[len(req.Messages)-1]
	call := func(name string, args any) map[string]any {
		return map[string]any{"content": "", "tool_calls": []any{map[string]any{"function": map[string]any{"name": name, "arguments": args}}}}
	}
	returned := map[string]any{} // a value for each output
	reads, returns := false, false
	for _, tool := range req.Tools {
		reads = reads || tool.Function.Name == "rye__file-system__read"
		if tool.Function.Name == "directive_return" {
			returns = true
			for key := range tool.Function.Parameters.Properties {
				returned[key] = "Call Bob."
			}
		}
	}
	switch text := fmt.Sprint(last.Content); {
	case reads && last.Role != "tool" && strings.Contains(text, "todo.txt"):
		return call("rye__file-system__read", map[string]any{"file_path": "todo.txt"})
	case returns && (last.Role != "tool" || strings.Contains(text, "Call Bob today")):
		return call("directive_return", returned)
	case len(req.Tools) == 1 && last.Role != "tool":
		return call(req.Tools[0].Function.Name, map[string]any{})
	}
	return map[string]any{"content": "Call Bob, and buy milk."}
}

// weekServices returns the addresses of the model and of MCP servers.
func weekServices(t *testing.T) (model, servers string) {
	t.Helper()
	m := httptest.NewServer(weekModel(t))
	t.Cleanup(m.Close)
	s := httptest.NewServer((&mcptest.Server{}).Handler())
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return m.URL, s.URL
}
