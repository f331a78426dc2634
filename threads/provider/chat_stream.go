package provider

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// chatStream reads the chunks of POST /v1/chat/completions, or the whole response.
type chatStream struct {
	c      *Config
	origin wire
	quirks map[string]bool

	started   bool
	id, model string
	content   growing
	refusal   growing
	reasoning growing
	reasonKey string // the member that has the reasoning
	calls     calls
	others    unknownMembers
	finish    string
	done      bool
	pieces    bool // an event had a part of the answer, so that a message that repeats the whole adds nothing
	now       bool // this event has one
	usage     fields
}

func (s *chatStream) event(e httpx.Event) ([]message.Delta, error) {
	data := bytes.TrimSpace(e.Data)
	if s.done {
		return nil, nil
	}
	if string(data) == doneMark {
		s.done = true
		return nil, nil
	}
	chunk, err := readFields(data)
	if err != nil {
		return nil, malformed("a chunk: %v", err)
	}
	if chunk.get("error") != nil ||
		e.Name == "error" ||
		chunk.get("choices") == nil && chunk.statesError() {
		return nil, errorIn(data)
	}
	s.started = true
	if id := chunk.text("id"); id != "" {
		s.id = id
	}
	if model := chunk.text("model"); model != "" {
		s.model = model
	}
	base := chunk.within("base_resp")
	if chunk.get("choices") == nil &&
		base.text("status_msg") != "" &&
		string(base.get("status_code")) != "0" {
		return nil, &serviceError{Code: string(base.get("status_code")), Message: short(base.text("status_msg"))}
	}
	s.count(chunk)
	s.pieces = s.pieces || s.now
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

// count reads the counts, which are totals: the last chunk has the true ones. Some services
// have them in the choice or in a member of their own.
func (s *chatStream) count(chunk fields) {
	members := []fields{chunk.within("usage"), chunk.within("x_groq").within("usage")}
	for _, raw := range elements(chunk.get("choices")) {
		choice, _ := readFields(raw)
		members = append(members, choice.within("usage"))
	}
	for _, usage := range members {
		if len(usage) > 0 {
			s.usage = usage
			return
		}
	}
}

// statesError reports whether a document that should be a part of an answer is an error.
func (f fields) statesError() bool {
	return f.text("object") == "error" ||
		f.text("type") == "error" ||
		f.text("message") != "" ||
		f.text("detail") != ""
}

func (s *chatStream) choice(raw []byte) ([]message.Delta, error) {
	choice, err := readFields(raw)
	if err != nil {
		return nil, malformed("a choice: %v", err)
	}
	if v := choice.get("index"); v != nil {
		index := number(v)
		if index == nil {
			return nil, malformed("the index of a choice is %s", v)
		}
		if *index != 0 {
			return nil, nil
		}
	}
	if choice.get("error") != nil {
		return nil, errorIn(raw)
	}
	if reason := choice.text("finish_reason"); reason != "" {
		s.finish = reason
	}
	raw = choice.get("delta")
	whole := raw == nil
	if whole {
		raw = choice.get("message")
	}
	if raw == nil || whole && s.pieces {
		return nil, nil
	}
	delta, err := readFields(raw)
	if err != nil {
		return nil, malformed("a delta: %v", err)
	}
	s.now = s.now || len(delta) > 0
	return s.delta(delta, whole)
}

// delta reads a piece of the answer, or the whole of it.
func (s *chatStream) delta(delta fields, whole bool) ([]message.Delta, error) {
	var out []message.Delta
	for _, m := range delta {
		if string(m.value) == "null" {
			continue
		}
		switch m.key {
		case "role":
		case "content":
			text, thought, err := s.parts(m.value)
			if err != nil {
				return nil, err
			}
			if thought != "" {
				out = append(out, s.reason("reasoning_content", thought)...)
			}
			s.content.WriteString(text)
			out = append(out, watch(message.DeltaText, text, "")...)
		case "refusal":
			s.refusal.WriteString(unquote(m.value))
			out = append(out, watch(message.DeltaText, unquote(m.value), "")...)
		case "reasoning_content", "reasoning":
			text, thought, err := s.parts(m.value)
			if err != nil {
				return nil, err
			}
			out = append(out, s.reason(m.key, text+thought)...)
		case "tool_calls":
			deltas, err := s.toolCalls(m.value, whole)
			if err != nil {
				return nil, err
			}
			out = append(out, deltas...)
		case "function_call": // the form before tool_calls: one call without an id
			deltas, err := s.toolCalls(
				list([][]byte{object(field{"function", m.value})}),
				false,
			)
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

// reason extends the reasoning. A service that writes two members writes the same text twice.
func (s *chatStream) reason(key, text string) []message.Delta {
	if s.reasonKey == "" {
		s.reasonKey = key
	}
	if s.reasonKey != key {
		return nil
	}
	s.reasoning.WriteString(text)
	return watch(message.DeltaReasoning, text, "")
}

// parts returns the text of a content and the reasoning in it: a text, a part, or a list of
// parts.
func (s *chatStream) parts(raw []byte) (text, thought string, err error) {
	switch raw[0] {
	case '"':
		return unquote(raw), "", nil
	case '[':
		s.calls.odd.add(ContentAsParts)
		for _, part := range elements(raw) {
			t, th, err := s.parts(part)
			if err != nil {
				return "", "", err
			}
			text = text + t
			thought = thought + th
		}
		return text, thought, nil
	case '{':
		part, err := readFields(raw)
		if err != nil {
			return "", "", malformed("a part of the content: %v", err)
		}
		for _, key := range []string{"thinking", "reasoning", "reasoning_content"} {
			if v := part.get(key); v != nil {
				t, th, err := s.parts(v)
				return "", t + th, err
			}
		}
		if v := part.get("text"); v != nil {
			return s.parts(v)
		}
		return "", "", nil // a part that rye does not know, such as a reference
	case 'n':
		return "", "", nil
	}
	return "", "", malformed("the content is %s", short(string(raw)))
}

func (s *chatStream) toolCalls(raw []byte, whole bool) ([]message.Delta, error) {
	if len(raw) > 0 && raw[0] == '{' { // one call without the list
		raw = list([][]byte{raw})
	}
	if len(raw) > 0 && raw[0] != '[' {
		return nil, unreadable("tool_calls is %s", short(string(raw)))
	}
	var out []message.Delta
	for n, element := range elements(raw) {
		f, err := readFields(element)
		if err != nil {
			return nil, malformed("a tool call: %v", err)
		}
		fn, err := readFields(f.get("function"))
		if err != nil && f.get("function") != nil {
			return nil, malformed("the function of a tool call: %v", err)
		}
		p := piece{
			index: number(f.get("index")),
			id:    f.text("id"),
			name:  fn.text("name"),
			args:  fn.get("arguments"),
		}
		p.fresh = whole || p.index == nil && n > 0
		call, deltas, err := s.calls.add(p)
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
		for _, m := range f {
			if call != nil &&
				!slices.Contains([]string{"index", "id", "type", "function"}, m.key) &&
				string(m.value) != "null" {
				call.more.set(m.key, slices.Clone(m.value))
			}
		}
	}
	return out, nil
}

func (s *chatStream) end() (message.Response, error) {
	stop, err := s.stop()
	if err != nil {
		return message.Response{}, err
	}
	r := message.Response{
		Stop:    stop,
		StopRaw: s.finish,
		Model:   s.model,
		ID:      s.id,
	}
	if s.reasoning.Len() > 0 {
		raw := object(field{s.reasonKey, s.reasoning.raw()})
		r.Blocks = append(r.Blocks, s.origin.mark(
			message.Block{Type: message.Reasoning},
			raw,
		))
	}
	if b, any := s.others.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	text := s.content.String() + s.refusal.String()
	if text != "" {
		r.Blocks = append(r.Blocks, message.TextBlock(text))
	}
	if s.refusal.Len() > 0 {
		r.Stop = message.StopRefusal
	}
	called, err := s.calls.end(stop == message.StopMaxOutput, s.mark)
	if err != nil {
		return message.Response{}, err
	}
	r.Blocks = append(r.Blocks, called...)
	if len(called) > 0 && r.Stop == message.StopEnd { // some services write stop after calls too
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

// stop returns why the answer ended, or an error if nothing proves that it is complete: a
// reason, or the mark of the end after whole calls.
// A reason that the service states proves the end. [DONE] alone proves it after whole calls
// only, or with the quirk no_finish: a gateway writes it after a failed service too.
func (s *chatStream) stop() (message.Stop, error) {
	switch {
	case !s.started:
		return "", incomplete("the first chunk")
	case s.finish != "":
		if !s.done {
			s.calls.odd.add(NoDone)
		}
		return s.c.stopOf(s.finish)
	case !s.done:
		return "", incomplete("finish_reason")
	}
	s.calls.odd.add(NoFinish)
	switch {
	case s.calls.allWhole():
		return message.StopToolCalls, nil
	case s.quirks[noFinish]:
		return message.StopEnd, nil
	}
	return "", incomplete("finish_reason")
}

// mark gives a call the members that rye does not know.
func (s *chatStream) mark(c *call, b message.Block) message.Block {
	if len(c.more) == 0 {
		return b
	}
	fs := fields{{"id", encoded(c.id)}, {"type", encoded("function")},
		{"function", object(
			field{"name", encoded(c.name)},
			field{"arguments", encoded(written(b))},
		)}}
	return s.origin.mark(b, object(append(fs, c.more...)...))
}

func (s *chatStream) seen() counts {
	if s.usage == nil || s.quirks[noUsage] {
		return counts{}
	}
	var c counted
	prompt := s.usage.within("prompt_tokens_details")
	completion := s.usage.within("completion_tokens_details")
	t := totals{
		input:  c.read(s.usage, "prompt_tokens"),
		output: c.read(s.usage, "completion_tokens"),
		total:  c.read(s.usage, "total_tokens"),
		// Some services have the cached tokens next to the sum.
		cached: cmp.Or(
			c.read(prompt, "cached_tokens"),
			c.read(s.usage, "cached_tokens"),
			c.read(s.usage, "prompt_cache_hit_tokens"),
		),
		reasoning: c.read(completion, "reasoning_tokens"),
	}
	t.doubtful = c.doubtful
	return t.counts()
}
