package provider

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// anthropicStream reads the events of POST /v1/messages.
type anthropicStream struct {
	origin  wire
	started bool
	blocks  []*anthropicBlock
	usage   anthropicUsage
	counted bool
	stop    string
	stopped bool
	id      string
	model   string
}

// anthropicBlock is one block of the answer as it arrives.
type anthropicBlock struct {
	index  int64
	start  []byte
	fields fields
	texts  map[string]*growing // members that deltas extend
	input  growing
	grown  bool // a delta changed the block
	closed bool
}

func (s *anthropicStream) event(e httpx.Event) ([]message.Delta, error) {
	if s.stopped {
		return nil, nil // the answer is complete
	}
	ev, err := readFields(e.Data)
	if err != nil {
		return nil, malformed("event %q: %v", e.Name, err)
	}
	switch kind := ev.text("type"); kind {
	case "message_start":
		return nil, s.start(ev)
	case "content_block_start":
		return s.open(ev)
	case "content_block_delta":
		return s.delta(ev)
	case "content_block_stop":
		b, err := s.at(ev)
		if err == nil {
			b.closed = true
		}
		return nil, err
	case "message_delta":
		return nil, s.messageDelta(ev)
	case "message_stop":
		s.stopped = true
	case "error":
		return nil, errorIn(e.Data)
	}
	return nil, nil // ping, and events that later versions add
}

func (s *anthropicStream) start(ev fields) error {
	if s.started {
		return malformed("a second message_start")
	}
	msg, err := readFields(ev.get("message"))
	if err != nil {
		return malformed("message_start: %v", err)
	}
	s.started, s.id, s.model = true, msg.text("id"), msg.text("model")
	return s.count(msg.get("usage"))
}

func (s *anthropicStream) messageDelta(ev fields) error {
	delta, err := readFields(ev.get("delta"))
	if err != nil {
		return malformed("message_delta: %v", err)
	}
	if stop := delta.text("stop_reason"); stop != "" {
		s.stop = stop
	}
	return s.count(ev.get("usage"))
}

// count reads a usage. Counts are totals: the last one of each counter is true.
func (s *anthropicStream) count(raw []byte) error {
	if raw == nil {
		return nil
	}
	var u anthropicUsage
	if err := json.Unmarshal(raw, &u); err != nil {
		return malformed("usage: %v", err)
	}
	s.counted = true
	s.usage.update(u)
	return nil
}

func (s *anthropicStream) at(ev fields) (*anthropicBlock, error) {
	var index int64
	if json.Unmarshal(ev.get("index"), &index) == nil {
		if i := slices.IndexFunc(s.blocks, func(b *anthropicBlock) bool { return b.index == index && !b.closed }); i >= 0 {
			return s.blocks[i], nil
		}
	}
	return nil, malformed("%s of a block that is not open", ev.text("type"))
}

func (s *anthropicStream) open(ev fields) ([]message.Delta, error) {
	raw := ev.get("content_block")
	start, err := readFields(raw)
	if err != nil || !s.started {
		return nil, malformed("content_block_start is not valid here")
	}
	b := &anthropicBlock{start: slices.Clone(raw), fields: start, texts: map[string]*growing{}}
	if json.Unmarshal(ev.get("index"), &b.index) != nil {
		return nil, malformed("content_block_start without index")
	}
	if slices.ContainsFunc(s.blocks, func(o *anthropicBlock) bool { return o.index == b.index }) {
		return nil, malformed("a second block with the index %d", b.index)
	}
	s.blocks = append(s.blocks, b)
	switch start.text("type") {
	case "tool_use":
		return []message.Delta{{Kind: message.DeltaCallStart, CallID: start.text("id"), Name: start.text("name")}}, nil
	case "text":
		return watch(message.DeltaText, start.text("text"), ""), nil
	case "thinking":
		return watch(message.DeltaReasoning, start.text("thinking"), ""), nil
	}
	return nil, nil
}

// watch returns a delta, or none for an empty text.
func watch(kind message.DeltaKind, text, call string) []message.Delta {
	if text == "" {
		return nil
	}
	return []message.Delta{{Kind: kind, Text: text, CallID: call}}
}

// delta extends a block. A kind of delta that is unknown extends the members that it
// names: texts grow, other values replace.
func (s *anthropicStream) delta(ev fields) ([]message.Delta, error) {
	b, err := s.at(ev)
	if err != nil {
		return nil, err
	}
	d, err := readFields(ev.get("delta"))
	if err != nil {
		return nil, malformed("content_block_delta: %v", err)
	}
	b.grown = true
	switch d.text("type") {
	case "input_json_delta":
		b.input.WriteString(d.text("partial_json"))
		return watch(message.DeltaToolInput, d.text("partial_json"), b.fields.text("id")), nil
	case "citations_delta":
		b.fields.set("citations", list(appendRaw(elements(b.fields.get("citations")), d.get("citation"))))
		return nil, nil
	}
	for _, m := range d {
		switch {
		case m.key == "type":
		case len(m.value) > 0 && m.value[0] == '"':
			b.text(m.key).WriteString(unquote(m.value))
		default:
			b.fields.set(m.key, slices.Clone(m.value))
		}
	}
	switch d.text("type") {
	case "text_delta":
		return watch(message.DeltaText, d.text("text"), ""), nil
	case "thinking_delta":
		return watch(message.DeltaReasoning, d.text("thinking"), ""), nil
	}
	return nil, nil
}

