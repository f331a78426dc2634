package steps

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

// blocks returns the blocks of docs/reference/loop.md in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	b, err := os.ReadFile("../../docs/reference/loop.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range strings.Split(string(b), "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		out = append(out, block)
	}
	return out
}

// exampleOf returns the block whose first line names a file of .ai/config/agent.
func exampleOf(t *testing.T, file string) string {
	t.Helper()
	for _, block := range blocks(t, "yaml") {
		if strings.HasPrefix(block, "# .ai/config/agent/"+file+"\n") {
			return block
		}
	}
	t.Fatalf("the page has no example of %s", file)
	return ""
}

// The examples of docs/reference/loop.md do what the page states.
func TestLoopPage(t *testing.T) {
	s := services(t, map[string]string{ClassesConfig: exampleOf(t, "error_classification.yaml")})
	if d := classify(t, s, `{"status_code":499,"error":{}}`, 1); d["id"] != "gateway_restart" || d["action"] != "retry" || d["delay_ms"] != int64(1000) {
		t.Errorf("%v", d)
	}
	if d := classify(t, s, `{"status_code":429,"error":{},"headers":{"retry-after":"1"}}`, 1); d["delay_ms"] != int64(10_000) {
		t.Errorf("%v", d)
	}
	hooks := load(t, []HookLayer{builtin(t), layer(t, ProjectHooks, "p", exampleOf(t, "hooks.yaml"))})
	out, _ := run(t, hooks, "before_tool", `{"call":{"ref":"tool:rye/bash/bash","input":{"command":"git push --force"}}}`, nil)
	if c, _ := out.Data["control"].(map[string]any); decided(out) != "deny by no_force_push" || c["feedback"] != "Force pushes are not permitted here." {
		t.Errorf("%v", out.Data)
	}
	out, _ = run(t, hooks, "error", `{"error":{"code":"x"},"classification":{"aliases":["rate_limit"],"action":"retry","delay":1},"attempt":2}`, nil)
	if c, _ := out.Data["control"].(map[string]any); decided(out) != "retry by slow_down" || c["delay"] != int64(20) {
		t.Errorf("%v", out.Data)
	}
	_, ran := run(t, hooks, "after_tool", `{"call":{"name":"a"},"result":{"is_error":true}}`, nil)
	if len(ran) != 1 || ran[0] != `execute tool:team/log {"failed":true,"name":"a"}` {
		t.Errorf("%q", ran)
	}
	out, _ = run(t, hooks, "thread_started", `{}`, map[string]any{"team/style": map[string]any{"trust": "trusted", "content": "Tabs."}})
	if texts := out.Data["texts"].([]any); len(texts) != 1 || texts[0].(map[string]any)["position"] != "system" {
		t.Errorf("%v", out.Data)
	}
}

// The page lists every step.
func TestLoopPageListsSteps(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/loop.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range All() {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("docs/reference/loop.md does not list %s", name)
		}
		if _, err := os.Stat("../../stdlib/.ai/tools/" + Dir + name + ".yaml"); err != nil {
			t.Error(err)
		}
	}
}

// The program of the page that stays answers each line with its call.
func TestLoopPageProgramThatStays(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", blocks(t, "python")[1])
	cmd.Stdin = strings.NewReader("{\"call\":1}\n{\"call\":2}\n")
	raw, err := cmd.Output()
	want := regexp.MustCompile(`^\{"call": 1, .*"turns": 1.*\n\{"call": 2, .*"turns": 2.*\n$`)
	if err != nil || !want.Match(raw) {
		t.Errorf("%s: %v", raw, err)
	}
}

// The program of the page has the input and the output of the native step.
func TestLoopPageProgram(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := t.TempDir()
	script, file := filepath.Join(dir, "watchdog.py"), filepath.Join(dir, "conversation.jsonl")
	if err := os.WriteFile(script, []byte(blocks(t, "python")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{2: `{"hints":0,"stop":null}`, 3: `{"hints":0,"stop":{"code":"LIMIT_EXCEEDED","limit":"equal_calls","max":3,"value":3}}`} {
		var conversation strings.Builder
		for range n {
			conversation.WriteString(`{"event":"tool_call","data":{"ref":"tool:t/x","input":{"a":1}}}` + "\n")
		}
		if err := os.WriteFile(file, []byte(conversation.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := json.Marshal(Input{ThreadID: "t", Turn: 1, Params: map[string]any{}, ConversationFile: file})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(context.Background(), python, script)
		cmd.Stdin = strings.NewReader(string(in))
		raw, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := json.Unmarshal(raw, &out); err != nil || !out.Success {
			t.Fatalf("%s: %v", raw, err)
		}
		v, _ := jsonx.ParseMessage(raw)
		data, err := jsonx.Marshal(v.(map[string]any)["data"])
		if err != nil || string(data) != want {
			t.Errorf("%d calls: %s, want %s", n, data, want)
		}
	}
}
