package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// responsesStream reads the events of POST /v1/responses.
type responsesStream struct {
	c         *Config
	origin    wire
	calls     calls // an index is the position of the item
	id, model string
	items     []*responsesItem
	usage     fields
	stop      string // the status, or why the response is incomplete
	done      bool
}

// responsesItem is one item of the answer as it arrives.
type responsesItem struct {
	index  int64
	fields fields // of the start
	raw    []byte // of the whole item; nil until it is complete
	args   growing
}

func (s *responsesStream) event(e httpx.Event) ([]message.Delta, error) {
	if s.done {
		return nil, nil
	}
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" { // some services write it; it proves nothing here
		return nil, nil
	}
	ev, err := readFields(e.Data)
	if err != nil {
		return nil, malformed("event %q: %v", e.Name, err)
	}
	switch kind := ev.text("type"); kind {
	case "error":
		said := readError(e.Data)
		if said.Type == "error" {
			said.Type = said.Code
		}
		return nil, said
	case "response.output_item.added":
		return s.open(ev)
	case "response.output_item.done":
		return s.close(ev)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		return s.arguments(ev)
	case "response.output_text.delta", "response.refusal.delta":
		return watch(message.DeltaText, ev.text("delta"), ""), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return watch(message.DeltaReasoning, ev.text("delta"), ""), nil
	}
	if raw := ev.get("response"); raw != nil {
		return s.response(ev.text("type"), raw)
	}
	if ev.text("object") == "response" { // the whole response in place of a stream
		return s.response("response."+ev.text("status"), e.Data)
	}
	if ev.text("type") == "" && (ev.get("error") != nil || ev.statesError()) {
		return nil, errorIn(e.Data)
	}
	return nil, nil // parts of items that output_item.done repeats, and later events
}

// response reads an event that has the state of the response.
func (s *responsesStream) response(kind string, raw []byte) ([]message.Delta, error) {
	r, err := readFields(raw)
	if err != nil {
		return nil, malformed("%s: %v", kind, err)
	}
	s.id, s.model = cmp.Or(r.text("id"), s.id), cmp.Or(r.text("model"), s.model)
	if usage, err := readFields(r.get("usage")); err == nil {
		s.usage = usage // counts are totals: the last event has the true ones
	}
	switch status := r.text("status"); {
	case kind == "response.failed",
		kind == "response.cancelled",
		s.final(kind) && (status == "failed" || status == "cancelled"):
		said := readError(raw)
		if said.Type == "" {
			said.Type = said.Code
		}
		return nil, said
	case kind == "response.incomplete", s.final(kind) && status == "incomplete":
		s.stop = r.within("incomplete_details").text("reason")
		s.done = true
		if s.stop == "" {
			s.stop = "incomplete"
		}
	case s.final(kind):
		s.stop = "completed"
		s.done = true
	}
	if !s.done {
		return nil, nil
	}
	return s.output(elements(r.get("output")))
}

// final reports whether an event is the last one of a response that did not fail.
func (s *responsesStream) final(kind string) bool {
	return kind == "response.completed" || kind == "response.done"
}

// output reads the items of the last event. They replace the items of the stream if that has
// not all of them; calls of both must be equal.
func (s *responsesStream) output(whole []json.RawMessage) ([]message.Delta, error) {
	incomplete := slices.ContainsFunc(s.items, func(it *responsesItem) bool {
		return it.raw == nil
	})
	if len(whole) == 0 || !incomplete && len(s.items) >= len(whole) {
		return nil, nil
	}
	s.calls.odd.add(ItemsAtEnd)
	before := s.items
	s.items = nil
	var out []message.Delta
	for i, raw := range whole {
		f, err := readFields(raw)
		if err != nil {
			return nil, malformed("an item of the output: %v", err)
		}
		s.items = append(
			s.items,
			&responsesItem{index: int64(i), fields: f, raw: slices.Clone(raw)},
		)
		if len(before) == 0 && f.text("type") == "message" {
			text, _ := s.items[i].block()
			out = append(out, watch(message.DeltaText, text.Text, "")...)
		}
	}
	for _, it := range before {
		if it.fields.text("type") == "function_call" &&
			it.args.Len() > 0 &&
			!s.repeats(it) {
			return nil, unreadable("the arguments of %s differ from their pieces", it.fields.text("name"))
		}
	}
	return out, nil
}

