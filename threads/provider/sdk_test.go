package provider

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/threads/message"
)

// The official clients of the services read every scripted answer as rye does, and
// their request for the same conversation is the one that rye sends. The conversation
// is written by hand in testdata/npm/read.mjs.
func TestOfficialClients(t *testing.T) {
	dir := os.Getenv("RYE_NPM_PROVIDER")
	if dir == "" {
		t.Skip("RYE_NPM_PROVIDER is not set: .ci/run installs the clients there")
	}
	for _, dialect := range published() {
		want := expectedAnswers(dialect)
		c, server, url := wired(t, dialect, "answers")
		log := &bytes.Buffer{}
		var theirHeader http.Header
		server.Log = log
		server.Seen = func(r *http.Request) {
			if theirHeader == nil {
				theirHeader = r.Header.Clone() // of the request with the whole conversation
			}
		}
		cmd := exec.CommandContext(t.Context(), "node", "testdata/npm/read.mjs", dialect, url, strconv.Itoa(len(want)))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v, %q", dialect, err, server.Problems())
		}
		for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			var got reading
			decode(t, []byte(line), &got)
			if len(got.Calls) == 0 {
				got.Calls = nil
			}
			if !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%s: the client reads answer %d as\n     %+v\nrye  %+v", dialect, i+1, got, want[i])
			}
		}
		theirs, _, _ := strings.Cut(log.String(), "\n")
		ourHeader, ours := sent(t, dialect, c)
		sameRequest(t, dialect, theirs, ours)
		sameHeader(t, dialect, theirHeader, ourHeader)
	}
}

// sent returns the header and the log of the request that rye sends for the conversation
// of the clients, with the request of the shipped item.
func sent(t *testing.T, dialect string, c *Config) (http.Header, string) {
	t.Helper()
	_, server, url := wired(t, dialect, "answers")
	var header http.Header
	log := &bytes.Buffer{}
	server.Log, server.Seen = log, func(r *http.Request) { header = r.Header.Clone() }
	name, env := "anthropic", map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": plantedKey}
	switch dialect {
	case Gemini:
		name, env = "gemini", map[string]string{"GEMINI_BASE_URL": url, "GEMINI_API_KEY": plantedKey}
	case Ollama:
		name, env = "ollama_chat", map[string]string{"OLLAMA_HOST_URL": url}
	case Chat, Responses:
		name, env = map[string]string{Chat: "openai_chat", Responses: "openai"}[dialect], map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": plantedKey}
	}
	conf := shippedDoc(t, name).Root["config"].(map[string]any)
	conf["allow_private"] = []any{"127.0.0.1"}
	delete(conf, "sinks") // their ids are resolved by package exec
	call := httpstep.Call{Ref: "tool:rye/agent/providers/" + name, Config: conf, Env: env, Now: time.Now}
	c.Send = call.Open
	if c.URL != "" {
		c.URL = conf["url"].(string)
	}
	if _, err := c.Call(t.Context(), conversation(modelOf(dialect)), nil); err != nil {
		t.Fatalf("%s: %v", dialect, err)
	}
	return header, log.String()
}

// sameRequest compares the log of a client's request with that of rye's.
func sameRequest(t *testing.T, dialect, theirs, ours string) {
	t.Helper()
	var a, b map[string]any
	decode(t, []byte(ours), &a)
	decode(t, []byte(theirs), &b)
	if !reflect.DeepEqual(a, b) || a["request"] == nil || a["path"] == nil {
		x, _ := json.MarshalIndent(a, "", " ")
		y, _ := json.MarshalIndent(b, "", " ")
		t.Errorf("%s: rye sends\n%s\nthe client sends\n%s", dialect, x, y)
	}
}

// allowedHeaders are the headers that may differ: the name of the program, what the
// client reports about itself, what its HTTP library adds, and the length of a body whose
// JSON is equal.
var allowedHeaders = regexp.MustCompile(`^(User-Agent|X-Stainless-.*|Accept-Language|Sec-Fetch-Mode|Accept-Encoding|X-Goog-Api-Client|Connection|Content-Length)$`)

func sameHeader(t *testing.T, dialect string, theirs, ours http.Header) {
	t.Helper()
	for _, h := range []http.Header{theirs, ours} {
		maps.DeleteFunc(h, func(name string, _ []string) bool { return allowedHeaders.MatchString(name) })
	}
	if !reflect.DeepEqual(theirs, ours) || len(ours) < 2 {
		t.Errorf("%s: rye sends the headers\n%v\nthe client sends\n%v", dialect, ours, theirs)
	}
}

// conversation is the one of testdata/npm/read.mjs.
func conversation(model string) message.Request {
	req := ask(model)
	effort := ""
	var thought []message.Block
	if model == "sonnet" {
		effort = "low"
		raw := []byte(`{"type":"thinking","thinking":"first","signature":"c2ln"}`)
		thought = []message.Block{wire{Anthropic, "test/providers/a", model}.mark(message.Block{Type: message.Reasoning}, raw)}
	}
	if model == "think" {
		effort = "low"
		raw := []byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"}`)
		thought = []message.Block{wire{Responses, "test/providers/a", model}.mark(message.Block{Type: message.Reasoning}, raw)}
	}
	if model == "flash" {
		effort = "low"
		raw := []byte(`{"text":"first","thought":true}`)
		thought = []message.Block{wire{Gemini, "test/providers/a", model}.mark(message.Block{Type: message.Reasoning}, raw)}
	}
	if model == "llama" {
		effort = "low"
		thought = []message.Block{wire{Ollama, "test/providers/a", model}.mark(message.Block{Type: message.Reasoning}, []byte(`{"thinking":"first"}`))}
	}
	req.Effort = effort
	req.Messages = []message.Message{
		{Role: message.User, Blocks: []message.Block{message.TextBlock("See this <image> & read."),
			{Type: message.Image, MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}}}},
		{Role: message.Assistant, Blocks: append(thought, message.TextBlock("Reading."),
			message.Block{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":1.5}`)},
			message.Block{Type: message.ToolCall, ID: "t2", Name: "list", Input: json.RawMessage(`{}`)})},
		{Role: message.User, Blocks: []message.Block{
			{Type: message.ToolResult, CallID: "t1", Content: []message.Block{message.TextBlock("one")}},
			{Type: message.ToolResult, CallID: "t2", Content: []message.Block{message.TextBlock("two")}, IsError: true},
			message.TextBlock("Read it."),
		}},
	}
	return req
}
