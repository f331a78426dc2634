package models

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider"
)

// shippedRules are those of the system bundle.
func shippedRules(t *testing.T) *Rules {
	t.Helper()
	b, err := fs.ReadFile(stdlib.FS(), ".ai/config/agent/services.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, found := yamlx.ParseItem(b)
	if doc == nil {
		t.Fatal(found)
	}
	rules, err := ReadRules(doc.Root)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// service is a scripted service. answers are bodies by "METHOD /path"; a body that begins
// with a number and a space has that status. refuse returns the refusal of a request, ""
// if it is answered.
type service struct {
	answers map[string]string
	refuse  func(path, body string) string
	key     string // that it wants
	header  string // in which it wants the key

	mu   sync.Mutex
	seen []string // "METHOD /path", in order
	sent []string // bodies
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	at := r.Method + " " + r.URL.Path
	s.mu.Lock()
	s.seen = append(s.seen, at)
	s.sent = append(s.sent, string(body))
	s.mu.Unlock()
	answer, known := s.answers[at]
	switch {
	case s.key != "" && r.Header.Get(s.header) != s.key:
		answer = `401 {"error":{"message":"wrong or missing key ` + r.Header.Get(s.header) + `"}}`
	case !known:
		answer = `404 {"detail":"Not Found"}`
	case s.refuse != nil && s.refuse(r.URL.Path, string(body)) != "":
		answer = s.refuse(r.URL.Path, string(body))
	case strings.Contains(string(body), `"report"`) && s.answers[at+" tool"] != "":
		answer = s.answers[at+" tool"]
	}
	status := http.StatusOK
	if code, rest, found := strings.Cut(answer, " "); found && len(code) == 3 && strings.Trim(code, "0123456789") == "" {
		for status = 0; code != ""; code = code[1:] {
			status = status*10 + int(code[0]-'0')
		}
		answer = rest
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (s *service) asked(what string) int {
	n := 0
	for _, at := range s.seen {
		if at == what {
			n++
		}
	}
	return n
}

func start(t *testing.T, s *service) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// chat is a stream of Chat Completions.
func chat(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"id":"1","model":"m","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}` + "\n\n")
	}
	b.WriteString(`data: {"id":"1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	b.WriteString(`data: {"id":"1","model":"m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n")
	return b.String()
}

func chatOK() string { return chat(`{"role":"assistant","content":"ok"}`) }

func chatTool() string {
	return chat(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"report","arguments":"{\"word\":\"ok\"}"}}]}`)
}

// call is a Caller that loads the text of the item and sends its requests as they are.
func call(t *testing.T, key string) Caller {
	return func(ctx context.Context, it *Item, _ string, req message.Request) (message.Response, []Deviation, error) {
		c := parsed(t, it)
		c.Send = func(ctx context.Context, url string, body []byte) (*httpstep.Reply, error) {
			if url == "" {
				url = it.URL
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			switch {
			case it.Key != "" && it.AsHeader != "":
				r.Header.Set(it.AsHeader, key)
			case it.Key != "":
				r.Header.Set("Authorization", "Bearer "+key)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				return nil, err
			}
			out := &httpstep.Reply{Status: res.StatusCode, Header: res.Header}
			if res.StatusCode == http.StatusOK {
				out.Stream = res.Body
				return out, nil
			}
			defer res.Body.Close()
			out.Body, err = io.ReadAll(res.Body)
			return out, err
		}
		r, odd, err := c.Probe(ctx, req)
		return r, Deviations(it, odd), err
	}
}

// parsed loads the text of an item as a thread does.
func parsed(t *testing.T, it *Item) *provider.Config {
	t.Helper()
	text := it.Text()
	doc, found := yamlx.ParseItem([]byte(text))
	if doc == nil || diag.Failed(found) {
		t.Fatalf("%v in\n%s", found, text)
	}
	c, found := provider.Parse(it.ID, doc)
	if c == nil {
		t.Fatalf("%v in\n%s", found, text)
	}
	return c
}

// add does what rye provider add does with a service, without writing.
func add(t *testing.T, w Wish, key string) (*Item, *Report, []string, error) {
	t.Helper()
	it, found, notes, err := Plan(t.Context(), w, Params{Rules: shippedRules(t), Key: key, Now: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return nil, nil, nil, err
	}
	report, err := Fit(t.Context(), it, found, call(t, key))
	return it, report, notes, err
}

// reason returns the reason of an error.
func reason(err error) string {
	var typed *diag.Error
	if errors.As(err, &typed) {
		return typed.Reason
	}
	return ""
}