// repeats reports whether the items contain the call of an item that arrived in pieces.
func (s *responsesStream) repeats(it *responsesItem) bool {
	return slices.ContainsFunc(s.items, func(o *responsesItem) bool {
		whole := strings.TrimSpace(o.fields.text("arguments"))
		pieces := strings.TrimSpace(it.args.String())
		return o.fields.text("name") == it.fields.text("name") &&
			(whole == pieces || it.raw == nil && strings.HasPrefix(whole, pieces))
	})
}

// at returns the item of an event, nil if no item is open there: by output_index, or by its
// id at servers that number nothing, such as llama.cpp. An id that changes from event to
// event is not used; without a number it must then be the only item that is open.
func (s *responsesStream) at(ev fields) (*responsesItem, error) {
	if raw := ev.get("output_index"); raw != nil {
		index := number(raw)
		if index == nil {
			return nil, malformed("the output_index of %s is %s", ev.text("type"), short(string(raw)))
		}
		i := slices.IndexFunc(s.items, func(it *responsesItem) bool {
			return it.index == *index
		})
		if i >= 0 {
			return s.items[i], nil
		}
		return nil, nil
	}
	id := cmp.Or(ev.text("item_id"), ev.within("item").text("id"))
	i := slices.IndexFunc(s.items, func(it *responsesItem) bool {
		return id != "" && it.fields.text("id") == id
	})
	if i >= 0 {
		return s.items[i], nil
	}
	var open []*responsesItem
	for _, it := range s.items {
		if it.raw == nil {
			open = append(open, it)
		}
	}
	if len(open) != 1 || ev.text("type") == "response.output_item.added" {
		return nil, nil
	}
	return open[0], nil
}

func (s *responsesStream) open(ev fields) ([]message.Delta, error) {
	item, err := readFields(ev.get("item"))
	if err != nil {
		return nil, malformed("%s is not valid", ev.text("type"))
	}
	if it, err := s.at(ev); err != nil || it != nil {
		if err == nil {
			err = malformed("a second item with the index %d", it.index)
		}
		return nil, err
	}
	it := &responsesItem{index: int64(len(s.items)), fields: item} // the order in which they begin, without output_index
	if index := number(ev.get("output_index")); index != nil {
		it.index = *index
	}
	s.items = append(s.items, it)
	if item.text("type") != "function_call" {
		return nil, nil
	}
	return []message.Delta{{Kind: message.DeltaCallStart, CallID: item.text("call_id"), Name: item.text("name")}}, nil
}

// arguments reads a piece of the arguments of a call, or all of them: both must agree.
func (s *responsesStream) arguments(ev fields) ([]message.Delta, error) {
	it, err := s.at(ev)
	if err != nil {
		return nil, err
	}
	if it == nil || it.fields.text("type") != "function_call" {
		return nil, unreadable("%s of a call that is not open", ev.text("type"))
	}
	id := ev.text("item_id")
	if id != "" &&
		it.fields.text("id") != "" &&
		id != it.fields.text("id") {
		s.calls.odd.add(RotatingIDs)
	}
	if ev.get("arguments") == nil {
		it.args.WriteString(ev.text("delta"))
		return watch(message.DeltaToolInput, ev.text("delta"), it.fields.text("call_id")), nil
	}
	return nil, it.check(ev.get("arguments"))
}

// check compares whole arguments with the pieces that arrived.
func (it *responsesItem) check(whole []byte) error {
	if it.args.Len() > 0 &&
		len(whole) > 0 &&
		whole[0] == '"' &&
		it.args.String() != unquote(whole) {
		return unreadable("the arguments of %s differ from their pieces", it.fields.text("name"))
	}
	return nil
}

func (s *responsesStream) close(ev fields) ([]message.Delta, error) {
	it, err := s.at(ev)
	if err != nil {
		return nil, err
	}
	whole, err := readFields(ev.get("item"))
	if err != nil {
		return nil, malformed("response.output_item.done: %v", err)
	}
	var out []message.Delta
	if it == nil || it.raw != nil { // it was not announced
		ev.set("type", encoded("response.output_item.added"))
		if out, err = s.open(ev); err != nil {
			return nil, err
		}
		it = s.items[len(s.items)-1]
	}
	if whole.text("type") != it.fields.text("type") {
		return nil, malformed("an item of the type %q ended as %q", it.fields.text("type"), whole.text("type"))
	}
	if whole.text("type") != "function_call" {
		it.raw = slices.Clone(ev.get("item"))
		it.fields = whole
		return out, nil
	}
	before := it.fields.text("name")
	if before != "" && whole.text("name") != "" && before != whole.text("name") {
		return nil, unreadable("a call has the names %s and %s", short(before), short(whole.text("name")))
	}
	if err := it.check(whole.get("arguments")); err != nil {
		return nil, err
	}
	// Some servers leave the arguments out of the item that ends.
	if whole.get("arguments") == nil && it.args.Len() > 0 {
		whole.set("arguments", it.args.raw())
	}
	for _, key := range []string{"call_id", "name"} {
		if whole.get(key) == nil && it.fields.get(key) != nil {
			whole.set(key, it.fields.get(key))
		}
	}
	it.raw = slices.Clone(ev.get("item"))
	it.fields = whole
	if s.changed(it) {
		it.raw = object(whole...)
	}
	return out, nil
}

