package provider

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
)

const claudeProgram = `
provider:
  dialect: claude_cli
  billing: subscription
  program: claude
  args: [-p, --model, "{model}", --system-prompt, "{system}", --mcp-config, "{mcp_config}"]
  models: {sonnet: {window: 200000, max_output: 64000, prices: {input: "0", output: "0"}}}
`

const codexProgram = `
provider:
  dialect: codex_cli
  billing: subscription
  program: codex
  args: [exec, --json, --model, "{model}", -c, "mcp_servers.rye.command={mcp_command}", -c, "mcp_servers.rye.args={mcp_args}", "-"]
  models: {gpt: {window: 200000, max_output: 64000, prices: {input: "0", output: "0"}}}
`

// The events are those that claude 2.1.332 and codex 0.171.0 print, without what is not read.
func claudeEvents() []string {
	return []string{
		`{"type":"system","subtype":"init","cwd":"/","session_id":"s1","tools":["mcp__rye__read"],"mcp_servers":[{"name":"rye","status":"connected","source":"dynamic"}],"model":"claude-sonnet-5-5","permissionMode":"default","apiKeySource":"none"}`,
		`{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[{"type":"text","text":"Reading."}],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":0,"output_tokens":2}},"parent_tool_use_id":null,"session_id":"s1"}`,
		`{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[{"type":"tool_use","id":"toolu_1","name":"mcp__rye__read","input":{"n":1.50}}],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":0,"output_tokens":2}},"parent_tool_use_id":null,"session_id":"s1"}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"text","text":"one"}]}]},"parent_tool_use_id":null,"session_id":"s1"}`,
		`{"type":"assistant","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[{"type":"text","text":"It is one."}],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":200,"output_tokens":4}},"parent_tool_use_id":null,"session_id":"s1"}`,
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":2000,"num_turns":2,"result":"It is one.","session_id":"s1","total_cost_usd":0.0021,"usage":{"input_tokens":15,"cache_creation":{"ephemeral_1h_input_tokens":200,"ephemeral_5m_input_tokens":20},"cache_creation_input_tokens":220,"cache_read_input_tokens":200,"output_tokens":42,"server_tool_use":{"web_search_requests":0}},"permission_denials":[]}`,
	}
}

func codexEvents() []string {
	return []string{
		`{"type":"thread.started","thread_id":"t1"}`,
		`{"type":"turn.started"}`,
		`{"type":"item.started","item":{"id":"item_4","type":"mcp_tool_call","server":"codex","tool":"list_mcp_resources","arguments":{},"result":null,"error":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Look first."}}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Reading."}}`,
		`{"type":"item.started","item":{"id":"item_2","type":"mcp_tool_call","server":"rye","tool":"read","arguments":{"n":1.50},"result":null,"error":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"item_2","type":"mcp_tool_call","server":"rye","tool":"read","arguments":{"n":1.50},"result":{"content":[{"type":"text","text":"one"}],"structured_content":null},"error":null,"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"It is one."}}`,
		`{"type":"turn.completed","usage":{"input_tokens":435,"cached_input_tokens":200,"cache_write_input_tokens":30,"output_tokens":42,"reasoning_output_tokens":16}}`,
	}
}

// printing returns c with a program that prints lines and ends with a status.
func printing(c *Config, status int, lines ...string) *Config {
	c.Program.Server = []string{"/opt/rye \"x\"", "tool-relay", "/tmp/s"}
	c.Program.Start = func(context.Context, []string, []byte) (io.ReadCloser, func() (Exit, error), error) {
		out := io.NopCloser(strings.NewReader(strings.Join(lines, "\n") + "\n"))
		return out, func() (Exit, error) { return Exit{Status: status, Stderr: "first\nlast words\n"}, nil }, nil
	}
	return c
}

