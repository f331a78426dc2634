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
	c       *Config
	origin  wire
	calls   calls // the index of a piece is the position of its block
	started bool
	blocks  []*anthropicBlock
	usage   anthropicUsage
	stop    string
	stopped bool
	id      string
	model   string
}

// anthropicBlock is one block of the answer as it arrives.
type anthropicBlock struct {
	index    int64
	start    []byte
	fields   fields
	texts    map[string]*growing // members that deltas extend
	input    growing
	call     *call // that the block is, or nil
	position int64
	grown    bool // a delta changed the block
	closed   bool
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
	case "message": // the whole answer in place of a stream
		return s.whole(ev)
	case "":
		if ev.get("error") != nil || ev.statesError() {
			return nil, errorIn(e.Data)
		}
	}
	return nil, nil // ping, and events that later versions add
}

// whole reads an answer that is one document.
func (s *anthropicStream) whole(msg fields) ([]message.Delta, error) {
	if s.started {
		return nil, malformed("a whole message within a stream")
	}
	s.started = true
	s.stopped = true
	s.id, s.model, s.stop = msg.text("id"), msg.text("model"), msg.text("stop_reason")
	s.usage.update(msg.get("usage"))
	var out []message.Delta
	for i, raw := range elements(msg.get("content")) {
		deltas, err := s.open(fields{{"index", encoded(i)}, {"content_block", raw}})
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
		s.blocks[len(s.blocks)-1].closed = true
	}
	return out, nil
}

func (s *anthropicStream) start(ev fields) error {
	if len(s.blocks) > 0 { // a gateway began again; before the first block it repeats itself
		return malformed("a second message_start")
	}
	msg, err := readFields(ev.get("message"))
	if err != nil {
		return malformed("message_start: %v", err)
	}
	s.started, s.id, s.model = true, msg.text("id"), msg.text("model")
	s.usage.update(msg.get("usage"))
	return nil
}

func (s *anthropicStream) messageDelta(ev fields) error {
	delta, err := readFields(ev.get("delta"))
	if err != nil {
		return malformed("message_delta: %v", err)
	}
	if stop := delta.text("stop_reason"); stop != "" {
		s.stop = stop
	}
	s.usage.update(ev.get("usage"))
	return nil
}

