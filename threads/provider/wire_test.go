package provider

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider/scripted"
)

const plantedKey = "sk-planted-secret-1"

// wired returns a provider of a dialect whose service is a scenario.
func wired(t *testing.T, dialect, scenario string) (*Config, *scripted.Server, string) {
	t.Helper()
	idle := int64(60)
	return wiredIdle(t, dialect, scenario, &idle)
}

// wiredIdle is wired with the idle_timeout, in seconds, that idle has at each call.
func wiredIdle(t *testing.T, dialect, scenario string, idle *int64) (*Config, *scripted.Server, string) {
	t.Helper()
	file := "scripted/testdata/" + scenario + ".yaml"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Parse(file, content)
	if err != nil {
		t.Fatal(err)
	}
	s.Dialect = dialect
	server := &scripted.Server{Scenario: s}
	h := httptest.NewServer(server)
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	text := strings.Replace(claude, "sonnet-2", "scripted", 1)
	conf := map[string]any{
		"method": "POST", "url": "${BASE}/v1/messages", "auth": map[string]any{"type": "api_key", "header": "x-api-key", "key": "${KEY}"},
		"headers": map[string]any{"anthropic-version": "2023-06-01"},
	}
	if dialect == Chat {
		text = strings.Replace(chat, "plain: {", "plain: {names: [scripted], ", 1)
		text = strings.Replace(text, "tools: {parallel: true}", "body: {add: {stream_options: {include_usage: true}}}", 1)
		conf["url"], conf["auth"] = "${BASE}/v1/chat/completions", map[string]any{"type": "bearer", "token": "${KEY}"}
	}
	if dialect == Responses {
		text = strings.Replace(responses, "    think:\n", "    think:\n      names: [scripted]\n", 1)
		conf["url"], conf["auth"] = "${BASE}/v1/responses", map[string]any{"type": "bearer", "token": "${KEY}"}
	}
	if dialect == Gemini {
		text = strings.Replace(gemini, "    flash:\n", "    flash:\n      names: [scripted]\n", 1)
		text = "config: {url: \"${BASE}/v1beta/models/{model}:streamGenerateContent?alt=sse\"}\n" + text
		conf["url"], conf["auth"] = "${BASE}/v1beta", map[string]any{"type": "api_key", "header": "x-goog-api-key", "key": "${KEY}"}
	}
	if dialect == Ollama {
		text = strings.Replace(ollama, "llama: {", "llama: {names: [scripted], ", 1)
		conf["url"], conf["auth"] = "${BASE}/api/chat", map[string]any{"type": "bearer", "token": "${KEY}"}
	}
	conf["mode"], conf["framing"], conf["body"] = "stream", string(framing(dialect)), "{request}"
	conf["allow_private"] = []any{"127.0.0.1"}
	c := mustParse(t, text)
	call := httpstep.Call{Ref: "tool:test/providers/a", Config: conf, Env: map[string]string{"BASE": h.URL, "KEY": plantedKey}, Boundary: policy.Boundary{}, Now: time.Now}
	c.Send = func(ctx context.Context, url string, body []byte) (*httpstep.Reply, error) {
		conf["idle_timeout"] = *idle
		return call.Open(ctx, url, body)
	}
	return c, server, h.URL
}

func modelOf(dialect string) string {
	return map[string]string{Anthropic: "sonnet", Chat: "plain", Responses: "think", Gemini: "flash", Ollama: "llama"}[dialect]
}

// reading is what a client makes of an answer.
type reading struct {
	Text      string   `json:"text"`
	Reasoning string   `json:"reasoning"`
	Calls     []callOf `json:"calls"`
	Stop      string   `json:"stop"`
	Usage     [4]int64 `json:"usage"` // input without cache, cache read, cache written, output
}

