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
	origin    wire
	turn      int // for ids of calls that the service did not name
	id, model string
	items     []*responsesItem
	usage     *responsesUsage
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
		return nil, s.close(ev)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		return s.arguments(ev)
	case "response.output_text.delta", "response.refusal.delta":
		return watch(message.DeltaText, ev.text("delta"), ""), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return watch(message.DeltaReasoning, ev.text("delta"), ""), nil
	}
	if raw := ev.get("response"); raw != nil {
		return nil, s.response(ev.text("type"), raw)
	}
	return nil, nil // parts of items that output_item.done repeats, and later events
}

// response reads an event that has the state of the response.
func (s *responsesStream) response(kind string, raw []byte) error {
	r, err := readFields(raw)
	if err != nil {
		return malformed("%s: %v", kind, err)
	}
	s.id, s.model = r.text("id"), r.text("model")
	if usage := r.get("usage"); usage != nil {
		// Counts are totals: those of the last event are true.
		s.usage = &responsesUsage{}
		if err := json.Unmarshal(usage, s.usage); err != nil {
			return malformed("usage: %v", err)
		}
	}
	switch kind {
	case "response.completed":
		s.stop, s.done = "completed", true
	case "response.incomplete":
		details, _ := readFields(r.get("incomplete_details"))
		s.stop, s.done = details.text("reason"), true
		if s.stop == "" {
			s.stop = "incomplete"
		}
	case "response.failed", "response.cancelled":
		said := readError(raw)
		if said.Type == "" {
			said.Type = said.Code
		}
		return said
	}
	return nil
}

// at returns the item of an event: by output_index, or by its id at servers that number
// nothing, such as llama.cpp.
func (s *responsesStream) at(ev fields) (*responsesItem, error) {
	var same func(*responsesItem) bool
	if raw := ev.get("output_index"); raw != nil {
		var index int64
		if json.Unmarshal(raw, &index) != nil {
			return nil, malformed("the output_index of %s is %s", ev.text("type"), short(string(raw)))
		}
		same = func(it *responsesItem) bool { return it.index == index }
	} else {
		item, _ := readFields(ev.get("item"))
		id := cmp.Or(ev.text("item_id"), item.text("id"))
		if id == "" {
			return nil, malformed("%s without output_index and id", ev.text("type"))
		}
		same = func(it *responsesItem) bool { return it.fields.text("id") == id }
	}
	if i := slices.IndexFunc(s.items, same); i >= 0 {
		return s.items[i], nil
	}
	return nil, malformed("%s of an item that is not open", ev.text("type"))
}

func (s *responsesStream) open(ev fields) ([]message.Delta, error) {
	if it, err := s.at(ev); err == nil {
		return nil, malformed("a second item with the index %d", it.index)
	}
	it := &responsesItem{index: int64(len(s.items))} // the order in which they begin, without output_index
	var err error
	if it.fields, err = readFields(ev.get("item")); err != nil {
		return nil, malformed("response.output_item.added is not valid")
	}
	if raw := ev.get("output_index"); raw != nil && json.Unmarshal(raw, &it.index) != nil {
		return nil, malformed("response.output_item.added is not valid")
	}
	s.items = append(s.items, it)
	if it.fields.text("type") != "function_call" {
		return nil, nil
	}
	return []message.Delta{{Kind: message.DeltaCallStart, CallID: it.fields.text("call_id"), Name: it.fields.text("name")}}, nil
}

// arguments reads a piece of the arguments of a call, or all of them: both must agree.
func (s *responsesStream) arguments(ev fields) ([]message.Delta, error) {
	it, err := s.at(ev)
	if err != nil {
		return nil, err
	}
	if id := ev.text("item_id"); id != "" && it.fields.text("id") != "" && id != it.fields.text("id") {
		return nil, malformed("%s of the item %q at the place of %q", ev.text("type"), id, it.fields.text("id"))
	}
	if ev.get("arguments") == nil {
		it.args.WriteString(ev.text("delta"))
		return watch(message.DeltaToolInput, ev.text("delta"), it.fields.text("call_id")), nil
	}
	return nil, it.check(ev.text("arguments"))
}

