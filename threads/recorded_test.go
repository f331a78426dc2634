package threads

import "testing"

// TestCallsOf sorts calls as the model made them: those that only read run at the same time.
func TestCallsOf(t *testing.T) {
	call := func(id string) Event {
		return Event{Event: evCall, Data: map[string]any{"turn": 1, "call_id": id, "name": "read_" + id, "input": map[string]any{}, "decision": "run"}}
	}
	result := func(id string) Event {
		return Event{Event: evResult, Data: map[string]any{"call_id": id, "is_error": id == "b", "content": []any{map[string]any{"type": "text", "text": "of " + id}}}}
	}
	answer := Event{Event: evResponse, Data: map[string]any{"turn": 1, "blocks": []any{
		map[string]any{"type": "tool_call", "id": "a", "name": "read_a", "input": map[string]any{}},
		map[string]any{"type": "tool_call", "id": "b", "name": "read_b", "input": map[string]any{}},
	}}}
	for _, events := range [][]Event{
		{answer, call("a"), call("b"), result("a"), result("b")},
		{answer, call("b"), result("b"), call("a"), result("a")},
		{answer, call("b"), call("a"), result("a"), result("b"), result("unknown")},
	} {
		got, err := CallsOf(events)
		if err != nil || len(got) != 2 || got[0].ID != "a" || got[1].ID != "b" || got[0].Text != "text\n  of a\n" || got[0].IsError || !got[1].IsError {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
