package threads

import "context"

// ByMessage is the reason of a suspension until a person writes the next message.
const ByMessage = "message"

// Record records an event of a conversation.
func (t *Thread) Record(ctx context.Context, event string, data any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record(ctx, true, event, data)
}

// Recorded states how many events of a repeated node the log has: Step leaves out as many.
func (t *Thread) Recorded(node string, events int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skip[node] = events
}
