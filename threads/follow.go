package threads

import (
	"cmp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// RootOf returns the thread whose account a thread with this id has.
func (c *Carried) RootOf(id string) string {
	if c == nil {
		return id
	}
	return cmp.Or(c.Root, id)
}

// Source returns the thread from which the messages were carried; their artifacts are there.
func (c *Carried) Source() string {
	return cmp.Or(c.From, c.Follows)
}

// follows reports whether the thread has the whole conversation of a completed one.
func (c *Carried) follows() bool {
	return c != nil && c.Follows != "" && len(c.Messages) > 0
}

// Follow returns the conversation of a thread that follows a completed one: all messages that the
// model of that thread read and wrote, from the first, and text, which a person writes next.
// Reasoning is left out, because services accept it in the conversation that ended only.
// It is THREAD_STATE if the thread has not completed.
func Follow(project, id, text string) (*Carried, error) {
	s, err := ReadStarted(project, id)
	if err != nil {
		return nil, err
	}
	if s.State != Completed {
		return nil, diag.New(diag.ThreadState, "continuing %s: it is %s, and not completed", id, s.State)
	}
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	// The model of the thread is not called again, so one service without a window is enough.
	t := newThread(id, Params{
		Project:     project,
		Carried:     s.Carried,
		Attachments: s.Attachments,
		Services:    []*Service{{}},
		Source:      func(string) string { return "" },
	})
	if _, err := t.replay(lines); err != nil {
		return nil, err
	}
	if t.prompt == nil {
		return nil, diag.New(diag.ThreadState, "continuing %s: its model was not called", id)
	}
	c := &Carried{Follows: id, Text: text}
	said := []message.Message{{Role: message.User, Blocks: t.first()}}
	for _, m := range t.before() {
		said = joined(said, m)
	}
	for _, m := range t.spoken(said, t.entries[t.short.from:], false) {
		c.Messages = joined(c.Messages, message.Message{Role: m.Role, Blocks: withoutReasoning(m.Blocks)})
	}
	return c, nil
}

// first returns the blocks of the first message.
func (t *Thread) first() []message.Block {
	if c := t.p.Carried; c.follows() {
		return c.Messages[0].Blocks
	}
	return t.prompt.Message.Blocks
}

// followed returns the messages behind the first one of a thread that follows an earlier
// thread: the rest of that conversation, and the message of the person.
func (t *Thread) followed() []message.Message {
	c := t.p.Carried
	next := message.Message{Role: message.User, Blocks: t.p.Attachments[:len(t.p.Attachments):len(t.p.Attachments)]}
	if c.Text != "" {
		next.Blocks = append(next.Blocks, message.TextBlock(c.Text))
	}
	var out []message.Message
	for _, m := range append(c.Messages[1:len(c.Messages):len(c.Messages)], next) {
		out = joined(out, m)
	}
	return out
}
