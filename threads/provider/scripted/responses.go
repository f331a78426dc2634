package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// responsesEvents writes an answer as the Responses API streams it.
func responsesEvents(step *Step, n int, model string) []event {
	s := step.Send
	w := &responsesWriter{n: n, model: model, usage: s.Usage}
	w.state("response.created", "in_progress", 0)
	w.state("response.in_progress", "in_progress", 0)
	if t := s.Reasoning; t != (Reasoning{}) {
		w.reasoning(t)
	}
	if s.Unknown != nil {
		w.item(s.Unknown, s.Unknown, nil)
	}
	if s.Text != "" {
		w.message("output_text", "text", s.Text, object{"annotations": []any{}})
	}
	if s.Refusal != "" {
		w.message("refusal", "refusal", s.Refusal, nil)
	}
	for i, c := range s.Calls {
		w.call(c, i)
	}
	if s.Usage.Mode == "late" {
		w.out = append(w.out, event{comment: "still counting"})
	}
	if s.Stop != "" {
		w.stop = s.Stop
		w.state("response.incomplete", "incomplete", s.Usage.Output)
	} else {
		w.state("response.completed", "completed", s.Usage.Output)
	}
	w.out[len(w.out)-1].final = true
	return w.out
}

type responsesWriter struct {
	out   []event
	n     int
	model string
	usage Usage
	items []any
	stop  string // why the response is incomplete
}

func (w *responsesWriter) add(kind string, data object) {
	data["type"], data["sequence_number"] = kind, len(w.out)
	w.out = append(w.out, event{name: kind, data: raw(data)})
}

// state writes an event with the whole response so far.
func (w *responsesWriter) state(kind, status string, output int64) {
	r := object{
		"id": fmt.Sprintf("resp_%d", w.n), "object": "response", "created_at": 1700000000, "status": status, "model": w.model,
		"output": append([]any{}, w.items...), "error": nil, "incomplete_details": nil, "usage": nil,
	}
	if w.stop != "" {
		r["incomplete_details"] = object{"reason": w.stop}
	}
	last := status != "in_progress"
	if w.usage.Mode != "missing" && (last || w.usage.Mode == "growing") {
		u := w.usage
		written := u.CacheWrite5m + u.CacheWrite1h
		input := u.Input + u.CacheRead + written
		r["usage"] = object{
			"input_tokens": input, "input_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": written},
			"output_tokens": output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": input + output,
		}
	}
	w.add(kind, object{"response": r})
}

// item writes the start of an item, its pieces, and the whole item.
func (w *responsesWriter) item(start, whole object, parts func(at object)) {
	w.add("response.output_item.added", object{"output_index": len(w.items), "item": start})
	if parts != nil {
		parts(object{"output_index": len(w.items), "item_id": start["id"]})
	}
	w.add("response.output_item.done", object{"output_index": len(w.items), "item": whole})
	w.items = append(w.items, whole)
}

func (w *responsesWriter) id(prefix string) string {
	return fmt.Sprintf("%s_%d_%d", prefix, w.n, len(w.items)+1)
}

// with returns an object with further members.
func with(o, more object) object {
	out := maps.Clone(o)
	maps.Copy(out, more)
	return out
}

func (w *responsesWriter) reasoning(t Reasoning) {
	start := object{"id": w.id("rs"), "type": "reasoning", "summary": []any{}}
	whole := with(start, object{"encrypted_content": cmp.Or(t.Redacted, t.Signature)})
	if t.Text == "" {
		w.item(start, whole, nil)
		return
	}
	part := object{"type": "summary_text", "text": t.Text}
	whole["summary"] = []any{part}
	w.item(start, whole, func(at object) {
		at["summary_index"] = 0
		w.add("response.reasoning_summary_part.added", with(at, object{"part": object{"type": "summary_text", "text": ""}}))
		for _, p := range pieces(t.Text) {
			w.add("response.reasoning_summary_text.delta", with(at, object{"delta": p}))
		}
		w.add("response.reasoning_summary_text.done", with(at, object{"text": t.Text}))
		w.add("response.reasoning_summary_part.done", with(at, object{"part": part}))
	})
}