// check compares whole arguments with the pieces that arrived.
func (it *responsesItem) check(whole string) error {
	if it.args.Len() > 0 && it.args.String() != whole {
		return malformed("the arguments of %s differ from their pieces", it.fields.text("name"))
	}
	return nil
}

func (s *responsesStream) close(ev fields) error {
	it, err := s.at(ev)
	if err != nil {
		return err
	}
	whole, err := readFields(ev.get("item"))
	if err != nil {
		return malformed("response.output_item.done: %v", err)
	}
	if whole.text("type") != it.fields.text("type") {
		return malformed("an item of the type %q ended as %q", it.fields.text("type"), whole.text("type"))
	}
	it.raw, it.fields = slices.Clone(ev.get("item")), whole
	if whole.text("type") == "function_call" {
		return it.check(whole.text("arguments"))
	}
	return nil
}

func (s *responsesStream) end() (message.Response, error) {
	switch {
	case !s.done:
		return message.Response{}, incomplete("response.completed")
	case slices.ContainsFunc(s.items, func(it *responsesItem) bool { return it.raw == nil }):
		return message.Response{}, incomplete("response.output_item.done")
	}
	r := message.Response{Stop: message.StopEnd, StopRaw: s.stop, Model: s.model, ID: s.id}
	slices.SortStableFunc(s.items, func(a, b *responsesItem) int { return int(a.index - b.index) })
	refused := false
	for n, it := range s.items {
		b, refusal := it.block(callID(s.turn, n+1))
		refused = refused || refusal
		r.Blocks = append(r.Blocks, s.origin.mark(b, it.raw))
	}
	switch {
	case s.stop == "max_output_tokens":
		r.Stop = message.StopMaxOutput
	case s.stop == "content_filter" || refused:
		r.Stop = message.StopRefusal
	case len(r.Calls()) > 0:
		r.Stop = message.StopToolCalls
	}
	r.Usage, _ = s.seen()
	return r, nil
}

// block returns the block of an item, and whether the model refused in it. id is for a
// call without one.
func (it *responsesItem) block(id string) (b message.Block, refused bool) {
	switch it.fields.text("type") {
	case "message":
		text := ""
		for _, raw := range elements(it.fields.get("content")) {
			if part, err := readFields(raw); err == nil {
				text += part.text("text") + part.text("refusal")
				refused = refused || part.text("type") == "refusal"
			}
		}
		return message.TextBlock(text), refused
	case "function_call":
		if own := it.fields.text("call_id"); own != "" {
			id = own
		}
		call := message.Block{Type: message.ToolCall, ID: id, Name: it.fields.text("name")}
		return arguments(call, strings.TrimSpace(it.fields.text("arguments"))), false
	case "reasoning":
		return message.Block{Type: message.Reasoning}, false
	}
	return message.Block{Type: message.Opaque}, false
}

func (s *responsesStream) seen() (message.Usage, bool) {
	if s.usage == nil {
		return message.Usage{}, false
	}
	u := s.usage
	out := tokens(u.Input, u.InputMore.Cached, u.InputMore.Written, u.Output, u.OutputMore.Reasoning)
	for _, it := range s.items {
		// The calls of tools that the service runs, such as web_search_call.
		if name, own := strings.CutSuffix(it.fields.text("type"), "_call"); own && name != "function" {
			if out.Requests == nil {
				out.Requests = map[string]int64{}
			}
			out.Requests[name]++
		}
	}
	return out, true
}

// responsesUsage is the usage of the service.
type responsesUsage struct {
	Input     int64 `json:"input_tokens"`
	Output    int64 `json:"output_tokens"`
	InputMore struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputMore struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}
