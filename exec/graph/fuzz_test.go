package graph

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/ryeos/rye/threads/transcript"
)

// FuzzReplay reads events that a program with the runtime key could have recorded: each
// line of the input is an event and its data. Reading them returns an error or a
// position, for a resume, a summary and a person.
func FuzzReplay(f *testing.F) {
	for _, s := range []string{
		"graph_started {\"graph\":\"tool:team/demo\",\"node\":\"a\",\"state\":{\"n\":1}}\nnode_started {\"node\":\"a\",\"step\":1}\nnode_committed {\"node\":\"a\",\"assign\":{\"n\":2},\"next\":\"p\"}",
		"graph_started {\"node\":\"p\"}\nnode_started {\"node\":\"p\",\"child\":\"item-01m838pzqvhq0vrc207rgk1ayt\"}\nbranch_committed {\"node\":\"p\",\"branch\":\"x\",\"result\":1}\nnode_started {\"node\":\"p.y.z\"}\nnode_failed {\"node\":\"p.y.z\",\"edge\":\"on_error\",\"next\":\"w\",\"error\":{\"code\":\"X\"}}",
		"graph_started {\"held\":[{\"caps\":[\"rye.*\"],\"profile\":{\"net\":\"none\"},\"source\":\"x\"}]}\nask_opened {\"node\":\"q\",\"schema\":{\"type\":3}}\nthread_suspended {\"reason\":\"ask\",\"nodes\":[\"q\"]}\nthread_resumed {}\nask_answered {\"node\":\"q\",\"answer\":{\"a\":[1e999]}}",
		"item_committed {\"node\":\"e\",\"index\":-1}\nstate_injected {\"set\":null}\ngraph_completed {\"output\":[]}\nwait_started {}\nwait_ended {}",
		"graph_started {\"state\":null}\nstate_injected {\"set\":{\"a\":1}}\nnode_committed {\"node\":\".\",\"assign\":{\"a\":1}}",
	} {
		f.Add([]byte(s))
	}
	g := parse(f, `{tool_type: graph, executor_id: rye/core/runtimes/state_graph_runtime, version: "1.0.0", config: {start: a, nodes: {a: {type: gate, next: p}, `+
		`p: {type: parallel, branches: {x: {action: {item_id: t/echo}}, y: {start: z, nodes: {z: {type: gate, next: []}}}}}}}}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		var lines []transcript.Line
		for line := range bytes.SplitSeq(b, []byte("\n")) {
			event, data, _ := bytes.Cut(line, []byte(" "))
			if !json.Valid(data) || len(data) == 0 || data[0] != '{' {
				return
			}
			lines = append(lines, transcript.Line{Seq: int64(len(lines) + 1), Time: "2026-11-23T00:00:00.000Z", Event: string(event), Data: data})
		}
		w, err := newWalker(g, Params{Project: t.TempDir(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		w.log = transcript.Named("demo-01m838pzqvhq0vrc207rgk1ayt")
		if w.replay(lines) == nil {
			_ = w.recordedHeld()
			_ = w.inFlight()
			_ = w.recorded()
		}
		s := &Summary{ID: w.log.ID(), State: StateRunning}
		l := &Log{State: map[string]any{}}
		for i := range lines {
			if s.add(w.p.Project, &lines[i]) != nil {
				return
			}
			data, err := transcript.Expand(w.p.Project, w.log.ID(), &lines[i])
			if err != nil {
				return
			}
			l.add(&lines[i], data)
		}
		_ = l.childIDs([]string{w.log.ID()})
	})
}