// message writes a message of one part, whose text is the member key.
func (w *responsesWriter) message(kind, key, text string, more object) {
	start := object{
		"id":      w.id("msg"),
		"type":    "message",
		"role":    "assistant",
		"status":  "in_progress",
		"content": []any{},
	}
	empty := with(object{"type": kind, key: ""}, more)
	part := with(empty, object{key: text})
	w.item(start, with(start, object{"status": "completed", "content": []any{part}}), func(at object) {
		at["content_index"] = 0
		w.add("response.content_part.added", with(at, object{"part": empty}))
		for _, p := range pieces(text) {
			w.add("response."+kind+".delta", with(at, object{"delta": p, "logprobs": []any{}}))
		}
		w.add("response."+kind+".done", with(at, object{key: text}))
		w.add("response.content_part.done", with(at, object{"part": part}))
	})
}

func (w *responsesWriter) call(c Call, i int) {
	start := object{
		"id":        w.id("fc"),
		"type":      "function_call",
		"status":    "in_progress",
		"call_id":   c.id("call", w.n, i),
		"name":      c.Name,
		"arguments": "",
	}
	if space, name, ok := strings.Cut(c.Name, "."); ok { // a namespace, as in the names of Expect
		start["namespace"], start["name"] = space, name
	}
	w.item(start, with(start, object{"status": "completed", "arguments": c.arguments()}), func(at object) {
		for _, p := range pieces(c.arguments()) {
			w.add("response.function_call_arguments.delta", with(at, object{"delta": p}))
		}
		w.add("response.function_call_arguments.done", with(at, object{"name": start["name"], "arguments": c.arguments()}))
	})
}

// responsesRequest is a request of the Responses API.
type responsesRequest struct {
	Model     string          `json:"model"`
	Input     []responsesItem `json:"input"`
	MaxOutput *int64          `json:"max_output_tokens"`
	Stream    bool            `json:"stream"`
	Store     *bool           `json:"store"`
	Tools     []struct {
		responsesTool
		Tools []responsesTool `json:"tools"` // of a namespace
	} `json:"tools"`
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

func (t responsesTool) isFunction() bool {
	return t.Type == "function" && t.Name != "" && isObject(t.Parameters)
}

type responsesItem struct {
	Type      string          `json:"type"` // "" for a message
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
}

func readResponses(_ *http.Request, body []byte, out *request) string {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return "the body is not valid: " + err.Error()
	}
	out.model = in.Model
	switch {
	case in.Model == "":
		return "model is missing"
	case len(in.Input) == 0:
		return "input is empty"
	case !in.Stream:
		return "stream is not true"
	case in.MaxOutput != nil && *in.MaxOutput < 16:
		return "max_output_tokens is less than 16"
	}
	for _, t := range in.Tools {
		if t.Type == "namespace" {
			for _, inner := range t.Tools {
				if !inner.isFunction() {
					return "a tool of the namespace " + t.Name + " is not a function with parameters"
				}
				out.tools = append(out.tools, t.Name+"."+inner.Name)
			}
			continue
		}
		if !t.isFunction() {
			return "a tool is not a function with parameters"
		}
		out.tools = append(out.tools, t.Name)
	}
	return in.items(out)
}

// items checks the input: each call has one result, before the next message
// of the user.
func (in *responsesRequest) items(out *request) string {
	var open []string
	for i, it := range in.Input {
		switch it.Type {
		case "function_call":
			if it.CallID == "" || it.Name == "" || it.Arguments == nil {
				return fmt.Sprintf("input[%d] is a call that is not complete", i)
			}
			open = append(open, it.CallID)
			out.results = nil
		case "function_call_output":
			at := slices.Index(open, it.CallID)
			bs, ok := blocks(it.Output)
			if at < 0 || !ok {
				return fmt.Sprintf("input[%d] answers the call %q, not one of %q", i, it.CallID, open)
			}
			open = slices.Delete(open, at, at+1)
			out.role, out.results = "tool", append(out.results, texts(bs)...)
		case "", "message":
			bs, ok := blocks(it.Content)
			if !ok ||
				len(bs) == 0 ||
				!slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
				return fmt.Sprintf("input[%d] has the role %q or no content", i, it.Role)
			}
			if len(open) > 0 && it.Role == "user" {
				return unanswered(open)
			}
			out.role, out.texts = it.Role, texts(bs)
		case "reasoning":
			if in.Store != nil && !*in.Store && it.Encrypted == "" {
				return fmt.Sprintf("input[%d] is reasoning that the service did not keep", i)
			}
		}
	}
	return unanswered(open)
}
