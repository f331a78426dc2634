package rulemodel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// post sends a request and returns the body of the answer.
func post(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestModel(t *testing.T) {
	rule := func(r *Request) scripted.Send {
		if len(r.Calls) == 0 {
			return r.Do(r.Use("rye/bash/bash", map[string]any{"command": "ls"}))
		}
		if r.Last().Result != "a.md" {
			return Lost("a.md, in %q", r.Last().Result)
		}
		return scripted.Send{Text: "There is one file."}
	}
	for _, c := range []struct{ dialect, path, first, second, want string }{
		{
			scripted.Chat, "/chat/completions",
			`{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"rye_execute","parameters":{}}}],"messages":[{"role":"user","content":"WORK"}`,
			`,{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"rye_execute","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"a.md"}`,
			`rye_execute`,
		},
		{
			scripted.Anthropic, "/v1/messages",
			`{"model":"m","stream":true,"max_tokens":9,"tools":[{"name":"rye__bash__bash","input_schema":{}}],"messages":[{"role":"user","content":"WORK"}`,
			`,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"rye__bash__bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"a.md"}]}]}`,
			`rye__bash__bash`,
		},
		{
			scripted.Responses, "/responses",
			`{"model":"m","stream":true,"tools":[{"type":"function","name":"rye__bash__bash","parameters":{}}],"input":[{"type":"message","role":"user","content":"WORK"}`,
			`,{"type":"function_call","call_id":"1","name":"rye__bash__bash","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"a.md"}`,
			`rye__bash__bash`,
		},
	} {
		m := New(c.dialect, Marked{"WORK", rule})
		m.AcceptAll() // the bodies are as short as they can be
		server := httptest.NewServer(m)
		got := post(t, server.URL+c.path, c.first+"]}")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: the answer has no call of %s: %s", c.dialect, c.want, got)
		}
		got = post(t, server.URL+c.path, c.first+c.second+"]}")
		if !strings.Contains(got, "one file") && !strings.Contains(got, "There is on") {
			t.Errorf("%s: the answer does not use the result: %s", c.dialect, got)
		}
		s := m.Stats()
		if s.Requests != 2 || s.Unknown != 0 || len(s.Lost) > 0 || s.ToolsOffered != 1 {
			t.Errorf("%s: the statistics are %+v", c.dialect, s)
		}
		if want := len(c.first); s.Same != want || s.Before != want+2 {
			t.Errorf("%s: %d of %d bytes are an identical beginning, want %d of %d", c.dialect, s.Same, s.Before, want, want+2)
		}
		server.Close()
	}
}

// TestLost shows that a rule which cannot read a result is counted.
func TestLost(t *testing.T) {
	m := New(scripted.Chat, Marked{"WORK", func(*Request) scripted.Send { return Lost("the output") }})
	m.AcceptAll()
	server := httptest.NewServer(m)
	defer server.Close()
	post(t, server.URL+"/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"WORK"}]}`)
	post(t, server.URL+"/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"other"}]}`)
	s := m.Stats()
	if len(s.Lost) != 1 || s.Lost[0] != "the output" || s.Unknown != 1 {
		t.Errorf("the statistics are %+v", s)
	}
}

var _ http.Handler = (*Model)(nil)