func appendRaw(in []json.RawMessage, v []byte) [][]byte {
	var out [][]byte
	for _, e := range in {
		out = append(out, e)
	}
	return append(out, v)
}

// text returns the growing value of a member, which begins with that of the start.
func (b *anthropicBlock) text(key string) *growing {
	g := b.texts[key]
	if g == nil {
		g = &growing{}
		g.WriteString(b.fields.text(key))
		b.texts[key] = g
	}
	return g
}

// raw returns the whole block: the bytes of the service if no delta changed it.
func (b *anthropicBlock) raw() []byte {
	if !b.grown {
		return b.start
	}
	out := slices.Clone(b.fields)
	for _, key := range sortedKeys(b.texts) {
		out.set(key, b.texts[key].raw())
	}
	if text := strings.TrimSpace(b.input.String()); text != "" && json.Valid([]byte(text)) {
		out.set("input", []byte(text))
	}
	return object(out...)
}

// block returns the block in the form of package message.
func (b *anthropicBlock) block(origin wire) message.Block {
	switch b.fields.text("type") {
	case "text":
		out := message.TextBlock(b.text("text").String())
		if !b.fields.only("type", "text") {
			out = origin.mark(out, b.raw())
		}
		return out
	case "tool_use":
		text := b.input.String()
		if given := b.fields.get("input"); text == "" && given != nil {
			text = string(given)
		}
		out := arguments(message.Block{Type: message.ToolCall, ID: b.fields.text("id"), Name: b.fields.text("name")}, text)
		// Members that rye does not know go back as they came.
		if out.Input != nil && !b.fields.only("type", "id", "name", "input") {
			out = origin.mark(out, b.raw())
		}
		return out
	case "thinking", "redacted_thinking":
		return origin.mark(message.Block{Type: message.Reasoning}, b.raw())
	}
	return origin.mark(message.Block{Type: message.Opaque}, b.raw())
}

func (s *anthropicStream) end() (message.Response, error) {
	switch {
	case !s.started:
		return message.Response{}, incomplete("message_start")
	case !s.stopped:
		return message.Response{}, incomplete("message_stop")
	case s.stop == "":
		return message.Response{}, incomplete("stop_reason")
	case slices.ContainsFunc(s.blocks, func(b *anthropicBlock) bool { return !b.closed }):
		return message.Response{}, incomplete("content_block_stop")
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.stop, Model: s.model, ID: s.id}
	slices.SortStableFunc(s.blocks, func(a, b *anthropicBlock) int { return int(a.index - b.index) })
	for _, b := range s.blocks {
		r.Blocks = append(r.Blocks, b.block(s.origin))
	}
	switch s.stop {
	case "tool_use":
		r.Stop = message.StopToolCalls
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = message.StopMaxOutput
	case "refusal":
		r.Stop = message.StopRefusal
	case "pause_turn":
		r.Stop = message.StopPause
	}
	r.Usage, _ = s.seen()
	return r, nil
}

func (s *anthropicStream) seen() (message.Usage, bool) { return s.usage.counters(), s.counted }

// anthropicUsage is the usage of the service. A counter that is null or absent is not
// stated.
type anthropicUsage struct {
	Model      string           `json:"model"`
	Input      *int64           `json:"input_tokens"`
	Output     *int64           `json:"output_tokens"`
	CacheRead  *int64           `json:"cache_read_input_tokens"`
	CacheWrite *int64           `json:"cache_creation_input_tokens"`
	Writes     *anthropicWrites `json:"cache_creation"`
	Server     map[string]any   `json:"server_tool_use"`
	Iterations []anthropicUsage `json:"iterations"`
}

type anthropicWrites struct {
	FiveMinutes *int64 `json:"ephemeral_5m_input_tokens"`
	OneHour     *int64 `json:"ephemeral_1h_input_tokens"`
}

// update takes the counters that a later usage states.
func (u *anthropicUsage) update(v anthropicUsage) {
	u.Input, u.Output = cmp.Or(v.Input, u.Input), cmp.Or(v.Output, u.Output)
	u.CacheRead, u.CacheWrite = cmp.Or(v.CacheRead, u.CacheRead), cmp.Or(v.CacheWrite, u.CacheWrite)
	u.Writes = cmp.Or(v.Writes, u.Writes)
	if v.Server != nil {
		u.Server = v.Server
	}
	if v.Iterations != nil {
		u.Iterations = v.Iterations
	}
}

func (u *anthropicUsage) counters() message.Usage {
	out := message.Usage{Input: value(u.Input), Output: value(u.Output), CacheRead: value(u.CacheRead), CacheWrite5m: value(u.CacheWrite)}
	if u.Writes != nil && (u.Writes.FiveMinutes != nil || u.Writes.OneHour != nil) {
		out.CacheWrite5m, out.CacheWrite1h = value(u.Writes.FiveMinutes), value(u.Writes.OneHour)
	}
	for name, v := range u.Server {
		if n, ok := v.(float64); ok && n > 0 {
			if out.Requests == nil {
				out.Requests = map[string]int64{}
			}
			out.Requests[strings.TrimSuffix(name, "_requests")] = int64(n)
		}
	}
	for i := range u.Iterations {
		if it := &u.Iterations[i]; it.Model != "" {
			out.ByModel = append(out.ByModel, message.ModelUsage{Model: it.Model, Usage: it.counters()})
		}
	}
	return out
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}
