package provider

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/message"
)

// mappedStream reads the events of a service that the item describes.
type mappedStream struct {
	*mapping
	origin    wire
	turn      int // for ids of calls that the service did not name
	text      growing
	reasoning growing
	answered  string // the model that answered
	calls     []*chatCall
	kept      unknownMembers
	counts    map[string]int64
	why       string // the service stopped, in its words
	done      bool
}

func (s *mappedStream) event(e httpx.Event) ([]message.Delta, error) {
	data := bytes.TrimSpace(e.Data)
	doc, bad := jsonx.ParseMessage(data)
	if _, isObject := doc.(map[string]any); len(bad) > 0 || !isObject {
		if s.done { // such as [DONE]
			return nil, nil
		}
		return nil, malformed("an event that is not a JSON object")
	}
	if raw := find(data, s.failed); raw != nil {
		said := readError(object(field{"error", raw}))
		if text := unquote(raw); text != "" {
			said.Message = short(text)
		}
		return nil, said
	}
	if err := s.count(data); err != nil || s.done {
		return nil, err // counts can follow the end
	}
	if raw := find(data, s.mapping.model); raw != nil {
		s.answered = unquote(raw)
	}
	out, err := s.texts(data)
	if err != nil {
		return nil, err
	}
	calls, err := s.callsIn(data)
	if err != nil {
		return nil, err
	}
	for _, key := range sortedKeys(s.keep) {
		if raw := find(data, s.keep[key]); raw != nil {
			s.kept.add(field{key, raw})
		}
	}
	if raw := find(data, s.stop); raw != nil {
		s.why = plain(raw)
	}
	s.done = s.ended.Match(doc)
	return append(out, calls...), nil
}

// texts reads the pieces of the answer and of the reasoning.
func (s *mappedStream) texts(data []byte) ([]message.Delta, error) {
	var out []message.Delta
	for _, part := range []struct {
		name string
		path dotpath.Path
		kind message.DeltaKind
		into *growing
	}{{"reasoning", s.mapping.reasoning, message.DeltaReasoning, &s.reasoning}, {"text", s.mapping.text, message.DeltaText, &s.text}} {
		raw := find(data, part.path)
		if raw == nil {
			continue
		}
		if raw[0] != '"' {
			return nil, malformed("stream.%s (%s) is not a text", part.name, part.path)
		}
		part.into.WriteString(unquote(raw))
		out = append(out, watch(part.kind, unquote(raw), "")...)
	}
	return out, nil
}

// callsIn reads calls. Arguments without a name continue those of the call before.
func (s *mappedStream) callsIn(data []byte) ([]message.Delta, error) {
	pieces := []json.RawMessage{data}
	if len(s.call.list) > 0 {
		pieces = elements(find(data, s.call.list))
	}
	var out []message.Delta
	for _, piece := range pieces {
		name, id := unquote(find(piece, s.call.name)), unquote(find(piece, s.call.id))
		args := find(piece, s.call.arguments)
		switch {
		case name != "":
			if id == "" || slices.ContainsFunc(s.calls, func(c *chatCall) bool { return c.id == id }) {
				id = callID(s.turn, len(s.calls)+1)
			}
			s.calls = append(s.calls, &chatCall{id: id, name: name})
			out = append(out, message.Delta{Kind: message.DeltaCallStart, CallID: id, Name: name})
		case args != nil && len(s.calls) == 0:
			return nil, malformed("arguments (%s) without the name of a tool (%s)", s.call.arguments, s.call.name)
		}
		if args != nil {
			last := s.calls[len(s.calls)-1]
			last.args.WriteString(plain(args))
			out = append(out, watch(message.DeltaToolInput, plain(args), last.id)...)
		}
	}
	return out, nil
}

// count reads counters: the last value counts.
func (s *mappedStream) count(data []byte) error {
	for _, key := range sortedKeys(s.mapping.usage) {
		raw := find(data, s.mapping.usage[key])
		if raw == nil {
			continue
		}
		var n int64
		if err := json.Unmarshal(raw, &n); err != nil || n < 0 {
			return malformed("stream.usage.%s (%s) is %s, not a number of tokens", key, s.mapping.usage[key], short(string(raw)))
		}
		if s.counts == nil {
			s.counts = map[string]int64{}
		}
		s.counts[key] = n
	}
	return nil
}

func (s *mappedStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete("the end that stream.end of the item describes")
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.why, Model: s.answered}
	if s.reasoning.Len() > 0 {
		r.Blocks = append(r.Blocks, s.origin.mark(message.Block{Type: message.Reasoning}, object(field{"text", s.reasoning.raw()})))
	}
	if b, any := s.kept.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if s.text.Len() > 0 {
		r.Blocks = append(r.Blocks, message.TextBlock(s.text.String()))
	}
	for _, c := range s.calls {
		r.Blocks = append(r.Blocks, c.block(s.origin))
	}
	switch {
	case slices.Contains(s.stops["max_output"], s.why):
		r.Stop = message.StopMaxOutput
	case slices.Contains(s.stops["refusal"], s.why):
		r.Stop = message.StopRefusal
	case len(s.calls) > 0:
		r.Stop = message.StopToolCalls
	}
	r.Usage, _ = s.seen()
	return r, nil
}

// seen returns the counts. Without those of the input and of the output nothing is stated:
// a service that left one out would cost nothing for it.
func (s *mappedStream) seen() (message.Usage, bool) {
	_, in := s.counts["input"]
	_, out := s.counts["output"]
	u := message.Usage{
		Input: s.counts["input"], CacheRead: s.counts["cache_read"], CacheWrite5m: s.counts["cache_write_5m"], CacheWrite1h: s.counts["cache_write_1h"],
		Output: s.counts["output"], Reasoning: s.counts["reasoning"],
	}
	if !s.cacheApart {
		u.Input = max(u.Input-u.CacheRead-u.CacheWrite5m-u.CacheWrite1h, 0)
	}
	if s.reasoningApart {
		u.Output += u.Reasoning
	}
	return u, in && out
}