type callOf struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// The answers, as a person reads the scenario.
func expectedAnswers(dialect string) []reading {
	id := func(n, i string) string {
		if dialect == Anthropic {
			return "toolu_" + n + "_" + i
		}
		return "call_" + n + "_" + i
	}
	stop := map[string]string{"end": "end_turn", "calls": "tool_use", "refusal": "refusal"}
	written, none := int64(768), [4]int64{10, 0, 0, 5}
	if dialect == Chat {
		stop, written = map[string]string{"end": "stop", "calls": "tool_calls", "refusal": "stop"}, 0
	}
	if dialect == Ollama {
		stop, written = map[string]string{"end": "stop", "calls": "stop", "refusal": "stop"}, 0
	}
	if dialect == Gemini {
		stop, written = map[string]string{"end": "STOP", "calls": "STOP", "refusal": "SAFETY"}, 0
	}
	if dialect == Responses {
		stop = map[string]string{"end": "completed", "calls": "completed", "refusal": "completed"}
	}
	// Ollama counts what a cache gave as other tokens of the prompt.
	cached := func(in, read, written, out int64) [4]int64 {
		if dialect == Ollama {
			in, read = in+read, 0
		}
		return [4]int64{in, read, written, out}
	}
	return []reading{
		{Text: "Hello, wörld: <tags> & \"quotes\".\nA second line.", Stop: stop["end"], Usage: [4]int64{900, 0, 0, 60}},
		{Text: "Reading both.", Stop: stop["calls"], Usage: [4]int64{1200, 0, 0, 850}, Calls: []callOf{
			{id("2", "1"), "read", map[string]any{"path": "a/ü.md", "deep": map[string]any{"list": []any{1.0, 2.5, nil, true}}}},
			{id("2", "2"), "list", map[string]any{}}, {id("2", "3"), "read", map[string]any{"path": "b.md"}},
		}},
		{Text: "Done.", Reasoning: "Read the file first.", Stop: stop["end"], Usage: cached(30, 1000, 0, 40)},
		{Text: "Cached.", Stop: stop["end"], Usage: cached(12, 2048, written, 3)},
		{Text: "Growing counts are totals.", Stop: stop["end"], Usage: [4]int64{20, 0, 0, 16}},
		{Text: "An unknown part.", Stop: stop["end"], Usage: none},
		{Text: "Cut at the max", Stop: "max_tokens", Usage: [4]int64{5, 0, 0, 4}},
		{Text: "I will not do that.", Stop: stop["refusal"], Usage: none},
		{Stop: stop["calls"], Usage: none, Calls: []callOf{{id("9", "1"), "read", map[string]any{"path": "only a call"}}}},
		{Text: "Slow bytes.", Stop: stop["end"], Usage: [4]int64{7, 0, 0, 2}},
		{Text: "Counted late.", Stop: stop["end"], Usage: [4]int64{31, 0, 0, 8}},
		{Text: "Hidden.", Stop: stop["end"], Usage: none},
	}
}

func readingOf(t *testing.T, r message.Response) reading {
	t.Helper()
	u := r.Usage
	out := reading{Text: r.Text(), Stop: r.StopRaw, Usage: [4]int64{u.Input, u.CacheRead, u.CacheWrite5m + u.CacheWrite1h, u.Output}}
	for _, b := range r.Blocks {
		if b.Type == message.Reasoning {
			f, err := readFields(b.Raw)
			if err != nil {
				t.Fatal(err)
			}
			out.Reasoning += f.text("thinking") + f.text("reasoning_content") + f.text("text")
			for _, part := range elements(f.get("summary")) {
				summary, err := readFields(part)
				if err != nil {
					t.Fatal(err)
				}
				out.Reasoning += summary.text("text")
			}
		}
	}
	for _, c := range r.Calls() {
		var input any
		decode(t, c.Input, &input)
		out.Calls = append(out.Calls, callOf{c.ID, c.Name, input})
	}
	return out
}

func TestScriptedAnswers(t *testing.T) {
	for _, dialect := range published() {
		c, server, _ := wired(t, dialect, "answers")
		for i, want := range expectedAnswers(dialect) {
			r, err := c.Call(t.Context(), ask(modelOf(dialect)), nil)
			if err != nil {
				t.Fatalf("%s, step %d: %v", dialect, i+1, err)
			}
			if got := readingOf(t, r); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, step %d:\ngot  %+v\nwant %+v", dialect, i+1, got, want)
			}
			if _, assumed := c.Cost(r.Model, r.Usage); assumed || r.Usage.Assumed != 0 {
				t.Errorf("%s, step %d: the cost is assumed", dialect, i+1)
			}
		}
		if server.Unused() != 0 || len(server.Problems()) > 0 {
			t.Errorf("%s: %d steps left, %q", dialect, server.Unused(), server.Problems())
		}
	}
}

// fault is what a call reports of a fault.
type fault struct {
	status    int
	diag      diag.Code
	kind, has string
	reason    string
	retry     int64
	billed    bool
}

