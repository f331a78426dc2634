package provider

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// The official clients of both services read every scripted answer as rye does, and
// their request for the same conversation is the one that rye sends. The conversation
// is written by hand in testdata/npm/read.mjs.
func TestOfficialClients(t *testing.T) {
	dir := os.Getenv("RYE_NPM_PROVIDER")
	if dir == "" {
		t.Skip("RYE_NPM_PROVIDER is not set: .ci/run installs the clients there")
	}
	for _, dialect := range dialects() {
		want := expectedAnswers(dialect)
		c, server, url := wired(t, dialect, "answers")
		log := &bytes.Buffer{}
		server.Log = log
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
		sameRequest(t, dialect, theirs, c)
	}
}

// sameRequest compares the request of a client with that of rye.
func sameRequest(t *testing.T, dialect, logged string, c *Config) {
	t.Helper()
	var theirs struct {
		Path    string         `json:"path"`
		Request map[string]any `json:"request"`
	}
	decode(t, []byte(logged), &theirs)
	body, err := c.Encode(conversation(modelOf(dialect)))
	if err != nil {
		t.Fatal(err)
	}
	var ours map[string]any
	decode(t, body, &ours)
	if !reflect.DeepEqual(ours, theirs.Request) {
		a, _ := json.MarshalIndent(ours, "", " ")
		b, _ := json.MarshalIndent(theirs.Request, "", " ")
		t.Errorf("%s: rye sends\n%s\nthe client sends\n%s", dialect, a, b)
	}
	if !strings.HasPrefix(theirs.Path, "/v1/") {
		t.Errorf("%s: the client asks %s", dialect, theirs.Path)
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
