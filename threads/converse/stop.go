package converse

import (
	"context"

	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Action returns the action of a conversation that has no message to answer.
func Action(hasNode bool) string {
	if hasNode {
		return Await
	}
	return Suspend
}

// Resume prepares a conversation that a process continues, by the lines of its log.
func Resume(ctx context.Context, t *threads.Thread, lines []transcript.Line) error {
	if t.Params().Interactive && stopped(lines) {
		return stopTurn(ctx, t)
	}
	return nil
}

// stopped reports whether a person cancelled a thread that no message has continued.
func stopped(lines []transcript.Line) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		switch lines[i].Event {
		case "thread_cancelled":
			return true
		case "message_added", "turn_started", "thread_suspended", "thread_error", "thread_killed":
			return false
		}
	}
	return false
}

// stopTurn gives the calls of the newest answer that did not start the result that a person
// stopped the turn: they must not start with the next message.
func stopTurn(ctx context.Context, t *threads.Thread) error {
	result := []message.Block{message.TextBlock("the person stopped the turn; the call was not made")}
	for _, c := range t.Pending() {
		err := t.Answer(ctx, "stopped", c.CallID, result, true)
		if err != nil {
			return err
		}
	}
	return nil
}
