package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/threads/message"
)

// form is what a service sends and expects in its published form. The streams and the
// errors are in testdata/forms.
type form struct {
	url, key  string         // the variables of the item
	path      string         // of the request, after the address
	bearer    string         // the value of Authorization
	body      map[string]any // members that the request must have
	absent    []string       // members that it must not have
	callID    string
	reasoning string
	usage     [4]int64
	status    int    // of the error
	errorType string // as the service states it
	errorCode string
	retryMS   int64
	message   string // of the error, if it is not a member message
}

func forms() map[string]form {
	chatUsage := map[string]any{"stream": true, "stream_options.include_usage": true}
	local := func(url, callID, reasoning string, status int, kind, code string) form {
		return form{url: url, path: "/v1/chat/completions", body: chatUsage, absent: []string{"store", "cache_control"}, callID: callID, reasoning: reasoning, usage: [4]int64{1200, 0, 0, 40}, status: status, errorType: kind, errorCode: code}
	}
	llama := local("LLAMA_CPP_URL", "w2Jd8KX1q0", "First look.", 400, "exceed_context_size_error", "400")
	schema := local("LOCAL_LLM_URL", "call_1_1", "", 400, "exceed_context_size_error", "400")
	schema.body = map[string]any{"stream": true, "response_format.type": "json_schema"}
	schema.absent = []string{"tools"}
	return map[string]form{
		"anthropic": {url: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY", path: "/v1/messages", bearer: "Bearer " + plantedKey,
			body: map[string]any{"stream": true, "max_tokens": 100.0}, absent: []string{"temperature", "stream_options"},
			callID: "toolu_01A", reasoning: "First look.", usage: [4]int64{176, 1024, 0, 40}, status: 400, errorType: "invalid_request_error", errorCode: "PROVIDER_ERROR"},
		"openai_chat": {url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", path: "/chat/completions", bearer: "Bearer " + plantedKey,
			body: map[string]any{"stream_options.include_usage": true, "max_completion_tokens": 100.0, "messages.0.role": "developer", "reasoning_effort": "medium"}, absent: []string{"max_tokens", "temperature"},
			callID: "call_8fQ", usage: [4]int64{176, 1024, 0, 40}, status: 429, errorType: "tokens", errorCode: "rate_limit_exceeded", retryMS: 600},
		"openai": {url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", path: "/responses", bearer: "Bearer " + plantedKey,
			body: map[string]any{"store": false, "max_output_tokens": 100.0, "instructions": "Be brief.", "reasoning.effort": "medium"}, absent: []string{"messages", "temperature", "stream_options"},
			callID: "call_8fQ", reasoning: "First look.", usage: [4]int64{176, 1024, 0, 40}, status: 429, errorType: "tokens", errorCode: "rate_limit_exceeded", retryMS: 600},
		"gemini": {url: "GEMINI_BASE_URL", key: "GEMINI_API_KEY", path: "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
			body:   map[string]any{"generationConfig.maxOutputTokens": 100.0, "systemInstruction.parts.0.text": "Be brief.", "contents.0.role": "user"},
			absent: []string{"model", "stream", "messages"}, callID: "call_1_1", reasoning: "First look.", usage: [4]int64{176, 1024, 0, 40},
			status: 429, errorType: "RESOURCE_EXHAUSTED", errorCode: "429", retryMS: 34_074},
		"ollama_chat": {url: "OLLAMA_HOST_URL", path: "/api/chat", body: map[string]any{"stream": true, "options.num_predict": 100.0, "options.num_ctx": 40960.0},
			absent: []string{"max_tokens", "store"}, callID: "call_x1", reasoning: "First look.", usage: [4]int64{1200, 0, 0, 40}, status: 404, errorCode: "PROVIDER_ERROR", message: "model 'qwen3:8b' not found"},
		"openrouter": {url: "OPENROUTER_BASE_URL", key: "OPENROUTER_API_KEY", path: "/chat/completions", bearer: "Bearer " + plantedKey,
			body: map[string]any{"stream": true, "usage.include": true}, callID: "call_8fQ", reasoning: "First look.", usage: [4]int64{1200, 0, 0, 40}, status: 402, errorCode: "402"},
		"vllm":      local("VLLM_URL", "chatcmpl-tool-51c0", "First look.", 400, "BadRequestError", "400"),
		"llama_cpp": llama,
		"ollama":    local("OLLAMA_HOST_URL", "call_x1", "First look.", 404, "api_error", "PROVIDER_ERROR"),
		"local":     schema,
	}
}

