// Package converse reads the inbox of a thread that runs: each message is read once, and a
// conversation whose model has answered waits for the next one.
//
// It does not run the loop, and does not decide what a message does: the step cancel_checker does.
package converse

import (
	"context"
	"time"

	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/message"
)

// The actions of a conversation that has no message to answer.
const (
	Await   = "await"   // of a loop with a node for that
	Suspend = "suspend" // of other loops
)

// inPlace bounds how long one process waits for messages of a conversation: the next message
// starts a process then.
const inPlace = time.Hour

// Inbox is the inbox of a thread that runs.
type Inbox struct {
	Project string
	Thread  *threads.Thread
	// Interactive states that an answer without calls waits for the next message.
	Interactive bool
	// Awaits is the action of the loop when no message is there.
	Awaits string
	Began  time.Time // of the process
	// Step runs the step that reads rows.
	Step func(ctx context.Context, rows []any) (map[string]any, error)
}

// Read runs the step that reads the inbox, and removes the messages that the log has then. node
// is the key of the node of the loop.
func (b *Inbox) Read(ctx context.Context, node string) (map[string]any, error) {
	if err := b.await(ctx); err != nil {
		return nil, err
	}
	lines, err := b.Thread.Lines()
	if err != nil {
		return nil, err
	}
	unread, err := inbox.Read(b.Project, b.Thread.ID(), lines, b.obeys)
	if err != nil {
		return nil, err
	}
	if unread.Named {
		// The rows have no message that an earlier process recorded for this node, so that
		// Step must not leave out as many events again.
		b.Thread.Recorded(node, unread.Skip)
	}
	out, err := b.Step(ctx, rows(unread.Messages))
	if err == nil {
		err = b.named(ctx, unread.Messages)
	}
	if err != nil {
		return out, err
	}
	if len(unread.Taken) > 0 {
		// A message is removed only when no loss of power can lose it.
		if err := b.Thread.Flush(); err != nil {
			return nil, err
		}
		if err := inbox.Take(b.Project, b.Thread.ID(), unread.Taken); err != nil {
			return nil, err
		}
	}
	idle, err := b.idle()
	if out["action"] == "continue" && idle {
		out["action"] = b.Awaits
	}
	return out, err
}

// The data of the events of a conversation.
type (
	sessionNamed struct {
		Name string `json:"name"`
	}
	messageAwaited struct {
		Turn int64 `json:"turn"`
	}
)

// obeys reports whether the loop reads messages of a kind now.
func (b *Inbox) obeys(kind string) bool {
	switch kind {
	case inbox.Suspend, inbox.Event, inbox.Text, inbox.Name:
		return true
	case inbox.Handoff: // it waits for the first answer of the model
		return b.Thread.MayContinue()
	}
	return false
}

// rows returns messages as the step that reads them gets them.
func rows(list []inbox.Message) []any {
	out := []any{}
	for _, m := range list {
		payload := m.Payload
		if m.Kind == inbox.Event {
			payload = map[string]any{"event": m.Name, "payload": m.Payload}
		}
		out = append(out, map[string]any{
			"id":      m.ID,
			"kind":    m.Kind,
			"payload": payload,
			"by":      m.By,
		})
	}
	return out
}

// named records the names that a person gave the conversation.
func (b *Inbox) named(ctx context.Context, list []inbox.Message) error {
	for i := range list {
		name := inbox.NameOf(&list[i])
		if name == "" {
			continue
		}
		err := b.Thread.Record(ctx, "session_named", sessionNamed{name})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle reports whether the model of a conversation has nothing to answer: the newest part is its
// answer without calls, or a person stopped the turn.
func (b *Inbox) idle() (bool, error) {
	if !b.Interactive {
		return false, nil
	}
	lines, err := b.Thread.Lines()
	if err != nil {
		return false, err
	}
	results := false
	for i := len(lines) - 1; i >= 0; i-- {
		switch lines[i].Event {
		case "thread_cancelled":
			return true, nil
		case "message_added", "thread_started":
			return false, nil
		case "tool_result":
			results = true
		case "model_response":
			var d struct {
				Blocks []message.Block `json:"blocks"`
				Stop   message.Stop    `json:"stop"`
				Aside  bool            `json:"aside"`
			}
			if err := lines[i].Decode(&d); err != nil {
				return false, err
			}
			if d.Aside { // of a program, and not a part of the conversation
				continue
			}
			calls := len((&message.Response{Blocks: d.Blocks}).Calls())
			return calls == 0 && !results && d.Stop != message.StopPause, nil
		}
	}
	return false, nil
}

// await waits for the next message of a conversation while a person is attached. The time of the
// thread does not pass meanwhile.
func (b *Inbox) await(ctx context.Context) error {
	idle, err := b.idle()
	left := inPlace - time.Since(b.Began)
	if err != nil || !idle || left <= 0 || len(inbox.Files(b.Project, b.Thread.ID())) > 0 {
		return err
	}
	err = b.Thread.Record(ctx, "message_awaited", messageAwaited{b.Thread.Turn()})
	if err != nil {
		return err
	}
	defer b.Thread.Hold()()
	within, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err = inbox.Await(within, b.Project, b.Thread.ID())
	if within.Err() != nil && ctx.Err() == nil {
		return nil // the process ends, and the next message starts another
	}
	return err
}
