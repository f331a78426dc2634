package provider

import (
	"bytes"
	"slices"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// ollamaStream reads the lines of POST /api/chat.
type ollamaStream struct {
	origin   wire
	turn     int // for the ids of calls, which the service does not name
	model    string
	content  growing
	thinking growing
	calls    []message.Block
	others   unknownMembers
	usage    ollamaUsage
	reason   string
	done     bool
}

func (s *ollamaStream) event(e httpx.Event) ([]message.Delta, error) {
	if s.done {
		return nil, nil
	}
	line, err := readFields(e.Data)
	if err != nil {
		return nil, malformed("a line: %v", err)
	}
	if line.get("error") != nil {
		return nil, errorIn(e.Data)
	}
	if model := line.text("model"); model != "" {
		s.model = model
	}
	if err := s.usage.read(e.Data); err != nil {
		return nil, err
	}
	var out []message.Delta
	if raw := line.get("message"); raw != nil {
		if out, err = s.message(raw); err != nil {
			return nil, err
		}
	}
	if string(line.get("done")) == "true" {
		s.done, s.reason = true, line.text("done_reason")
	}
	return out, nil
}

func (s *ollamaStream) message(raw []byte) ([]message.Delta, error) {
	msg, err := readFields(raw)
	if err != nil {
		return nil, malformed("a message: %v", err)
	}
	var out []message.Delta
	for _, m := range msg {
		switch m.key {
		case "role":
		case "content":
			s.content.WriteString(unquote(m.value))
			out = append(out, watch(message.DeltaText, unquote(m.value), "")...)
		case "thinking":
			s.thinking.WriteString(unquote(m.value))
			out = append(out, watch(message.DeltaReasoning, unquote(m.value), "")...)
		case "tool_calls":
			for _, call := range elements(m.value) {
				b, err := s.call(call)
				if err != nil {
					return nil, err
				}
				s.calls = append(s.calls, b)
				out = append(out, message.Delta{Kind: message.DeltaCallStart, CallID: b.ID, Name: b.Name},
					message.Delta{Kind: message.DeltaToolInput, CallID: b.ID, Text: string(b.Input)})
			}
		default:
			s.others.add(m)
		}
	}
	return out, nil
}

// call reads a call, which arrives whole. Its bytes go back as they came.
func (s *ollamaStream) call(raw []byte) (message.Block, error) {
	call, err := readFields(raw)
	if err != nil {
		return message.Block{}, malformed("a tool call: %v", err)
	}
	fn, err := readFields(call.get("function"))
	if err != nil {
		return message.Block{}, malformed("the function of a tool call: %v", err)
	}
	b := message.Block{Type: message.ToolCall, ID: call.text("id"), Name: fn.text("name")}
	if b.ID == "" || slices.ContainsFunc(s.calls, func(o message.Block) bool { return o.ID == b.ID }) {
		b.ID = callID(s.turn, len(s.calls)+1)
	}
	return s.origin.mark(arguments(b, string(bytes.TrimSpace(fn.get("arguments")))), slices.Clone(raw)), nil
}

func (s *ollamaStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete(`"done": true`)
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.reason, Model: s.model}
	if s.thinking.Len() > 0 {
		r.Blocks = append(r.Blocks, s.origin.mark(message.Block{Type: message.Reasoning}, object(field{"thinking", s.thinking.raw()})))
	}
	if b, any := s.others.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if s.content.Len() > 0 {
		r.Blocks = append(r.Blocks, message.TextBlock(s.content.String()))
	}
	r.Blocks = append(r.Blocks, s.calls...)
	switch {
	case s.reason == "length":
		r.Stop = message.StopMaxOutput
	case len(s.calls) > 0:
		r.Stop = message.StopToolCalls
	}
	r.Usage, _ = s.seen()
	return r, nil
}

// seen returns the counts. The service leaves out prompt_eval_count if it evaluated
// nothing of the prompt again.
func (s *ollamaStream) seen() (message.Usage, bool) {
	return tokens(value(s.usage.Prompt), 0, 0, value(s.usage.Output), 0), s.usage.Prompt != nil || s.usage.Output != nil
}
