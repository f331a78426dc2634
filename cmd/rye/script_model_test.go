package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptedAnswer is one answer of the scripted model of a test.
type scriptedAnswer struct {
	Text  string `json:"text"`
	Calls []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Args string `json:"args"`
	} `json:"calls"`
	Status  int    `json:"status"` // instead of an answer
	Type    string `json:"type"`
	Message string `json:"message"`
	Sleep   int    `json:"sleep_ms"`
	Input   int64  `json:"input"`  // tokens; 0 is 100
	Output  int64  `json:"output"` // tokens; 0 is 20
}

// cmdModelServe starts a server with the wire format openai_chat that gives the answers
// of a file in order, the last one again and again, and sets MODEL_URL. Every request
// is a line of requests.jsonl.
func cmdModelServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "modelserve FILE")
	var answers []scriptedAnswer
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &answers))
	log := ts.MkAbs("requests.jsonl")
	ts.Check(os.WriteFile(log, nil, 0o644))
	m := &scriptedModel{answers: answers, log: log}
	s := httptest.NewServer(m)
	ts.Defer(s.Close)
	ts.Setenv("MODEL_URL", s.URL)
}

type scriptedModel struct {
	answers []scriptedAnswer
	log     string

	mu sync.Mutex
	n  int
}

func (m *scriptedModel) next(r *http.Request) (scriptedAnswer, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var body struct {
		Model string `json:"model"`
	}
	var raw json.RawMessage
	if json.NewDecoder(r.Body).Decode(&raw) == nil {
		_ = json.Unmarshal(raw, &body)
	}
	if f, err := os.OpenFile(m.log, os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintf(f, "%s\n", raw)
		f.Close()
	}
	a := m.answers[min(m.n, len(m.answers)-1)]
	m.n++
	return a, body.Model
}

// ServeHTTP answers one request.
func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, model := m.next(r)
	select {
	case <-r.Context().Done():
		return
	case <-time.After(time.Duration(a.Sleep) * time.Millisecond):
	}
	if a.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": a.Type, "message": a.Message}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v any) {
		b, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	chunk := func(delta map[string]any, finish any) {
		event(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	for word := range strings.SplitAfterSeq(a.Text, " ") {
		if word != "" {
			chunk(map[string]any{"content": word}, nil)
		}
	}
	finish := "stop"
	for i, c := range a.Calls {
		finish = "tool_calls"
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", m.n, i)
		}
		chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": id, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Args}}}}, nil)
	}
	chunk(map[string]any{}, finish)
	input, output := max(a.Input, 0), max(a.Output, 0)
	if input == 0 {
		input = 100
	}
	if output == 0 {
		output = 20
	}
	event(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": model, "choices": []any{},
		"usage": map[string]any{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
