package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// ollamaEvents writes an answer as the API of Ollama streams it: a line for each piece.
func ollamaEvents(step *Step, n int, model string) []event {
	s := step.Send
	w := &ollamaWriter{model: model}
	if s.Unknown != nil {
		w.line(with(s.Unknown, object{"content": ""}), nil)
	}
	for _, p := range pieces(s.Reasoning.Text) {
		w.line(object{"content": "", "thinking": p}, nil)
	}
	for _, p := range pieces(s.Text + s.Refusal) {
		w.line(object{"content": p}, nil)
	}
	for i, c := range s.Calls {
		fn := object{"index": i, "name": c.Name, "arguments": json.RawMessage(c.arguments())}
		w.line(
			object{"content": "", "tool_calls": []any{object{"id": c.id("call", n, i), "function": fn}}},
			nil,
		)
	}
	end := object{"done": true, "done_reason": cmp.Or(s.Stop, "stop"), "total_duration": 1000}
	if s.Usage.Mode != "missing" { // what a cache gave is not apart
		end["prompt_eval_count"], end["eval_count"] = s.Usage.Input+s.Usage.CacheRead, s.Usage.Output
	}
	w.line(object{"content": ""}, end)
	return w.out
}

type ollamaWriter struct {
	out   []event
	model string
}

// line writes a piece of the message; end has the members of the last line.
func (w *ollamaWriter) line(msg, end object) {
	out := object{
		"model":      w.model,
		"created_at": "2023-11-14T22:13:20Z",
		"message":    with(object{"role": "assistant"}, msg),
		"done":       false,
	}
	w.out = append(w.out, event{data: raw(with(out, end)), final: end != nil})
}

func readOllama(_ *http.Request, body []byte, out *request) string {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role     string `json:"role"`
			Content  string `json:"content"`
			ToolName string `json:"tool_name"`
			Calls    []struct {
				Function struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return "the body is not valid: " + err.Error()
	}
	out.model = in.Model
	if in.Model == "" || len(in.Messages) == 0 || !in.Stream {
		return "model or messages is missing, or stream is not true"
	}
	for _, t := range in.Tools {
		if t.Function.Name == "" || !isObject(t.Function.Parameters) {
			return "a tool is not a function with parameters"
		}
		out.tools = append(out.tools, t.Function.Name)
	}
	var open []string
	for i, m := range in.Messages {
		switch {
		case m.Role == "tool" && (len(open) == 0 || open[0] != m.ToolName):
			return fmt.Sprintf("messages[%d] answers %q, not the first of %q", i, m.ToolName, open)
		case m.Role == "tool":
			open = open[1:]
			out.results = append(out.results, m.Content)
		case len(open) > 0:
			return unanswered(open)
		case m.Role == "assistant":
			out.results = nil
		}
		for _, c := range m.Calls {
			if c.Function.Name == "" || !isObject(c.Function.Arguments) {
				return fmt.Sprintf("messages[%d] has a tool call that is not complete", i)
			}
			open = append(open, c.Function.Name)
		}
		out.role = m.Role
		out.texts = []string{m.Content}
	}
	return unanswered(open)
}