func TestProgramResponse(t *testing.T) {
	for dialect, tc := range map[string]struct {
		item, model, answered string
		events                []string
		usage                 message.Usage
	}{
		ClaudeCLI: {claudeProgram, "sonnet", "claude-sonnet-5-5", claudeEvents(), message.Usage{Input: 15, CacheWrite5m: 20, CacheWrite1h: 200, CacheRead: 200, Output: 42}},
		CodexCLI:  {codexProgram, "gpt", "gpt", codexEvents(), message.Usage{Input: 205, CacheWrite5m: 30, CacheRead: 200, Output: 42, Reasoning: 16}},
	} {
		c := printing(mustParse(t, tc.item), 0, tc.events...)
		text := ""
		r, err := c.Call(t.Context(), ask(tc.model), func(d message.Delta) {
			if d.Kind == message.DeltaText {
				text += d.Text
			}
		})
		if err != nil {
			t.Fatal(dialect, err)
		}
		steps := `[{"text":"Reading."},{"call":"read","arguments":{"n":1.50}},{"result":"one"}]`
		same(t, r, message.Response{Stop: message.StopEnd, StopRaw: "end", Model: tc.answered, Usage: tc.usage, Blocks: []message.Block{
			wire{dialect, "test/providers/a", tc.model}.mark(message.Block{Type: message.Opaque}, []byte(steps)), message.TextBlock("It is one."),
		}})
		if text != "Reading.It is one." {
			t.Errorf("%s: watched %q", dialect, text)
		}
		if cost, assumed := c.Cost(r.Model, r.Usage); cost != 0 || assumed {
			t.Errorf("%s: a subscription cost %d", dialect, cost)
		}
		// The next start reads what this one did.
		next := ask(tc.model)
		next.Messages = append(next.Messages, message.Message{Role: message.Assistant, Blocks: r.Blocks},
			message.Message{Role: message.User, Blocks: []message.Block{message.TextBlock("Continue.")}})
		in, err := c.Encode(next)
		want := "## Message\n\nRead it.\n\n## Your answer\n\nWhat you did: " + steps + "\n\nIt is one.\n\n## Message\n\nContinue.\n"
		if dialect == CodexCLI {
			want = "Be brief.\n\n" + want
		}
		if err != nil || string(in) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", dialect, err, in, want)
		}
		// Without the proof of its end, and with another exit status, nothing is used.
		for n := range tc.events {
			r, err := printing(mustParse(t, tc.item), 0, tc.events[:n]...).Call(t.Context(), ask(tc.model), nil)
			if diag.CodeOf(err) != diag.ProviderError || len(r.Blocks) > 0 {
				t.Errorf("%s, %d events: %+v, %v", dialect, n, r, err)
			}
		}
		if r, err := printing(mustParse(t, tc.item), 3, tc.events...).Call(t.Context(), ask(tc.model), nil); err == nil || len(r.Blocks) > 0 || !strings.Contains(err.Error(), "exit status 3: last words") {
			t.Errorf("%s, exit status 3: %v", dialect, err)
		}
	}
}

func TestProgramCommand(t *testing.T) {
	req := shaped{Request: ask("sonnet")}
	req.System = []message.Block{message.TextBlock("Be {model} & brief.")}
	c := printing(mustParse(t, claudeProgram), 0)
	want := []string{"claude", "-p", "--model", "sonnet", "--system-prompt", "Be {model} & brief.", "--mcp-config",
		`{"mcpServers":{"rye":{"command":"/opt/rye \"x\"","args":["tool-relay","/tmp/s"]}}}`}
	if got := c.Program.argv(req, ""); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", got)
	}
	c = printing(mustParse(t, codexProgram), 0)
	if got := c.Program.argv(req, ""); got[6] != `mcp_servers.rye.command="/opt/rye \"x\""` || got[8] != `mcp_servers.rye.args=["tool-relay","/tmp/s"]` {
		t.Errorf("%q", got)
	}
}

