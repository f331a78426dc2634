package provider

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// programText is what a second reader finds in the lines of a program: the text of the answer
// and whether its last event arrived.
func programText(dialect, out string) (text string, ended bool) {
	for _, line := range strings.Split(out, "\n") {
		ev := plainJSON([]byte(line))
		switch kind := str(at(ev, "type")); {
		case ended:
		case dialect == ClaudeCLI && kind == "assistant":
			for _, b := range items(at(ev, "message", "content")) {
				switch str(at(b, "type")) {
				case "text":
					text = str(at(b, "text"))
				case "tool_use", "server_tool_use":
					text = ""
				}
			}
		case dialect == ClaudeCLI && kind == "result":
			if result := str(at(ev, "result")); result != "" {
				text = result
			}
			ended = true
		case dialect == CodexCLI && kind == "item.completed" && str(at(ev, "item", "type")) == "agent_message":
			text = str(at(ev, "item", "text"))
		case dialect == CodexCLI && kind == "item.completed" && str(at(ev, "item", "type")) == "mcp_tool_call" && str(at(ev, "item", "server")) == ServerName:
			text = ""
		case dialect == CodexCLI && kind == "turn.completed":
			ended = true
		}
	}
	return text, ended
}

func fuzzProgram(f *testing.F, item, model string, events []string) {
	c := mustParse(f, item)
	f.Add(strings.Join(events, "\n"))
	for n := range events {
		f.Add(strings.Join(append(append([]string{}, events[:n]...), events[n+1:]...), "\n"))
	}
	f.Fuzz(func(t *testing.T, out string) {
		r, err := printing(c, 0, out).Call(t.Context(), ask(model), nil)
		if err != nil {
			if len(r.Blocks) > 0 {
				t.Error("blocks next to an error")
			}
			return
		}
		text, ended := programText(c.Dialect, out)
		if !ended && strings.Contains(out, `"type"`) && !strings.Contains(out, `\u`) && !strings.Contains(strings.ToLower(out), `"type": `) {
			t.Errorf("no end in %q", out)
		}
		if ended && r.Text() != text {
			t.Errorf("the text is %q, for the second reader %q: %q", r.Text(), text, out)
		}
		if len(r.Calls()) > 0 {
			t.Error("calls: the program made them")
		}
		if u := r.Usage; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite5m < 0 || u.CacheWrite1h < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

func FuzzClaudeProgram(f *testing.F) { fuzzProgram(f, claudeProgram, "sonnet", claudeEvents()) }

func FuzzCodexProgram(f *testing.F) { fuzzProgram(f, codexProgram, "gpt", codexEvents()) }

// Counts never lose the answer of a program, and its newer versions state why it ended.
func TestProgramEnds(t *testing.T) {
	for stop, want := range map[string]message.Stop{"end_turn": message.StopEnd, "max_tokens": message.StopMaxOutput, "refusal": message.StopRefusal, "": message.StopEnd} {
		events := claudeEvents()
		last := len(events) - 1
		events[last] = strings.Replace(events[last], `"is_error":false`, `"is_error":false,"stop_reason":"`+stop+`"`, 1)
		events[last] = strings.Replace(events[last], `"input_tokens":15`, `"input_tokens":15.0`, 1)
		events[last] = strings.Replace(events[last], `"output_tokens":42`, `"output_tokens":-1`, 1)
		r, err := printing(mustParse(t, claudeProgram), 0, events...).Call(t.Context(), ask("sonnet"), nil)
		if err != nil || r.Stop != want || r.Text() != "It is one." || r.Usage.Output < 1 || r.Usage.Doubtful != 1 {
			t.Errorf("%q: %+v, %v", stop, r, err)
		}
	}
	events := codexEvents()
	events[len(events)-1] = `{"type":"turn.completed","usage":{"input_tokens":{},"output_tokens":"42"}}`
	r, err := printing(mustParse(t, codexProgram), 0, events...).Call(t.Context(), ask("gpt"), nil)
	if err != nil || r.Usage.Output < 42 || r.Usage.Input < 1 || r.Usage.Assumed != 1 {
		t.Errorf("%+v, %v", r.Usage, err)
	}
}
