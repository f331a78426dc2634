package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// chatStream reads the chunks of POST /v1/chat/completions.
type chatStream struct {
	origin wire
	quirks map[string]bool
	turn   int // for ids of calls that the service did not name

	started   bool
	id, model string
	content   growing
	refusal   growing
	reasoning growing
	reasonKey string // the member that has the reasoning
	calls     []*chatCall
	others    unknownMembers
	finish    string
	done      bool
	usage     *chatUsage
}

// chatCall is one call as it arrives.
type chatCall struct {
	index    int64
	id, name string
	args     growing
	more     fields // members of the call that rye does not know
}

func (s *chatStream) event(e httpx.Event) ([]message.Delta, error) {
	data := bytes.TrimSpace(e.Data)
	if s.done {
		return nil, nil
	}
	if string(data) == "[DONE]" {
		s.done = true
		return nil, nil
	}
	chunk, err := readFields(data)
	if err != nil {
		return nil, malformed("a chunk: %v", err)
	}
	if chunk.get("error") != nil || e.Name == "error" {
		return nil, errorIn(data)
	}
	s.started = true
	if id := chunk.text("id"); id != "" {
		s.id = id
	}
	if model := chunk.text("model"); model != "" {
		s.model = model
	}
	if raw := chunk.get("usage"); raw != nil && !s.quirks[noUsage] {
		// Counts are totals: those of the last chunk are true.
		s.usage = &chatUsage{}
		if err := json.Unmarshal(raw, s.usage); err != nil {
			return nil, malformed("usage: %v", err)
		}
	}
	var out []message.Delta
	for _, raw := range elements(chunk.get("choices")) {
		deltas, err := s.choice(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
	}
	return out, nil
}

func (s *chatStream) choice(raw []byte) ([]message.Delta, error) {
	choice, err := readFields(raw)
	if err != nil {
		return nil, malformed("a choice: %v", err)
	}
	var index int64
	if v := choice.get("index"); v != nil && json.Unmarshal(v, &index) != nil {
		return nil, malformed("the index of a choice is %s", v)
	}
	if index != 0 {
		return nil, nil
	}
	if reason := choice.text("finish_reason"); reason != "" {
		s.finish = reason
	}
	raw = choice.get("delta")
	if raw == nil {
		return nil, nil
	}
	delta, err := readFields(raw)
	if err != nil {
		return nil, malformed("a delta: %v", err)
	}
	return s.delta(delta)
}

func (s *chatStream) delta(delta fields) ([]message.Delta, error) {
	var out []message.Delta
	for _, m := range delta {
		if string(m.value) == "null" {
			continue
		}
		switch m.key {
		case "role":
		case "content":
			s.content.WriteString(unquote(m.value))
			out = append(out, watch(message.DeltaText, unquote(m.value), "")...)
		case "refusal":
			s.refusal.WriteString(unquote(m.value))
			out = append(out, watch(message.DeltaText, unquote(m.value), "")...)
		case "reasoning_content", "reasoning":
			// A service that writes both writes the same text twice.
			if s.reasonKey == "" {
				s.reasonKey = m.key
			}
			if s.reasonKey == m.key {
				s.reasoning.WriteString(unquote(m.value))
				out = append(out, watch(message.DeltaReasoning, unquote(m.value), "")...)
			}
		case "tool_calls":
			deltas, err := s.toolCalls(m.value)
			if err != nil {
				return nil, err
			}
			out = append(out, deltas...)
		default:
			s.others.add(m)
		}
	}
	return out, nil
}

func (s *chatStream) toolCalls(raw []byte) ([]message.Delta, error) {
	var out []message.Delta
	for _, piece := range elements(raw) {
		f, err := readFields(piece)
		if err != nil {
			return nil, malformed("a tool call: %v", err)
		}
		fn, err := readFields(f.get("function"))
		if err != nil && f.get("function") != nil {
			return nil, malformed("the function of a tool call: %v", err)
		}
		call, opened := s.callOf(f, fn)
		for _, m := range f {
			if !slices.Contains([]string{"index", "id", "type", "function"}, m.key) && string(m.value) != "null" {
				call.more.set(m.key, slices.Clone(m.value))
			}
		}
		if opened {
			out = append(out, message.Delta{Kind: message.DeltaCallStart, CallID: call.id, Name: call.name})
		}
		args := fn.text("arguments")
		call.args.WriteString(args)
		out = append(out, watch(message.DeltaToolInput, args, call.id)...)
	}
	return out, nil
}

// callOf returns the call that a piece belongs to, and whether it is a new one. Some
// services give all calls the index 0, so another id begins another call.
func (s *chatStream) callOf(f, fn fields) (*chatCall, bool) {
	id, name := f.text("id"), fn.text("name")
	index, indexed := int64(len(s.calls)), false
	if v := f.get("index"); v != nil && json.Unmarshal(v, &index) == nil {
		indexed = true
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := s.calls[i]
		same := indexed && c.index == index && (id == "" || id == c.id)
		if same || !indexed && (id == "" && name == "" || id != "" && id == c.id) {
			return c, false
		}
	}
	c := &chatCall{index: index, id: id, name: name}
	s.calls = append(s.calls, c)
	if c.id == "" {
		c.id = callID(s.turn, len(s.calls))
	}
	return c, true
}

func (s *chatStream) end() (message.Response, error) {
	switch {
	case !s.started:
		return message.Response{}, incomplete("the first chunk")
	case s.finish == "":
		return message.Response{}, incomplete("finish_reason")
	case !s.done && !s.quirks[noDone]:
		return message.Response{}, incomplete("[DONE]")
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.finish, Model: s.model, ID: s.id}
	if s.reasoning.Len() > 0 {
		raw := object(field{s.reasonKey, s.reasoning.raw()})
		r.Blocks = append(r.Blocks, s.origin.mark(message.Block{Type: message.Reasoning}, raw))
	}
	if b, any := s.others.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if text := s.content.String() + s.refusal.String(); text != "" {
		r.Blocks = append(r.Blocks, message.TextBlock(text))
	}
	for _, c := range s.calls {
		r.Blocks = append(r.Blocks, c.block(s.origin))
	}
	switch s.finish {
	case "tool_calls", "function_call":
		r.Stop = message.StopToolCalls
	case "length":
		r.Stop = message.StopMaxOutput
	case "content_filter":
		r.Stop = message.StopRefusal
	case "stop":
		if len(s.calls) > 0 { // some services write stop after calls too
			r.Stop = message.StopToolCalls
		}
	}
	if s.refusal.Len() > 0 {
		r.Stop = message.StopRefusal
	}
	r.Usage, _ = s.seen()
	return r, nil
}

func (c *chatCall) block(origin wire) message.Block {
	b := arguments(message.Block{Type: message.ToolCall, ID: c.id, Name: c.name}, strings.TrimSpace(c.args.String()))
	if len(c.more) > 0 {
		fs := fields{{"id", encoded(c.id)}, {"type", encoded("function")},
			{"function", object(field{"name", encoded(c.name)}, field{"arguments", c.args.raw()})}}
		b = origin.mark(b, object(append(fs, c.more...)...))
	}
	return b
}

func (s *chatStream) seen() (message.Usage, bool) {
	if s.usage == nil {
		return message.Usage{}, false
	}
	u := s.usage
	return tokens(u.Prompt, u.PromptMore.Cached, 0, u.Completion, u.CompletionMore.Reasoning), true
}

// chatUsage is the usage of the service.
type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	PromptMore struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}
