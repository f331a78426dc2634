package liveview_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/testing/vterm"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/transcript"
)

// played is a view of a thread or run on an emulated terminal, with a clock of its own.
type played struct {
	t    *testing.T
	term *vterm.Terminal
	view *liveview.View
	now  time.Time
	size [2]int
	out  strings.Builder
}

func play(t *testing.T, columns, rows int) *played {
	t.Helper()
	p := &played{t: t, term: vterm.New(columns, rows), now: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), size: [2]int{columns, rows}}
	t.Cleanup(func() { p.term.Close() })
	clock := func() time.Time { return p.now }
	p.view = liveview.New(liveview.Params{
		Now: clock, Ends: true,
		Screen: inline.New(inline.Params{Out: p.term.TTY(), Mode: inline.Live, Now: clock, Size: func() (int, int) { return p.size[0], p.size[1] }}),
		Tree: activity.New(activity.Start{
			ThreadID: "triage-1", Ref: "directive:demo/triage", Version: "1.0.0", Signer: "ada", Model: "qwen3:8b", Turns: 6, Spend: 200_000_000, Attempts: 4,
		}),
		Whole: func(log string, call int) string { return fmt.Sprintf("rye threads show %s --call %d", log, call) },
	})
	return p
}

// add adds a line to a log after a time.
func (p *played) add(after time.Duration, log, event, data string) {
	p.t.Helper()
	if !json.Valid([]byte(data)) {
		p.t.Fatalf("%s: the data are not JSON: %s", event, data)
	}
	p.now = p.now.Add(after)
	p.view.Line(log, &transcript.Line{Event: event, Time: p.now.Format("2006-01-02T15:04:05.000Z"), Data: json.RawMessage(data)})
}

// shot adds the screen to the golden text.
func (p *played) shot(after time.Duration, name string) {
	p.now = p.now.Add(after)
	p.view.Tick(p.now)
	fmt.Fprintf(&p.out, "--- %s\n%s", name, p.term.Screen())
}

