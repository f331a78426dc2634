package scripted

import (
	"encoding/json"
	"fmt"
)

type object = map[string]any

// pieces divides a text as a model would: at most 12 characters each.
func pieces(s string) []string {
	var out []string
	r := []rune(s)
	for len(r) > 0 {
		n := min(12, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// arguments returns the arguments of a call as they are written.
func (c Call) arguments() string {
	if c.Arguments != "" {
		return c.Arguments
	}
	if c.Input == nil {
		return "{}"
	}
	return string(raw(c.Input))
}

func (c Call) id(prefix string, n, i int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("%s_%d_%d", prefix, n, i+1)
}

// anthropicEvents writes an answer as the Messages API streams it. n is the number of
// the request.
func anthropicEvents(step *Step, n int, model string) []event {
	s := step.Send
	a := &anthropicWriter{}
	u := s.Usage
	start := object{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite5m, "ephemeral_1h_input_tokens": u.CacheWrite1h}, "output_tokens": 1,
	}
	if u.Mode == "late" {
		start = object{"input_tokens": 0, "output_tokens": 0}
	}
	msg := object{
		"id":            fmt.Sprintf("msg_%d", n),
		"type":          "message",
		"role":          "assistant",
		"model":         model,
		"content":       []any{},
		"stop_reason":   nil,
		"stop_sequence": nil,
	}
	if u.Mode != "missing" {
		msg["usage"] = start
	}
	a.add("message_start", object{"message": msg})
	a.add("ping", object{})
	if t := s.Reasoning; t.Text != "" || t.Signature != "" {
		a.block(
			object{"type": "thinking", "thinking": "", "signature": ""},
			"thinking_delta",
			"thinking",
			pieces(t.Text),
			object{"type": "signature_delta", "signature": t.Signature},
		)
	}
	if s.Reasoning.Redacted != "" {
		a.block(object{"type": "redacted_thinking", "data": s.Reasoning.Redacted}, "", "", nil, nil)
	}
	if s.Unknown != nil {
		a.block(s.Unknown, "", "", nil, nil)
	}
	if text := s.Text + s.Refusal; text != "" {
		a.block(object{"type": "text", "text": ""}, "text_delta", "text", pieces(text), nil)
	}
	for i, c := range s.Calls {
		a.block(
			object{
				"type":  "tool_use",
				"id":    c.id("toolu", n, i),
				"name":  c.Name,
				"input": object{},
			},
			"input_json_delta",
			"partial_json",
			append([]string{""}, pieces(c.arguments())...),
			nil,
		)
	}
	a.end(s)
	return a.out
}

type anthropicWriter struct {
	out    []event
	blocks int
}

func (a *anthropicWriter) add(kind string, data object) {
	data["type"] = kind
	a.out = append(a.out, event{name: kind, data: raw(data), final: kind == "message_delta" || kind == "message_stop"})
}

// block writes a block: its start, its pieces as deltas, and a last delta.
func (a *anthropicWriter) block(start object, kind, key string, parts []string, last object) {
	a.add("content_block_start", object{"index": a.blocks, "content_block": start})
	for _, p := range parts {
		a.add("content_block_delta", object{"index": a.blocks, "delta": object{"type": kind, key: p}})
	}
	if last != nil {
		a.add("content_block_delta", object{"index": a.blocks, "delta": last})
	}
	a.add("content_block_stop", object{"index": a.blocks})
	a.blocks++
}

func (a *anthropicWriter) end(s Send) {
	stop := s.Stop
	switch {
	case stop != "":
	case s.Refusal != "":
		stop = "refusal"
	case len(s.Calls) > 0:
		stop = "tool_use"
	default:
		stop = "end_turn"
	}
	delta := object{"delta": object{"stop_reason": stop, "stop_sequence": nil}}
	switch s.Usage.Mode {
	case "missing":
	case "growing":
		a.add("message_delta", object{"delta": object{"stop_reason": nil, "stop_sequence": nil}, "usage": object{"output_tokens": s.Usage.Output / 2}})
		fallthrough
	case "late": // all counts at the end, as gateways send them
		u := s.Usage
		delta["usage"] = object{
			"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h, "cache_read_input_tokens": u.CacheRead, "output_tokens": u.Output,
		}
	default:
		delta["usage"] = object{"output_tokens": s.Usage.Output}
	}
	a.add("message_delta", delta)
	a.add("message_stop", object{})
}

// wantsUsage reports whether a request asks for the usage of a stream.
func wantsUsage(body []byte) bool {
	var req struct {
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return json.Unmarshal(body, &req) == nil && req.Options.Usage
}

// modelOf returns the model that answers: the requested one, unless the step names another.
func modelOf(step *Step, path string, body []byte) string {
	if step.Send.Model != "" {
		return step.Send.Model
	}
	if model := geminiModel(path); model != "" {
		return model
	}
	var req struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &req) // the request was checked
	return req.Model
}

// chatEvents writes an answer as the Chat Completions API streams it.
func chatEvents(step *Step, n int, model string, usage bool) []event {
	s := step.Send
	c := &chatWriter{
		n:       n,
		model:   model,
		usage:   s.Usage,
		counted: usage && s.Usage.Mode != "missing",
	}
	first := object{"role": "assistant", "content": ""}
	for k, v := range s.Unknown {
		first[k] = v
	}
	c.delta(first, nil)
	for _, p := range pieces(s.Reasoning.Text) {
		c.delta(object{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(s.Text) {
		c.delta(object{"content": p}, nil)
	}
	for _, p := range pieces(s.Refusal) {
		c.delta(object{"refusal": p}, nil)
	}
	for i, call := range s.Calls {
		c.delta(
			object{"tool_calls": []any{object{
				"index":    i,
				"id":       call.id("call", n, i),
				"type":     "function",
				"function": object{"name": call.Name, "arguments": ""},
			}}},
			nil,
		)
		for _, p := range pieces(call.arguments()) {
			c.delta(
				object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}},
				nil,
			)
		}
	}
	stop := s.Stop
	switch {
	case stop != "":
	case len(s.Calls) > 0:
		stop = "tool_calls"
	default:
		stop = "stop"
	}
	c.delta(object{}, stop)
	c.out[len(c.out)-1].final = true
	if c.counted {
		if s.Usage.Mode == "late" {
			c.out = append(c.out, event{comment: "still counting"})
		}
		chunk := c.chunk()
		chunk["choices"], chunk["usage"] = []any{}, c.counts(s.Usage.Output)
		c.out = append(c.out, event{data: raw(chunk), final: true})
	}
	c.out = append(c.out, event{data: []byte("[DONE]"), final: true})
	return c.out
}

type chatWriter struct {
	out   []event
	n     int
	model string
	usage Usage

	counted bool // the stream has usage
}

func (c *chatWriter) chunk() object {
	return object{
		"id":      fmt.Sprintf("chatcmpl-%d", c.n),
		"object":  "chat.completion.chunk",
		"created": 1700000000,
		"model":   c.model,
	}
}

func (c *chatWriter) delta(delta object, finish any) {
	chunk := c.chunk()
	chunk["choices"] = []any{object{
		"index":         0,
		"delta":         delta,
		"logprobs":      nil,
		"finish_reason": finish,
	}}
	switch {
	case c.usage.Mode == "growing":
		chunk["usage"] = c.counts(min(
			int64(len(c.out)),
			c.usage.Output,
		))
	case c.counted:
		chunk["usage"] = nil // every chunk has the member, the last one its value
	}
	c.out = append(c.out, event{data: raw(chunk)})
}

func (c *chatWriter) counts(output int64) object {
	u := c.usage
	prompt := u.Input + u.CacheRead
	return object{
		"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead}, "completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}