// TestScriptedFaults asks in all dialects at once: two answers of each wait for idle_timeout.
func TestScriptedFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for timeouts")
	}
	wants := []fault{
		{429, diag.ProviderError, "rate_limit_error", "Too many requests", "", 7000, false},
		{529, diag.ProviderError, "overloaded_error", "Overloaded", "", 0, false},
		{400, diag.ProviderError, "invalid_request_error", "prompt is too long", "", 0, false},
		{401, diag.AuthFailed, "authentication_error", "invalid key [redacted]", "", 0, false},
		{500, diag.ProviderError, "", "Bad gateway", "", 0, false},
		{302, diag.ProviderError, "", "302", "", 0, false},
		{200, diag.ProviderError, "overloaded_error", "Overloaded, [redacted]", "", 0, true},
		{200, diag.ParsingError, "", "", "", 0, true},
		{200, diag.ProviderError, "", "", streamIncomplete, 0, true},
		{200, diag.Network, "", "", "", 0, true},
		{200, diag.Timeout, "", "", "", 0, true},
		{0, diag.Timeout, "", "idle_timeout", "", 0, true},
	}
	var all sync.WaitGroup
	for _, dialect := range published() {
		idle := new(int64)
		c, server, _ := wiredIdle(t, dialect, "faults", idle)
		all.Go(func() { checkFaults(t, dialect, c, server, wants, idle) })
	}
	all.Wait()
}

// checkFaults makes one call for each fault, then two that succeed.
func checkFaults(t *testing.T, dialect string, c *Config, server *scripted.Server, wants []fault, idle *int64) {
	t.Helper()
	for i, w := range wants {
		*idle = 60
		if w.diag == diag.Timeout {
			*idle = 2
		}
		r, err := c.Call(t.Context(), ask(modelOf(dialect)), nil)
		var f *Failure
		if !errors.As(err, &f) || len(r.Blocks) > 0 {
			t.Errorf("%s, step %d: %+v, %v", dialect, i+1, r, err)
			return
		}
		if dialect == Gemini && w.status == 200 && w.kind != "" {
			w.status = f.StatusCode // its errors within a stream state one
			if w.status < 400 || f.Code != strconv.Itoa(w.status) {
				t.Errorf("%s, step %d: status %d, code %q", dialect, i+1, w.status, f.Code)
			}
		}
		if f.StatusCode != w.status || diag.CodeOf(err) != w.diag || f.Type != w.kind && dialect != Ollama || dialect == Ollama && f.Type != "" || f.Reason != w.reason || f.RetryAfterMS != w.retry {
			t.Errorf("%s, step %d: %+v (%v)", dialect, i+1, f, err)
		}
		if !strings.Contains(err.Error(), w.has) || (f.Usage.Assumed == 1) != w.billed || (f.Usage.Total() > 0) != w.billed {
			t.Errorf("%s, step %d: %v, usage %+v", dialect, i+1, err, f.Usage)
		}
		if strings.Contains(err.Error()+f.Message+f.Type+f.Code, "planted") {
			t.Errorf("%s, step %d: the key is in %v", dialect, i+1, err)
		}
	}
	*idle = 60
	r, err := c.Call(t.Context(), ask(modelOf(dialect)), nil)
	if err != nil || r.Text() != "The end comes twice." || r.Usage.Output != 5 {
		t.Errorf("%s, duplicate events: %+v, %v", dialect, r, err)
	}
	r, err = c.Call(t.Context(), ask(modelOf(dialect)), nil)
	if err != nil || r.Text() != "No counts." || r.Usage.Assumed != 1 || r.Usage.Output != 5 {
		t.Errorf("%s, no usage: %+v, %v", dialect, r, err)
	}
	if server.Unused() != 0 || len(server.Problems()) > 0 {
		t.Errorf("%s: %d steps left, %q", dialect, server.Unused(), server.Problems())
	}
}

// A refused address and a cancelled call are failures that say so.
func TestCallsThatDoNotArrive(t *testing.T) {
	c, _, url := wired(t, Anthropic, "faults")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var f *Failure
	if _, err := c.Call(ctx, ask("sonnet"), nil); !errors.As(err, &f) || diag.CodeOf(err) != diag.Cancelled {
		t.Error(err)
	}
	call := httpstep.Call{Ref: "t", Env: map[string]string{}, Now: time.Now, Config: map[string]any{"method": "POST", "url": url, "mode": "stream"}}
	c.Send = call.Open
	if _, err := c.Call(t.Context(), ask("sonnet"), nil); !errors.As(err, &f) || diag.CodeOf(err) != diag.PolicyDenied || f.Usage.Total() != 0 {
		t.Errorf("an address that allow_private does not permit: %v", err)
	}
}

func TestCountTokens(t *testing.T) {
	c, _, url := wired(t, Anthropic, "answers")
	c.CountURL = url + "/v1/messages/count_tokens"
	if n, err := c.CountTokens(t.Context(), ask("sonnet")); err != nil || n < 50 {
		t.Errorf("%d, %v", n, err)
	}
	c.CountURL = ""
	if _, err := c.CountTokens(t.Context(), ask("sonnet")); diag.CodeOf(err) != diag.ConfigError {
		t.Error(err)
	}
}