func (s *anthropicStream) at(ev fields) (*anthropicBlock, error) {
	var index int64
	if json.Unmarshal(ev.get("index"), &index) == nil {
		i := slices.IndexFunc(s.blocks, func(b *anthropicBlock) bool {
			return b.index == index && !b.closed
		})
		if i >= 0 {
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
	if slices.ContainsFunc(s.blocks, func(o *anthropicBlock) bool {
		return o.index == b.index &&
			!o.closed
	}) {
		return nil, malformed("a second block with the index %d", b.index)
	}
	s.blocks = append(s.blocks, b)
	switch start.text("type") {
	case "tool_use":
		// {} in the start is what the service writes before the pieces, and the input of a
		// call without arguments if no piece follows.
		position := int64(len(s.blocks) - 1)
		p := piece{
			index: &position,
			id:    start.text("id"),
			name:  start.text("name"),
			fresh: true,
		}
		if !emptyObject(start.get("input")) {
			p.args = start.get("input")
		}
		if p.name == "" {
			return nil, unreadable("a call has no name")
		}
		c, deltas, err := s.calls.add(p)
		if err != nil {
			return nil, err
		}
		if emptyObject(start.get("input")) {
			c.stated = true
			c.object = []byte("{}")
		}
		b.call = c
		b.position = position
		return deltas, nil
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
		if b.call == nil {
			return nil, nil
		}
		_, deltas, err := s.calls.add(piece{index: &b.position, args: d.get("partial_json")})
		return deltas, err
	case "citations_delta":
		b.fields.set("citations", list(appendRaw(
			elements(b.fields.get("citations")),
			d.get("citation"),
		)))
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

// text returns the growing value of a member, which begins with the value of the start.
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
	text := strings.TrimSpace(b.input.String())
	if text != "" && json.Valid([]byte(text)) {
		out.set("input", []byte(text))
	}
	return object(out...)
}

// block returns a block that is not a call in the form of package message.
func (b *anthropicBlock) block(origin wire) message.Block {
	switch b.fields.text("type") {
	case "text":
		out := message.TextBlock(b.text("text").String())
		if !b.fields.only("type", "text") {
			out = origin.mark(out, b.raw())
		}
		return out
	case "thinking", "redacted_thinking":
		return origin.mark(message.Block{Type: message.Reasoning}, b.raw())
	}
	return origin.mark(message.Block{Type: message.Opaque}, b.raw())
}

// mark gives a call the members that rye does not know: they go back as they came.
func (s *anthropicStream) mark(c *call, b message.Block) message.Block {
	i := slices.IndexFunc(s.blocks, func(o *anthropicBlock) bool {
		return o.call == c
	})
	if i < 0 ||
		b.Input == nil ||
		s.blocks[i].fields.only("type", "id", "name", "input") {
		return b
	}
	return s.origin.mark(b, s.blocks[i].raw())
}

func (s *anthropicStream) end() (message.Response, error) {
	switch {
	case !s.started:
		return message.Response{}, incomplete("message_start")
	case s.stop == "":
		return message.Response{}, incomplete("stop_reason")
	case slices.ContainsFunc(s.blocks, func(b *anthropicBlock) bool { return !b.closed }):
		return message.Response{}, incomplete("content_block_stop")
	}
	if !s.stopped { // the reason follows the last block
		s.calls.odd.add(NoDone)
	}
	stop, err := s.c.stopOf(s.stop)
	if err != nil {
		return message.Response{}, err
	}
	called, err := s.calls.end(stop == message.StopMaxOutput, s.mark)
	if err != nil {
		return message.Response{}, err
	}
	calledIn := map[*call]message.Block{}
	for i, c := range s.calls.list {
		calledIn[c] = called[i]
	}
	r := message.Response{
		Stop:    stop,
		StopRaw: s.stop,
		Model:   s.model,
		ID:      s.id,
	}
	slices.SortStableFunc(s.blocks, func(a, b *anthropicBlock) int {
		return cmp.Compare(a.index, b.index)
	})
	for _, b := range s.blocks {
		if b.call != nil {
			r.Blocks = append(r.Blocks, calledIn[b.call])
			continue
		}
		r.Blocks = append(r.Blocks, b.block(s.origin))
	}
	if len(called) > 0 && r.Stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

func (s *anthropicStream) seen() counts {
	return s.usage.counts()
}

// anthropicUsage is the usage of the service. A counter that is null or absent is not
// stated; counts are totals, so the last one of each counter is true.
type anthropicUsage struct {
	model                                 string
	input, output, read                   *int64
	write, writeFiveMinutes, writeOneHour *int64
	server                                fields
	iterations                            []anthropicUsage
	counted
}

// update takes the counters that a later usage states.
func (u *anthropicUsage) update(raw []byte) {
	f, err := readFields(raw)
	if err != nil {
		return
	}
	u.model = cmp.Or(f.text("model"), u.model)
	u.input, u.output = cmp.Or(u.counted.read(f, "input_tokens"), u.input), cmp.Or(u.counted.read(f, "output_tokens"), u.output)
	u.read = cmp.Or(u.counted.read(f, "cache_read_input_tokens"), u.read)
	if write := u.counted.read(f, "cache_creation_input_tokens"); write != nil {
		u.write = write
	}
	if writes := f.within("cache_creation"); writes != nil {
		u.writeFiveMinutes = cmp.Or(u.counted.read(writes, "ephemeral_5m_input_tokens"), u.writeFiveMinutes)
		u.writeOneHour = cmp.Or(u.counted.read(writes, "ephemeral_1h_input_tokens"), u.writeOneHour)
	}
	if server := f.within("server_tool_use"); server != nil {
		u.server = server
	}
	if all := elements(f.get("iterations")); all != nil {
		u.iterations = nil
		for _, one := range all {
			var it anthropicUsage
			it.update(one)
			u.iterations = append(u.iterations, it)
		}
	}
}

// counts returns the counters. The division of what was written to the cache can be older
// than its sum, which is then true.
func (u *anthropicUsage) counts() counts {
	hour := value(u.writeOneHour)
	written := max(value(u.write), value(u.writeFiveMinutes)+hour)
	if u.write != nil {
		written = *u.write
	}
	hour = min(hour, written)
	out := message.Usage{
		Input:        value(u.input),
		Output:       value(u.output),
		CacheRead:    value(u.read),
		CacheWrite5m: written - hour,
		CacheWrite1h: hour,
		Doubtful:     u.doubtful,
	}
	for _, m := range u.server {
		n, ok := count(m.value)
		if !ok || n == 0 {
			continue
		}
		if out.Requests == nil {
			out.Requests = map[string]int64{}
		}
		out.Requests[strings.TrimSuffix(m.key, "_requests")] = n
	}
	for i := range u.iterations {
		if it := &u.iterations[i]; it.model != "" {
			out.ByModel = append(out.ByModel, message.ModelUsage{Model: it.model, Usage: it.counts().Usage})
		}
	}
	return counts{Usage: out, input: u.input != nil || u.read != nil, output: u.output != nil}
}
