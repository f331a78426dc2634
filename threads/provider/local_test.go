package provider

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/message"
)

// localModel starts a small model on this machine and returns the shipped provider
// item local with its address, and one that speaks to the same server by the Responses API.
func localModel(t *testing.T) (chat, byResponses *Config) {
	t.Helper()
	dir := os.Getenv("RYE_LOCAL_MODEL")
	if dir == "" {
		t.Skip("RYE_LOCAL_MODEL is not set: .ci/run installs a model there")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), "testdata/local/serve.py")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal("the server of the model did not start: ", err)
	}
	chat = shipped(t, "local")
	b, err := fs.ReadFile(stdlib.FS(), ".ai/tools/rye/agent/providers/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := yamlx.ParseItem(b)
	conf, _ := doc.Root["config"].(map[string]any)
	delete(conf, "sinks") // package exec replaces their names by their settings
	call := httpstep.Call{Ref: chat.ID, Config: conf, Env: map[string]string{"LOCAL_LLM_URL": strings.TrimSpace(address)}, Now: time.Now}
	chat.Send = call.Open
	byResponses = mustParse(t, localResponses)
	other := call
	other.Config = maps.Clone(conf)
	other.Config["url"] = "${LOCAL_LLM_URL}/v1/responses"
	byResponses.Send = other.Open
	return chat, byResponses
}

const localResponses = `
provider:
  dialect: openai_responses
  models: {local: {window: 8192, max_output: 1024, prices: {input: "0", output: "0"}}}
`

// hello asks a model to say hello and checks the answer but for its words.
func hello(t *testing.T, c *Config) {
	t.Helper()
	say := message.Request{Model: "local", MaxOutput: 24, Temperature: "0", Messages: []message.Message{
		{Role: message.User, Blocks: []message.Block{message.TextBlock("Say hello.")}},
	}}
	var watched strings.Builder
	r, err := c.Call(t.Context(), say, func(d message.Delta) { watched.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Text() == "" || watched.String() != r.Text() || r.Stop != message.StopEnd && r.Stop != message.StopMaxOutput {
		t.Errorf("%+v, watched %q", r, watched.String())
	}
	if u := r.Usage; u.Assumed != 0 || u.InputTotal() < 5 || u.Output < 1 || u.Output > 24 {
		t.Errorf("usage %+v", u)
	}
	if cost, assumed := c.Cost(r.Model, r.Usage); cost != 0 || assumed {
		t.Errorf("cost %d, %v", cost, assumed)
	}
}

// A real model answers through the item that is shipped: a text, and calls that fit
// the schemas of the tools. Its words are not checked. It answers by the Responses API, too.
func TestLocalModel(t *testing.T) {
	c, byResponses := localModel(t)
	hello(t, c)
	hello(t, byResponses)
	calls := 0
	for _, text := range []string{
		`Call the tool read with {"path": "README.md", "lines": 3}. Answer {"call": {"name": "read", "arguments": {"path": "README.md", "lines": 3}}}`,
		`Answer {"call": {"name": "label", "arguments": {"label": "bug"}}}`,
	} {
		calls += forced(t, c, text)
	}
	if calls == 0 {
		t.Error("the model called no tool")
	}
}

// forced makes one call in the mode schema and returns the number of tool calls.
func forced(t *testing.T, c *Config, text string) int {
	t.Helper()
	tools := []message.ToolDef{
		{Name: "label", Description: "Sets a label.", Schema: json.RawMessage(
			`{"type":"object","properties":{"label":{"type":"string","enum":["bug","feature"]}},"required":["label"],"additionalProperties":false}`)},
		{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string","maxLength":40},"lines":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)},
	}
	req := message.Request{Model: "local", MaxOutput: 160, Temperature: "0", Tools: tools, Messages: []message.Message{
		{Role: message.User, Blocks: []message.Block{message.TextBlock(text)}},
	}}
	r, err := c.Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Usage.Assumed != 0 || r.Usage.InputTotal() < 50 || r.Usage.Output < 3 {
		t.Errorf("usage %+v", r.Usage)
	}
	for _, call := range r.Calls() {
		i := 0
		if call.Name == "read" {
			i = 1
		} else if call.Name != "label" {
			t.Fatalf("a call of %q", call.Name)
		}
		doc, _ := jsonx.Parse(tools[i].Schema)
		s, fs := schema.Compile(doc.Root)
		if s == nil {
			t.Fatal(fs)
		}
		input, bad := jsonx.ParseMessage(call.Input)
		if len(bad) > 0 || len(s.Validate(input)) > 0 || r.Stop != message.StopToolCalls {
			t.Errorf("%s: %v %v, stop %s", call.Input, bad, s.Validate(input), r.Stop)
		}
	}
	return len(r.Calls())
}

// TestLocalModelSkipped: where .ci/run installed no model, the test of the model is
// skipped with the reason, and does not pass.
func TestLocalModelSkipped(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestLocalModel$", "-test.v")
	cmd.Env = append(os.Environ(), "RYE_LOCAL_MODEL=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- SKIP: TestLocalModel") || !strings.Contains(string(out), "RYE_LOCAL_MODEL is not set: .ci/run installs a model there") {
		t.Errorf("%v: %s", err, out)
	}
}