// changed reports whether the item that ended lacks a member that it has here.
func (s *responsesStream) changed(it *responsesItem) bool {
	raw, _ := readFields(it.raw)
	return len(raw) != len(it.fields)
}

func (s *responsesStream) end() (message.Response, error) {
	switch {
	case !s.done:
		return message.Response{}, incomplete("response.completed")
	case slices.ContainsFunc(s.items, func(it *responsesItem) bool { return it.raw == nil }):
		return message.Response{}, incomplete("response.output_item.done")
	}
	stop, err := s.c.stopOf(s.stop)
	if err != nil {
		return message.Response{}, err
	}
	r := message.Response{
		Stop:    stop,
		StopRaw: s.stop,
		Model:   s.model,
		ID:      s.id,
	}
	slices.SortStableFunc(s.items, func(a, b *responsesItem) int {
		return cmp.Compare(a.index, b.index)
	})
	// The pieces were compared with the items, which are whole.
	for n, it := range s.items {
		if it.fields.text("type") != "function_call" {
			continue
		}
		position := int64(n)
		p := piece{
			index: &position,
			id:    it.fields.text("call_id"),
			name:  it.fields.text("name"),
			args:  it.fields.get("arguments"),
			fresh: true,
		}
		if p.name == "" {
			return message.Response{}, unreadable("a call has no name")
		}
		if _, _, err := s.calls.add(p); err != nil {
			return message.Response{}, err
		}
	}
	called, err := s.calls.end(stop == message.StopMaxOutput, func(_ *call, b message.Block) message.Block {
		return b
	})
	if err != nil {
		return message.Response{}, err
	}
	next := 0
	for _, it := range s.items {
		b, refused := it.block()
		if refused {
			r.Stop = message.StopRefusal
		}
		if b.Type == message.ToolCall {
			b = called[next]
			next++
			if it.fields.text("call_id") != b.ID { // the item that goes back has the id of the result
				it.fields.set("call_id", encoded(b.ID))
				it.raw = object(it.fields...)
			}
		}
		r.Blocks = append(r.Blocks, s.origin.mark(b, it.raw))
	}
	if len(called) > 0 && r.Stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

// block returns the block of an item, and whether the model refused in it. The calls are
// put together elsewhere.
func (it *responsesItem) block() (b message.Block, refused bool) {
	switch it.fields.text("type") {
	case "message":
		text := it.fields.text("content")
		for _, raw := range elements(it.fields.get("content")) {
			if part, err := readFields(raw); err == nil {
				text += part.text("text") + part.text("refusal")
				refused = refused || part.text("type") == "refusal"
			}
		}
		return message.TextBlock(text), refused
	case "function_call":
		return message.Block{Type: message.ToolCall}, false
	case "reasoning":
		return message.Block{Type: message.Reasoning}, false
	}
	return message.Block{Type: message.Opaque}, false
}

func (s *responsesStream) seen() counts {
	if s.usage == nil {
		return counts{}
	}
	var c counted
	in := s.usage.within("input_tokens_details")
	out := s.usage.within("output_tokens_details")
	t := totals{
		input:     c.read(s.usage, "input_tokens"),
		output:    c.read(s.usage, "output_tokens"),
		total:     c.read(s.usage, "total_tokens"),
		cached:    c.read(in, "cached_tokens"),
		written:   c.read(in, "cache_write_tokens"),
		reasoning: c.read(out, "reasoning_tokens"),
	}
	t.doubtful = c.doubtful
	u := t.counts()
	for _, it := range s.items {
		// The calls of tools that the service runs, such as web_search_call.
		name, builtin := strings.CutSuffix(it.fields.text("type"), "_call")
		if builtin && name != "function" {
			if u.Requests == nil {
				u.Requests = map[string]int64{}
			}
			u.Requests[name]++
		}
	}
	return u
}
