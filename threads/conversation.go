package threads

import (
	"encoding/json"

	"github.com/ryeos/rye/threads/message"
)

// request returns the next request: the conversation so far.
func (t *Thread) request(s *Service) *message.Request {
	out := &message.Request{
		Model:       s.Model,
		Effort:      t.p.Effort,
		Temperature: json.Number(t.p.Temp),
		Serial:      t.p.Serial,
		MaxOutput:   s.MaxOutput,
	}
	if t.p.MaxOutput > 0 && (out.MaxOutput == 0 || t.p.MaxOutput < out.MaxOutput) {
		out.MaxOutput = t.p.MaxOutput
	}
	if t.prompt != nil {
		for _, b := range t.prompt.System {
			out.System = append(out.System, message.TextBlock(b.Text))
		}
		out.Messages = []message.Message{{Role: message.User, Blocks: t.first()}}
		for _, m := range t.before() {
			out.Messages = joined(out.Messages, m)
		}
		for _, o := range t.prompt.Tools {
			out.Tools = append(out.Tools, o.ToolDef)
		}
	}
	out.Messages = t.spoken(out.Messages, t.entries[t.short.from:], false)
	readableFor(s, out.Messages)
	return out
}

// spoken appends entries of the conversation to a list of messages, with all results as they
// were if whole is set.
func (t *Thread) spoken(
	list []message.Message,
	entries []entry,
	whole bool,
) []message.Message {
	for _, e := range entries {
		if e.answer == nil {
			list = joined(list, e.message)
			continue
		}
		list = joined(list, message.Message{Role: message.Assistant, Blocks: e.answer.resp.Blocks})
		var results []message.Block
		for _, c := range e.answer.resp.Calls() {
			results = append(results, t.resultOf(c.ID, whole))
		}
		list = joined(list, message.Message{Role: message.User, Blocks: results})
	}
	return list
}

// resultOf returns the result of a call for the model. A call always has one: services
// refuse a conversation in which it is missing. whole leaves out that another text is in its
// place.
func (t *Thread) resultOf(call string, whole bool) message.Block {
	r := t.results[call]
	if r == nil {
		return message.Block{
			Type:    message.ToolResult,
			CallID:  call,
			IsError: true,
			Content: []message.Block{message.TextBlock("the call was not made")},
		}
	}
	if text, short := t.short.results[call]; short && !whole {
		return message.Block{
			Type:    message.ToolResult,
			CallID:  call,
			IsError: r.isError,
			Content: []message.Block{message.TextBlock(text)},
		}
	}
	return message.Block{
		Type:    message.ToolResult,
		CallID:  call,
		IsError: r.isError,
		Content: r.content,
	}
}

// joined appends a message. Two messages of one role become one: most services refuse
// others.
func joined(list []message.Message, m message.Message) []message.Message {
	if len(m.Blocks) == 0 {
		return list
	}
	n := len(list)
	if n > 0 && list[n-1].Role == m.Role {
		list[n-1].Blocks = append(
			list[n-1].Blocks[:len(list[n-1].Blocks):len(list[n-1].Blocks)],
			m.Blocks...,
		)
		return list
	}
	return append(list, m)
}

// Conversation returns the messages so far.
func (t *Thread) Conversation() []message.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.request(t.p.Services[t.service]).Messages
}

// grow counts bytes of the conversation that the service has not counted yet.
func (t *Thread) grow(v any) {
	t.fresh += bytesOf(v)
}

// growMedia counts the images and files in blocks, at four bytes a token.
func (t *Thread) growMedia(blocks []message.Block) {
	t.fresh += 4 * t.p.Services[t.service].mediaTokens(blocks)
}

// lastAnswer returns the newest answer, or nil.
func (t *Thread) lastAnswer() *answer {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].answer != nil {
			return t.entries[i].answer
		}
	}
	return nil
}

// recordedResult is a tool_result as the model reads it.
type recordedResult struct {
	isError bool
	content []message.Block
}
