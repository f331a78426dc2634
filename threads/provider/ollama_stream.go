package provider

import (
	"bytes"
	"slices"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// ollamaStream reads the lines of POST /api/chat.
type ollamaStream struct {
	c        *Config
	origin   wire
	model    string
	content  growing
	thinking growing
	calls    calls
	raws     map[*call][]byte // calls go back as they came
	others   unknownMembers
	usage    fields
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
	if line.get("prompt_eval_count") != nil || line.get("eval_count") != nil {
		s.usage = line
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
			for _, raw := range elements(m.value) {
				deltas, err := s.call(raw)
				if err != nil {
					return nil, err
				}
				out = append(out, deltas...)
			}
		default:
			s.others.add(m)
		}
	}
	return out, nil
}

// call reads a call, which arrives whole.
func (s *ollamaStream) call(raw []byte) ([]message.Delta, error) {
	f, err := readFields(raw)
	if err != nil {
		return nil, malformed("a tool call: %v", err)
	}
	fn, err := readFields(f.get("function"))
	if err != nil {
		return nil, malformed("the function of a tool call: %v", err)
	}
	if fn.text("name") == "" {
		return nil, unreadable("a call has no name")
	}
	c, out, err := s.calls.add(piece{
		id:    f.text("id"),
		name:  fn.text("name"),
		args:  bytes.TrimSpace(fn.get("arguments")),
		fresh: true,
	})
	if err != nil {
		return nil, err
	}
	if s.raws == nil {
		s.raws = map[*call][]byte{}
	}
	s.raws[c] = slices.Clone(raw)
	return out, nil
}

func (s *ollamaStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete(`"done": true`)
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.reason, Model: s.model}
	if s.reason != "" { // earlier versions state none
		stop, err := s.c.stopOf(s.reason)
		if err != nil {
			return message.Response{}, err
		}
		r.Stop = stop
	}
	if s.thinking.Len() > 0 {
		r.Blocks = append(r.Blocks, s.origin.mark(
			message.Block{Type: message.Reasoning},
			object(field{"thinking", s.thinking.raw()}),
		))
	}
	if b, any := s.others.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if s.content.Len() > 0 {
		r.Blocks = append(r.Blocks, message.TextBlock(s.content.String()))
	}
	called, err := s.calls.end(r.Stop == message.StopMaxOutput, func(c *call, b message.Block) message.Block {
		return s.origin.mark(b, s.raws[c])
	})
	if err != nil {
		return message.Response{}, err
	}
	r.Blocks = append(r.Blocks, called...)
	if len(called) > 0 && r.Stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

// seen returns the counts. The service leaves out prompt_eval_count if it evaluated
// nothing of the prompt again.
func (s *ollamaStream) seen() counts {
	var c counted
	prompt := c.read(s.usage, "prompt_eval_count")
	output := c.read(s.usage, "eval_count")
	u := message.Usage{Input: value(prompt), Output: value(output), Doubtful: c.doubtful}
	return counts{Usage: u, input: prompt != nil || output != nil && s.usage.get("prompt_eval_count") == nil, output: output != nil}
}
