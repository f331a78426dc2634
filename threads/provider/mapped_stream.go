package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/message"
)

// mappedStream reads the events of a service that the item describes.
type mappedStream struct {
	*mapping
	c         *Config
	origin    wire
	text      growing
	reasoning growing
	answered  string // the model that answered
	calls     calls
	kept      unknownMembers
	counts    map[string]int64
	doubtful  int64
	why       string // the service stopped, in its words
	done      bool
}

func (s *mappedStream) event(e httpx.Event) ([]message.Delta, error) {
	data := bytes.TrimSpace(e.Data)
	doc, bad := jsonx.ParseMessage(data)
	_, isObject := doc.(map[string]any)
	if len(bad) > 0 || !isObject {
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
	if s.count(data); s.done {
		return nil, nil // counts can follow the end
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

// callsIn reads calls. Arguments without a name continue the call of their id, or the call
// before.
func (s *mappedStream) callsIn(data []byte) ([]message.Delta, error) {
	pieces := []json.RawMessage{data}
	if len(s.call.list) > 0 {
		pieces = elements(find(data, s.call.list))
	}
	var out []message.Delta
	for _, raw := range pieces {
		p := piece{name: unquote(find(raw, s.call.name)), id: unquote(find(raw, s.call.id)), args: find(raw, s.call.arguments)}
		if p.name == "" && p.args == nil {
			continue
		}
		p.fresh = p.name != "" &&
			(len(s.call.list) > 0 || p.id == "") // a name begins a call; elements of a list are calls
		if p.fresh &&
			s.calls.withID(p.id) != nil &&
			!s.calls.withID(p.id).whole() {
			p.fresh = false
		}
		_, deltas, err := s.calls.add(p)
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
	}
	return out, nil
}

// count reads counters: the last value counts.
func (s *mappedStream) count(data []byte) {
	for _, key := range sortedKeys(s.mapping.usage) {
		raw := find(data, s.mapping.usage[key])
		if raw == nil {
			continue
		}
		n, ok := count(raw)
		if !ok {
			s.doubtful++
			delete(s.counts, key)
			continue
		}
		if s.counts == nil {
			s.counts = map[string]int64{}
		}
		s.counts[key] = n
	}
}

func (s *mappedStream) end() (message.Response, error) {
	if !s.done {
		return message.Response{}, incomplete("the end that stream.end of the item describes")
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.why, Model: s.answered}
	if s.reasoning.Len() > 0 {
		r.Blocks = append(r.Blocks, s.origin.mark(
			message.Block{Type: message.Reasoning},
			object(field{"text", s.reasoning.raw()}),
		))
	}
	if b, any := s.kept.block(s.origin); any {
		r.Blocks = append(r.Blocks, b)
	}
	if s.text.Len() > 0 {
		r.Blocks = append(r.Blocks, message.TextBlock(s.text.String()))
	}
	stop, err := s.ending()
	if err != nil {
		return message.Response{}, err
	}
	called, err := s.calls.end(stop == message.StopMaxOutput, func(_ *call, b message.Block) message.Block {
		return b
	})
	if err != nil {
		return message.Response{}, err
	}
	r.Blocks = append(r.Blocks, called...)
	r.Stop = stop
	if len(called) > 0 && stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

// ending returns the meaning of the service's word for its end. An item that lists the good
// ends knows all of them; without that list only words that every service uses for a failure
// are one.
func (s *mappedStream) ending() (message.Stop, error) {
	if stop, stated := s.c.Ends[s.why]; stated {
		return stop, nil
	}
	switch {
	case slices.Contains(s.stops["max_output"], s.why):
		return message.StopMaxOutput, nil
	case slices.Contains(s.stops["refusal"], s.why):
		return message.StopRefusal, nil
	case s.stops["end"] != nil && s.why != "" && !slices.Contains(s.stops["end"], s.why):
		return "", endFailure(s.why)
	case s.stops["end"] == nil && slices.Contains(failedEnds(), strings.ToLower(s.why)):
		return "", endFailure(s.why)
	}
	return message.StopEnd, nil
}

// seen returns the counts. Without both of them the cost is computed from estimates: a
// service that left one out would cost nothing for it.
func (s *mappedStream) seen() counts {
	_, in := s.counts["input"]
	_, out := s.counts["output"]
	u := message.Usage{
		Input:        s.counts["input"],
		CacheRead:    s.counts["cache_read"],
		CacheWrite5m: s.counts["cache_write_5m"],
		CacheWrite1h: s.counts["cache_write_1h"],
		Output:       s.counts["output"],
		Reasoning:    s.counts["reasoning"],
		Doubtful:     s.doubtful,
	}
	if !s.cacheApart {
		u.CacheRead = min(u.CacheRead, u.Input)
		u.CacheWrite5m = min(u.CacheWrite5m, u.Input-u.CacheRead)
		u.CacheWrite1h = min(u.CacheWrite1h, u.Input-u.CacheRead-u.CacheWrite5m)
		u.Input -= u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
	}
	if s.reasoningApart {
		u.Output += u.Reasoning
	}
	u.Output = max(u.Output, u.Reasoning)
	return counts{Usage: u, input: in, output: out}
}