// TestPublishedForms calls each shipped provider at a server that answers in the
// published form of its service: a stream with all that the service adds to it, and an
// error.
func TestPublishedForms(t *testing.T) {
	shippedNames, err := os.ReadDir("../../stdlib/.ai/tools/rye/agent/providers")
	shippedNames = slices.DeleteFunc(shippedNames, func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), "_cli.yaml") }) // programs
	if err != nil || len(shippedNames) != len(forms()) {
		t.Fatalf("%d items and %d forms: %v", len(shippedNames), len(forms()), err)
	}
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			s := &formServer{t: t, form: f, name: name}
			h := httptest.NewServer(s)
			defer h.Close()
			c := shipped(t, name)
			conf := shippedDoc(t, name).Root["config"].(map[string]any)
			conf["allow_private"] = []any{"127.0.0.1"}
			delete(conf, "sinks") // their ids are resolved by package exec
			env := map[string]string{f.url: h.URL}
			if f.key != "" {
				env[f.key] = plantedKey
			}
			call := httpstep.Call{Ref: "tool:rye/agent/providers/" + name, Config: conf, Env: env, Now: time.Now}
			c.Send = call.Open
			s.answered(c)
			s.failed(c)
		})
	}
}

// formServer answers the first request with the stream and the others with the error.
type formServer struct {
	t     *testing.T
	form  form
	name  string
	asked int
}

func (s *formServer) file(suffix string) []byte {
	b, err := os.ReadFile("testdata/forms/" + s.name + suffix)
	if err != nil {
		s.t.Error(err)
	}
	return b
}

func (s *formServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if r.Method != http.MethodPost || r.URL.Path != s.form.path || r.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("%s %s with %v", r.Method, r.URL.Path, r.Header)
	}
	if got := r.Header.Get("Authorization"); got != s.form.bearer {
		s.t.Errorf("Authorization is %q", got)
	}
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		s.t.Error(err)
	}
	for path, want := range s.form.body {
		if got, _ := member(s.t, doc, path); !reflect.DeepEqual(got, want) {
			s.t.Errorf("%s is %v, not %v, in %s", path, got, want, body)
		}
	}
	for _, path := range s.form.absent {
		if got, ok := member(s.t, doc, path); ok {
			s.t.Errorf("the request has %s: %v", path, got)
		}
	}
	if s.asked > 1 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.form.status)
		w.Write(s.file(".error.json"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, part := range bytes.SplitAfter(s.file(".sse"), []byte("\n\n")) {
		w.Write(part)
		w.(http.Flusher).Flush()
	}
}

func member(t *testing.T, doc any, path string) (any, bool) {
	p, err := dotpath.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return p.Lookup(doc)
}

func (s *formServer) answered(c *Config) {
	s.t.Helper()
	var streamed strings.Builder
	r, err := c.Call(s.t.Context(), ask(c.Tiers["general"]), func(d message.Delta) {
		if d.Kind == message.DeltaText {
			streamed.WriteString(d.Text)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	text := "Reading."
	if s.name == "local" {
		text = "" // one answer is a text or a call
	}
	if r.Text() != text || streamed.String() != text || r.Stop != message.StopToolCalls {
		s.t.Errorf("text %q, streamed %q, stop %s", r.Text(), streamed.String(), r.Stop)
	}
	calls := r.Calls()
	if len(calls) != 1 || calls[0].Name != "read" || calls[0].ID != s.form.callID || strings.ReplaceAll(string(calls[0].Input), " ", "") != `{"n":1.5}` {
		s.t.Errorf("calls %+v", calls)
	}
	got := readingOf(s.t, r)
	if got.Usage != s.form.usage || r.Usage.Assumed != 0 {
		s.t.Errorf("usage %+v", r.Usage)
	}
	if i := slices.IndexFunc(r.Blocks, func(b message.Block) bool { return b.Type == message.Reasoning }); (i >= 0) != (s.form.reasoning != "") {
		s.t.Errorf("blocks %+v", r.Blocks)
	} else if i >= 0 && !strings.Contains(string(r.Blocks[i].Raw), s.form.reasoning) {
		s.t.Errorf("reasoning %s", r.Blocks[i].Raw)
	}
	if _, assumed := c.Cost(r.Model, r.Usage); assumed {
		s.t.Errorf("the item has no price of %s", r.Model)
	}
}

func (s *formServer) failed(c *Config) {
	s.t.Helper()
	_, err := c.Call(s.t.Context(), ask(c.Tiers["general"]), nil)
	var f *Failure
	if !errors.As(err, &f) {
		s.t.Fatal(err)
	}
	stated := struct{ Message, Error string }{Message: s.form.message}
	if stated.Message == "" {
		var in struct {
			Message string
			Error   struct{ Message string }
		}
		decode(s.t, s.file(".error.json"), &in)
		stated.Message, stated.Error = in.Message, in.Error.Message
	}
	if f.StatusCode != s.form.status || f.Type != s.form.errorType || f.Code != s.form.errorCode || f.Message != stated.Message+stated.Error || f.RetryAfterMS != s.form.retryMS || f.Usage.Total() != 0 {
		s.t.Errorf("failure %+v", f)
	}
}