// What a program prints is not trusted: tools of its own, more tokens than the thread has,
// and anything that is not an event end it.
func TestProgramAttacks(t *testing.T) {
	init := claudeEvents()[0]
	for name, tc := range map[string]struct {
		item, model string
		lines       []string
		code        diag.Code
		want        string
	}{
		"own tools":    {claudeProgram, "sonnet", []string{strings.Replace(init, `"mcp__rye__read"`, `"Bash","mcp__rye__read"`, 1)}, diag.PolicyDenied, "the tool Bash"},
		"own server":   {claudeProgram, "sonnet", []string{strings.Replace(init, `{"name":"rye"`, `{"name":"github"`, 1)}, diag.PolicyDenied, "the MCP server github"},
		"own call":     {claudeProgram, "sonnet", []string{init, strings.Replace(claudeEvents()[2], "mcp__rye__read", "WebFetch", 1)}, diag.PolicyDenied, "a call of WebFetch"},
		"likeness":     {claudeProgram, "sonnet", []string{strings.Replace(init, "mcp__rye__read", "mcp__rye2__read", 1)}, diag.PolicyDenied, "mcp__rye2__read"},
		"failed":       {claudeProgram, "sonnet", []string{init, `{"type":"result","subtype":"error_max_turns","is_error":true,"usage":{"input_tokens":1,"output_tokens":1}}`}, diag.ProviderError, "error_max_turns"},
		"login":        {claudeProgram, "sonnet", []string{init, `{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login"}`}, diag.ProviderError, "/login"},
		"tokens":       {claudeProgram, "sonnet", []string{init, strings.Replace(claudeEvents()[1], `"input_tokens":10`, `"input_tokens":5000`, 1)}, diag.LimitExceeded, "the thread has 1000 left"},
		"no JSON":      {claudeProgram, "sonnet", []string{"Welcome!"}, diag.ProviderError, ""},
		"command":      {codexProgram, "gpt", []string{`{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"id"}}`}, diag.PolicyDenied, "the tool command_execution"},
		"search":       {codexProgram, "gpt", []string{`{"type":"item.completed","item":{"type":"web_search","query":"x"}}`}, diag.PolicyDenied, "the tool web_search"},
		"codex server": {codexProgram, "gpt", []string{`{"type":"item.started","item":{"type":"mcp_tool_call","server":"other","tool":"x"}}`}, diag.PolicyDenied, "the MCP server other"},
		"codex read":   {codexProgram, "gpt", []string{`{"type":"item.started","item":{"type":"mcp_tool_call","server":"codex","tool":"read_mcp_resource","arguments":{"server":"other","uri":"x"}}}`}, diag.PolicyDenied, "the MCP server codex"},
		"not reached":  {claudeProgram, "sonnet", []string{`{"type":"system","subtype":"init","tools":[],"mcp_servers":[{"name":"rye","status":"failed","source":"dynamic"}]}`}, diag.ProviderError, "their MCP server is failed"},
		"turn failed":  {codexProgram, "gpt", []string{`{"type":"error","message":"Reconnecting"}`, `{"type":"turn.failed","error":{"message":"usage limit reached"}}`}, diag.ProviderError, "usage limit reached"},
	} {
		c := printing(mustParse(t, tc.item), 0, tc.lines...)
		c.Program.Tokens = 1000
		r, err := c.Call(t.Context(), ask(tc.model), nil)
		var f *Failure
		if !errors.As(err, &f) || len(r.Blocks) > 0 || !strings.Contains(err.Error(), tc.want) || f.Usage.Total() == 0 || f.Usage.Assumed != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
		} else if f.Err.Code != tc.code && name != "no JSON" {
			t.Errorf("%s: code %s", name, f.Err.Code)
		}
	}
}

// The model of codex is described without tools, with the system text of the thread.
func TestProgramModelsFile(t *testing.T) {
	c := printing(mustParse(t, strings.Replace(codexProgram, `"-"]`, `-c, "model_catalog_json={models_file}", "-"]`, 1)), 0, codexEvents()...)
	var file []byte
	c.Program.Keep = func(b []byte) (string, error) { file = b; return `/tmp/a "b"`, nil }
	start := c.Program.Start
	c.Program.Start = func(ctx context.Context, argv []string, stdin []byte) (io.ReadCloser, func() (Exit, error), error) {
		if !slices.Contains(argv, `model_catalog_json="/tmp/a \"b\""`) || strings.Contains(string(stdin), "Be brief.") {
			t.Errorf("%q %s", argv, stdin)
		}
		return start(ctx, argv, stdin)
	}
	if _, err := c.Call(t.Context(), ask("gpt"), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"slug":"gpt"`, `"base_instructions":"Be brief."`, `"context_window":200000`, `"shell_type":"disabled"`} {
		if !strings.Contains(string(file), want) {
			t.Errorf("%s has no %s", file, want)
		}
	}
	c.Program.Keep = func([]byte) (string, error) { return "", diag.New(diag.FileSystemError, "no space") }
	if _, err := c.Call(t.Context(), ask("gpt"), nil); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Error(err)
	}
}

func TestProgramItems(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"metered":    {"billing: subscription", "billing: metered", "provider.billing must be subscription"},
		"no server":  {`, --mcp-config, "{mcp_config}"`, "", "must contain {mcp_config}"},
		"no model":   {`"{model}"`, "sonnet", "must contain {model}"},
		"unknown":    {`"{system}"`, `"{sytem}"`, "provider.args contains {sytem}"},
		"no program": {"  program: claude\n", "", "provider.program is missing"},
		"quirks":     {"  billing", "  quirks: [no_done]\n  billing", "provider.quirks is not part of the dialect claude_cli"},
		"image":      {"max_output: 64000,", "max_output: 64000, input: [text, image],", "input must be [text]"},
		"dialect":    {"claude_cli", "openai_chat", "provider.program is for the dialects claude_cli and codex_cli"},
	} {
		text := strings.Replace(claudeProgram, tc.old, tc.new, 1)
		doc, fs := yamlx.Parse([]byte(text))
		if doc == nil || text == claudeProgram {
			t.Fatal(name, fs)
		}
		c, fs := Parse("a/b", doc)
		var all []string
		for _, f := range fs {
			all = append(all, f.String())
		}
		if c != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%s: %s\nwant %s", name, strings.Join(all, "\n"), tc.want)
		}
	}
}
