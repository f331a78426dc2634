package graph

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ryeos/rye/threads/transcript"
)

// The time of a loop whose thread was stopped before it began, and resumed, is that of its
// processes: it was refused at every later resume as one that took too long.
func TestReplayTime(t *testing.T) {
	g := parse(t, `{tool_type: graph, executor_id: rye/core/runtimes/state_graph_runtime, version: "1.0.0", config: {start: a, nodes: {a: {type: gate, next: []}}}}`)
	var lines []transcript.Line
	for _, l := range [][3]string{
		{"05.017", "thread_started", "{}"}, {"05.042", "thread_error", `{"error":{"code":"THREAD_STATE"}}`}, {"05.161", "thread_resumed", "{}"},
		{"05.163", "graph_started", `{"node":"a"}`}, {"05.313", "node_started", `{"node":"a","step":1}`}, {"09.340", "thread_error", `{"error":{"code":"THREAD_STATE"}}`},
		{"09.798", "thread_resumed", "{}"},
	} {
		lines = append(lines, transcript.Line{Seq: int64(len(lines) + 1), Time: "2026-11-28T02:29:" + l[0] + "Z", Event: l[1], Data: json.RawMessage(l[2])})
	}
	w, err := newWalker(g, Params{Project: t.TempDir(), Now: time.Now, Log: transcript.Named("demo-01m838pzqvhq0vrc207rgk1ayt")})
	if err != nil {
		t.Fatal(err)
	}
	w.log = w.p.Log
	if err := w.replay(lines); err != nil || w.active != 150*time.Millisecond {
		t.Errorf("%s, %v", w.active, err)
	}
}