// scenes are what people see of a thread or run besides one call after another.
var scenes = map[string]func(p *played){
	// Seven calls at once: five have a line, the newest one also its last output.
	"parallel": func(p *played) {
		begin(p)
		for i := range 7 {
			id := fmt.Sprint("c", i)
			p.add(time.Second, "triage-1", "tool_call", `{"turn":1,"call_id":"`+id+`","name":"rye__bash__bash","ref":"tool:rye/bash/bash","input":{"command":"go test ./`+id+`/... -run 'TestTheWholeOfIt/with_a_long_name' -count=1"},"decision":"run"}`)
		}
		for i := range 5 {
			p.add(0, "triage-1", "tool_output", fmt.Sprintf(`{"call_id":"c6","stream":"stdout","text":"ok \u001b[32mpackage %d\u001b[0m"}`, i))
		}
		p.shot(time.Second, "seven run")
		p.add(2*time.Second, "triage-1", "tool_result", `{"call_id":"c0","ref":"tool:rye/bash/bash","is_error":false,"content":[],"bytes":0,"cut":false,"duration_ms":9000}`)
		p.add(0, "triage-1", "tool_result", `{"call_id":"c6","ref":"tool:rye/bash/bash","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"EXECUTION_FAILED\",\"message\":\"running tool:rye/bash/bash: exit status 1\"}}"}],"bytes":1,"cut":false,"duration_ms":2500}`)
		p.shot(time.Second, "two have ended")
	},
	// Two threads that this one started, and the call of one of them.
	"children": func(p *played) {
		begin(p)
		for i, name := range []string{"scan", "review"} {
			id := fmt.Sprint("k", i)
			p.add(time.Second, "triage-1", "tool_call", `{"turn":1,"call_id":"`+id+`","name":"rye__agent__threads__thread_directive","ref":"tool:rye/agent/threads/thread_directive","input":{"directive_id":"demo/`+name+`"},"decision":"run"}`)
			p.add(0, "triage-1", "tool_output", `{"call_id":"`+id+`","stream":"stderr","text":"thread `+name+`-1"}`)
		}
		p.add(time.Second, "scan-1", "tool_call", `{"turn":1,"call_id":"x","name":"rye__file-system__read","ref":"tool:rye/file-system/read","input":{"file_path":"docs/reference/threads.md"},"decision":"run"}`)
		p.shot(65*time.Second, "two children")
		p.add(0, "scan-1", "thread_completed", `{"cost":{"turns":1,"spend":"0.034"}}`)
		p.add(0, "triage-1", "tool_result", `{"call_id":"k0","is_error":false,"content":[{"type":"text","text":"{\"state\":\"completed\"}"}],"bytes":1,"cut":false,"duration_ms":3}`)
		p.shot(time.Second, "one has ended")
	},
	// A graph: the position of a node, and the entries of a foreach.
	"foreach": func(p *played) {
		p.add(0, "triage-1", "graph_started", `{"graph":"tool:demo/convert","digest":"d","inputs":null,"state":null,"node":"list","targets":[],"held":[],"limits":null,"depth":0,"nodes":3,"pid":1}`)
		p.add(0, "triage-1", "node_started", `{"node":"list","step":1}`)
		p.add(1500*time.Millisecond, "triage-1", "node_committed", `{"node":"list","step":1,"assign":null,"next":"convert","duration_ms":1500}`)
		p.add(0, "triage-1", "node_started", `{"node":"convert","step":2}`)
		for i := range 12 {
			fault := ""
			if i == 3 {
				fault = `,"error":{"code":"EXECUTION_FAILED","message":"no"}`
			}
			p.add(time.Second, "triage-1", "item_committed", fmt.Sprintf(`{"node":"convert","index":%d,"of":200,"at_once":4%s}`, i, fault))
		}
		p.shot(time.Second, "entries")
		p.add(time.Second, "triage-1", "node_committed", `{"node":"convert","step":2,"assign":null,"next":"report","duration_ms":15000}`)
		p.add(0, "triage-1", "node_started", `{"node":"report","step":3,"child":"report-1"}`)
		p.add(0, "report-1", "tool_call", `{"turn":1,"call_id":"x","name":"rye__bash__bash","ref":"tool:rye/bash/bash","input":{"command":"wc -l report.md"},"decision":"run"}`)
		p.shot(2*time.Second, "a node that is a thread")
	},
	// Wide characters, combining marks, emoji, right-to-left text, and a text that would
	// steer the terminal.
	"wide": func(p *played) {
		begin(p)
		p.add(time.Second, "triage-1", "token_delta", `{"turn":1,"kind":"text","text":"测试在第一台机器上通过，但在第二台机器上失败，因为路径不同，所以需要再检查一次这个目录。\n\ne\u0301te\u0301 👩‍👩‍👧 שלום עולם, \u202eevil\u001b]0;title\u0007\n\n"}`)
		p.add(time.Second, "triage-1", "tool_call", `{"turn":1,"call_id":"a","name":"rye__bash__bash","ref":"tool:rye/bash/bash","input":{"command":"echo 目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录"},"decision":"run"}`)
		p.add(0, "triage-1", "tool_output", `{"call_id":"a","stream":"stdout","text":"\u001b[2J\u001b[Hשלום 目录 e\u0301"}`)
		p.shot(time.Second, "wide")
	},
	// The service makes the thread wait; the model thinks; the thread ends.
	"waits": func(p *played) {
		begin(p)
		p.add(time.Second, "triage-1", "model_error", `{"turn":1,"attempt":1,"category":"rate_limited","code":"PROVIDER_ERROR","message":"Slow down.","retry_in_ms":60000}`)
		p.shot(10*time.Second, "the service is asked again later")
		p.add(50*time.Second, "triage-1", "model_request", `{"turn":1,"model":"qwen3:8b","reserved":"0.017"}`)
		p.add(time.Second, "triage-1", "token_delta", `{"turn":1,"kind":"reasoning","text":"hm"}`)
		p.shot(12*time.Second, "the model thinks")
		p.add(time.Second, "triage-1", "model_response", `{"turn":1,"attempt":1,"blocks":[{"type":"text","text":"It is **stale**."}],"stop":"end","usage":{"input":9000,"output":500},"cost":"0.034","model":"m","duration_ms":1}`)
		p.add(time.Second, "triage-1", "thread_completed", `{"cost":{"turns":1,"spend":"0.034"}}`)
		p.view.Close()
		p.shot(0, "it has ended")
	},
}

func begin(p *played) {
	p.add(0, "triage-1", "thread_started", `{"directive":{"ref":"directive:demo/triage"},"signer":"s","extends":[],"inputs":{},"loop":{},"steps":[],"model":"qwen3:8b","provider":{},"limits":{},"held":[],"workspace":{},"parent":null,"rye":"1"}`)
}

// TestScreens compares what a person sees with testdata/screens, at three sizes. No row is
// wider than the terminal, and the block keeps within its rows.
func TestScreens(t *testing.T) {
	for name, scene := range scenes {
		for _, size := range [][2]int{{60, 12}, {80, 24}, {200, 60}} {
			p := play(t, size[0], size[1])
			scene(p)
			if changes := p.term.Changes(); len(changes) > 0 {
				t.Errorf("%s at %v: the terminal was changed: %q", name, size, changes)
			}
			testkit.Golden(t, filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", name, size[0])), p.out.String())
		}
	}
}
