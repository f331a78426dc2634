package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/transcript"
)

func TestWalk(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		want  any
		steps int
		calls string
	}{
		"no return node": {`
config:
  start: a
  state: {n: 1}
  nodes:
    a: {action: {item_id: t/echo, params: {x: "${state.n}"}}, assign: {y: "${result.x}"}}
`, map[string]any{"n": int64(1), "y": int64(1)}, 1, "t/echo"},
		"return": {`
config:
  start: a
  nodes:
    a: {action: {item_id: t/echo, params: {x: "${inputs.tag}"}}, assign: {y: "<${result.x}>"}, next: b}
    b: {type: return, output: {z: "${state.y}", run: "${run.step}"}}
`, map[string]any{"z": "<v1>", "run": int64(2)}, 2, "t/echo"},
		"gate and conditions": {`
config:
  start: g
  state: {n: 5}
  nodes:
    g: {type: gate, next: [{to: a, when: "state.n > 9"}, {to: b, when: {path: state.n, op: eq, value: 5}}, {to: a}]}
    a: {type: return, output: {at: a}}
    b: {type: return, output: {at: b}}
`, map[string]any{"at": "b"}, 2, ""},
		"a condition sees the assignment": {`
config:
  start: a
  nodes:
    a: {action: {item_id: t/echo, params: {n: 1}}, assign: {n: "${result.n}"}, next: [{to: b, when: "state.n == 1 and result.n == 1"}]}
    b: {type: return, output: {ok: true}}
`, map[string]any{"ok": true}, 2, "t/echo"},
		"no matching edge": {`
config:
  start: a
  nodes:
    a: {type: gate, next: [{to: a, when: "state.missing"}]}
`, map[string]any{}, 1, ""},
		"error edge": {`
config:
  start: a
  nodes:
    a: {action: {item_id: t/fail}, assign: {x: 1}, on_error: b}
    b: {type: return, output: {code: "${error.code}", node: "${error.node}", message: "${error.message}", x: "${state.x?}"}}
`, map[string]any{"code": "EXECUTION_FAILED", "node": "a", "message": "running t/fail: exit status 1", "x": nil}, 2, "t/fail"},
		"a missing path takes the error edge": {`
config:
  start: a
  nodes:
    a: {action: {item_id: t/echo}, assign: {x: "${result.none}"}, on_error: b}
    b: {type: return, output: {code: "${error.code}"}}
`, map[string]any{"code": "VALIDATION_FAILED"}, 2, "t/echo"},
		"continue": {`
config:
  start: a
  on_error: continue
  nodes:
    a: {action: {item_id: t/fail}, assign: {x: 1}, next: b}
    b: {action: {item_id: t/echo, params: {y: 2}}, assign: {y: "${result.y}"}}
`, map[string]any{"y": int64(2)}, 2, "t/fail t/echo"},
		"foreach": {`
config:
  start: a
  state: {list: [1, 2, 3]}
  nodes:
    a: {type: foreach, over: "${state.list}", as: n, action: {item_id: t/echo, params: {n: "${n}", s: "i${n}"}}, collect: out, parallel: true}
`, map[string]any{"list": []any{int64(1), int64(2), int64(3)}, "out": []any{
			map[string]any{"n": int64(1), "s": "i1"}, map[string]any{"n": int64(2), "s": "i2"}, map[string]any{"n": int64(3), "s": "i3"}}}, 1, "t/echo t/echo t/echo"},
		"foreach over nothing": {`
config:
  start: a
  nodes:
    a: {type: foreach, over: [], action: {item_id: t/echo}, collect: out}
`, map[string]any{"out": []any{}}, 1, ""},
		"foreach collects errors": {`
config:
  start: a
  state: {list: [t/echo, t/fail, t/echo]}
  nodes:
    a: {type: foreach, over: "${state.list}", action: {item_id: "${item}", params: {id: "${item}"}}, collect: out, on_item_error: collect, assign: {e: "${result.errors}"}}
`, map[string]any{"list": []any{"t/echo", "t/fail", "t/echo"}, "out": []any{map[string]any{"id": "t/echo"}, nil, map[string]any{"id": "t/echo"}},
			"e": []any{map[string]any{"index": int64(1), "code": "EXECUTION_FAILED", "message": "running t/fail: exit status 1"}}}, 1, "t/echo t/fail t/echo"},
		"parallel": {`
config:
  start: p
  state: {n: 1}
  nodes:
    p:
      type: parallel
      branches:
        a: {action: {item_id: t/echo, params: {v: "${state.n}"}}, assign: {a: "${result.v}"}}
        b:
          start: x
          nodes:
            x: {action: {item_id: t/echo, params: {v: 2}}, assign: {b: "${result.v}"}, next: y}
            y: {action: {item_id: t/echo, params: {v: "${state.b}"}}, assign: {c: "${result.v}", d: "${state.a?}"}}
      assign: {all: "${result.b.c}"}
`, map[string]any{"n": int64(1), "a": int64(1), "b": int64(2), "c": int64(2), "d": nil, "all": int64(2)}, 4, "t/echo t/echo t/echo"},
		"parallel with an error": {`
config:
  start: p
  nodes:
    p:
      type: parallel
      on_branch_error: collect
      branches:
        a: {action: {item_id: t/fail}, assign: {a: 1}}
        b: {action: {item_id: t/pure, params: {v: 2}}, assign: {b: "${result.v}"}}
      assign: {e: "${result.errors.0.branch}", n: "${result.a}"}
`, map[string]any{"b": int64(2), "e": "a", "n": nil}, 3, ""},
		"shell parameters are quoted": {`
config:
  start: a
  state: {dir: "; touch pwned"}
  nodes:
    a: {action: {item_id: t/shell, params: {command: "ls ${state.dir} | wc", other: "${state.dir}"}}, assign: {c: "${result}"}, next: r}
    r: {type: return, output: {c: "${state.c}"}}
`, map[string]any{"c": map[string]any{"command": "ls '; touch pwned' | wc", "other": "; touch pwned"}}, 2, "t/shell"},
		"a value is never a template": {`
config:
  start: a
  nodes:
    a: {action: {item_id: t/echo, params: {v: "${inputs.evil}"}}, assign: {v: "${result.v}"}, next: r}
    r: {type: return, output: {v: "${state.v}", w: "<${state.v}>"}}
`, map[string]any{"v": "${inputs.tag}", "w": "<${inputs.tag}>"}, 2, "t/echo"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			r, err := start(t, f, head+c.graph, map[string]any{"tag": "v1", "evil": "${inputs.tag}"})
			if err != nil || r.Status != StateCompleted || !reflect.DeepEqual(r.Output, c.want) || r.Steps != c.steps {
				t.Fatalf("%+v, %v\nwant %v", r, err, c.want)
			}
			if got := strings.Join(f.calls, " "); c.calls != "" && got != c.calls && len(got) != len(c.calls) {
				t.Errorf("calls %s, want %s", got, c.calls)
			}
		})
	}
}

func TestWalkFails(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		code  diag.Code
		text  string
	}{
		"a failing node": {"config: {start: a, nodes: {a: {action: {item_id: t/fail}}}}", diag.ExecutionFailed, "exit status 1"},
		"status fail":    {"config: {start: a, nodes: {a: {type: return, status: fail, output: {why: x}}}}", diag.ExecutionFailed, "the graph ended with status fail"},
		"max_steps": {"config: {start: a, max_steps: 5, nodes: {a: {type: gate, next: b}, b: {type: gate, next: a}}}", diag.LimitExceeded,
			"it started 5 nodes; the last ones are a, b, a, b, a"},
		"over has no list": {"config: {start: a, state: {x: 1}, nodes: {a: {type: foreach, over: '${state.x}', action: {item_id: t/echo}}}}", diag.ValidationFailed, "over is a number, not a list"},
		"typed state": {"config: {start: a, state_schema: {type: object, properties: {n: {type: integer}}, additionalProperties: false}, nodes: {a: {action: {item_id: t/echo, params: {v: x}}, assign: {n: '${result.v}'}}}}",
			diag.ValidationFailed, "$.n"},
		"unknown item":        {"config: {start: a, nodes: {a: {action: {item_id: t/none}}}}", diag.ItemNotFound, "t/none"},
		"foreach":             {"config: {start: a, nodes: {a: {type: foreach, over: [1], action: {item_id: t/fail}}}}", diag.ExecutionFailed, "item 0:"},
		"branch":              {"config: {start: a, nodes: {a: {type: parallel, branches: {x: {action: {item_id: t/fail}}}}}}", diag.ExecutionFailed, "branch x:"},
		"permissions":         {"permissions: [rye.execute.tool.other.*]\nconfig: {start: a, nodes: {a: {action: {item_id: t/echo}}}}", diag.PermissionDenied, "t/echo"},
		"env":                 {"config: {start: a, env_requires: [NO_SUCH_VARIABLE], nodes: {a: {type: gate, next: []}}}", diag.ConfigError, "NO_SUCH_VARIABLE"},
		"timeout of the wait": {"config: {start: a, nodes: {a: {type: wait, until: tomorrow}}}", diag.ValidationFailed, "until"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := start(t, newFake(), head+c.graph, nil)
			if diag.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%+v, %v", r, err)
			}
			if r != nil && r.Status != StateError {
				t.Errorf("status %s", r.Status)
			}
		})
	}
}

// stopAt is a Dispatcher whose calls end the process's context at the n-th call.
type stopAt struct {
	*fake
	n      int64
	left   atomic.Int64
	cancel context.CancelFunc
	after  bool // the call has its effect before the stop
}

func (s *stopAt) Call(ctx context.Context, c Call) (any, error) {
	if s.left.Add(-1) < 0 {
		if s.after {
			_, _ = s.fake.Call(ctx, c)
		}
		s.cancel()
		return nil, ctx.Err()
	}
	return s.fake.Call(ctx, c)
}

const long = head + `
config:
  start: a
  state: {list: [1, 2, 3, 4], done: []}
  nodes:
    a: {action: {item_id: t/echo, params: {v: a}}, assign: {a: "${result.v}"}, next: g}
    g: {type: gate, next: [{to: f, when: "state.a == 'a'"}]}
    f: {type: foreach, over: "${state.list}", as: n, action: {item_id: t/echo, params: {n: "${n}"}}, collect: out, parallel: true, next: p}
    p:
      type: parallel
      branches:
        one: {action: {item_id: t/echo, params: {v: 1}}, assign: {one: "${result.v}"}}
        two:
          start: x
          nodes:
            x: {action: {item_id: t/echo, params: {v: 2}}, assign: {x: "${result.v}"}, next: y}
            y: {action: {item_id: t/fail}, on_error: z}
            z: {action: {item_id: t/echo, params: {v: "${state.x}"}}, assign: {z: "${result.v}", code: "${error.code}"}}
      next: w
    w: {type: wait, seconds: 0, next: e}
    e: {action: {item_id: t/fail}, on_error: r}
    r: {type: return, output: {state: "${state}", code: "${error.code}"}}
`

// A run that is stopped at any call, before or after its effect, ends as one that is
// not stopped, and no finished call is made again.
func TestResume(t *testing.T) {
	want, err := start(t, newFake(), long, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := 10
	for n := range calls {
		for _, after := range []bool{false, true} {
			f := newFake()
			p := params(t, f)
			ctx, cancel := context.WithCancel(t.Context())
			s := &stopAt{fake: f, cancel: cancel, after: after}
			s.left.Store(int64(n))
			p.Dispatcher = s
			g := parse(t, long)
			r, err := Start(ctx, g, item.Digest{}, nil, p)
			cancel()
			if diag.CodeOf(err) != diag.Cancelled || r.Status != StateCancelled {
				t.Fatalf("stop at %d: %+v, %v", n, r, err)
			}
			p.Dispatcher = f
			got, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p)
			if err != nil || !reflect.DeepEqual(got.Output, want.Output) || got.Steps != want.Steps {
				t.Fatalf("stop at %d: %+v, %v\nwant %+v", n, got, err, want)
			}
			for key, times := range f.keys {
				if times > 2 || times > 1 && !after {
					t.Errorf("stop at %d: the call %s was made %d times", n, key, times)
				}
			}
			rep, err := transcript.Verify(t.Context(), transcript.Params{Project: p.Project, ID: r.RunID, Keys: p.Keys})
			if err != nil || rep.Err() != nil || rep.Signed != int64(rep.Count) {
				t.Fatalf("stop at %d: %+v, %v", n, rep, err)
			}
			again, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p)
			if err != nil || !reflect.DeepEqual(again.Output, want.Output) {
				t.Fatalf("resuming a completed run: %+v, %v", again, err)
			}
		}
	}
}

// A branch that ends well while the run is stopped is kept.
func TestStoppedRunKeepsBranches(t *testing.T) {
	const text = head + `
config:
  start: p
  nodes:
    p:
      type: parallel
      branches:
        one: {action: {item_id: t/stops, params: {v: 1}}}
        two: {start: x, nodes: {x: {action: {item_id: t/stops, params: {v: 2}}}}}
      next: r
    r: {type: return}
`
	f := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	var both sync.WaitGroup
	both.Add(2)
	f.do["t/stops"] = func(_ context.Context, c Call) (any, error) {
		if calls.Add(1) <= 2 {
			both.Done()
			both.Wait()
			cancel()
		}
		return c.Params, nil
	}
	p, g := params(t, f), parse(t, text)
	r, err := Start(ctx, g, item.Digest{}, nil, p)
	if diag.CodeOf(err) != diag.Cancelled {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil {
		t.Fatal(err)
	}
	if n := f.count("t/stops"); n != 2 {
		t.Errorf("%d calls of two branches", n)
	}
}

// A log that is cut after any whole line resumes to the same result.
func TestResumeFromEveryLine(t *testing.T) {
	f := newFake()
	p := params(t, f)
	g := parse(t, long)
	want, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	base := transcript.Base(p.Project, want.RunID)
	whole, err := os.ReadFile(base.Path(transcript.File))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for n := 1; n < len(lines)-1; n++ {
		_ = os.Remove(base.Path(transcript.HeadFile))
		if err := os.WriteFile(base.Path(transcript.File), []byte(strings.Join(lines[:n], "")+`{"torn`), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(f.calls)
		got, err := Resume(t.Context(), g, item.Digest{}, want.RunID, p)
		if err != nil || !reflect.DeepEqual(got.Output, want.Output) || got.Steps != want.Steps {
			t.Fatalf("after line %d of %d: %+v, %v", n, len(lines)-1, got, err)
		}
		if n > len(lines)-5 && len(f.calls) > before+1 {
			t.Errorf("after line %d: %d calls", n, len(f.calls)-before)
		}
	}
}

func TestResumeRefusesChanges(t *testing.T) {
	f := newFake()
	p := params(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	s := &stopAt{fake: f, cancel: cancel}
	p.Dispatcher = s
	g := parse(t, long)
	r, _ := Start(ctx, g, item.Digest{}, nil, p)
	p.Dispatcher = f
	if _, err := Resume(t.Context(), g, item.Digest{9}, r.RunID, p); diag.CodeOf(err) != diag.GraphChanged || !strings.Contains(err.Error(), "tool:team/demo_graph") {
		t.Errorf("a changed graph: %v", err)
	}
	f.digest = 3
	if _, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p); diag.CodeOf(err) != diag.GraphChanged || !strings.Contains(err.Error(), "tool:t/echo") {
		t.Errorf("a changed item: %v", err)
	}
	p.AcceptChanged = true
	if got, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || got.Status != StateCompleted {
		t.Errorf("accepted: %+v, %v", got, err)
	}
	if _, err := Resume(t.Context(), g, item.Digest{}, "demo-graph-01jd3v8k2m9q4x7c5n0b6t1ras", p); err == nil {
		t.Error("a run that does not exist was resumed")
	}
}

// TestResumeAfterUpgrade checks that changed items of the system space are accepted and recorded, unless the log has that
// another space had them, and that a state key of the newer graph gets its initial value.
func TestResumeAfterUpgrade(t *testing.T) {
	f := newFake()
	f.space = transcript.System
	p := params(t, f)
	p.Space = transcript.System
	ctx, cancel := context.WithCancel(t.Context())
	p.Dispatcher = &stopAt{fake: f, cancel: cancel}
	r, _ := Start(ctx, parse(t, long), item.Digest{}, nil, p)
	p.Dispatcher, f.digest = f, 3
	f.space = "project"
	if _, err := Resume(t.Context(), parse(t, long), item.Digest{}, r.RunID, p); diag.CodeOf(err) != diag.GraphChanged {
		t.Errorf("a project has the item now: %v", err)
	}
	f.space = transcript.System
	newer := parse(t, long)
	newer.State = map[string]any{"added": "x"}
	var events []string
	p.Event = func(_ string, l *transcript.Line) { events = append(events, l.Event+string(l.Data)) }
	got, err := Resume(t.Context(), newer, item.Digest{9}, r.RunID, p)
	if err != nil || got.Status != StateCompleted {
		t.Fatalf("after an upgrade: %+v, %v", got, err)
	}
	if len(events) == 0 || !strings.Contains(events[0], `"accepted_changes":[{"ref":"tool:team/demo_graph"`) || !strings.Contains(events[0], `{"ref":"tool:t/echo"`) {
		t.Errorf("the log has %.300q", events)
	}

	f.space, f.digest = "project", 0
	ctx, cancel = context.WithCancel(t.Context())
	p.Dispatcher = &stopAt{fake: f, cancel: cancel}
	r, _ = Start(ctx, parse(t, long), item.Digest{}, nil, p)
	p.Dispatcher, f.digest, f.space = f, 3, transcript.System
	if _, err := Resume(t.Context(), parse(t, long), item.Digest{}, r.RunID, p); diag.CodeOf(err) != diag.GraphChanged {
		t.Errorf("a project had the item: %v", err)
	}
}

const asking = head + `
config:
  start: q
  nodes:
    q:
      type: ask
      question: "Release ${inputs.tag}?"
      choices: [yes, no]
      assign: {go: "${result.first}", by: "${result.by}"}
      next: r
    r: {type: return, output: {go: "${state.go}", by: "${state.by}"}}
`

func TestAsk(t *testing.T) {
	f := newFake()
	p := params(t, f)
	g := parse(t, asking)
	r, err := Start(t.Context(), g, item.Digest{}, map[string]any{"tag": "v1"}, p)
	if err != nil || r.Status != StateSuspended || r.Reason != "ask" || r.Waiting[0] != "q" {
		t.Fatalf("%+v, %v", r, err)
	}
	s, err := Status(t.Context(), p.Project, r.RunID)
	if err != nil || s.State != StateSuspended || s.question("q").Question != "Release v1?" {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, wrong := range []any{"maybe", int64(3), nil} {
		if err := Send(p.Project, r.RunID, Message{Kind: "answer", Name: "q", Payload: wrong, By: "x"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Status != StateSuspended {
			t.Fatalf("%v: %+v, %v", wrong, r, err)
		}
	}
	if err := Send(p.Project, r.RunID, Message{Kind: "answer", Name: "q", Payload: "yes", By: "ada"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p)
	if err != nil || !reflect.DeepEqual(r.Output, map[string]any{"go": true, "by": "ada"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if left, _ := filepath.Glob(transcript.Base(p.Project, r.RunID).Path("inbox/*")); len(left) > 0 {
		t.Errorf("the inbox has %v", left)
	}

	p.Ask = func(_ context.Context, q Question) (any, string, error) { return q.Choices[1], "person", nil }
	if r, err = Start(t.Context(), g, item.Digest{}, map[string]any{"tag": "v1"}, p); err != nil || r.Output.(map[string]any)["go"] != false {
		t.Errorf("at a terminal: %+v, %v", r, err)
	}
	p.Ask, p.NoSuspend = nil, true
	if r, err = Start(t.Context(), g, item.Digest{}, map[string]any{"tag": "v1"}, p); diag.CodeOf(err) != diag.ApprovalRequired || r.Status != StateError {
		t.Errorf("no suspension: %+v, %v", r, err)
	}
}

func TestAskTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		want any
	}{"default": {"default: no, ", "no"}, "denied": {"on_error: r, ", nil}} {
		g := parse(t, head+`config: {start: q, nodes: {q: {type: ask, question: x, choices: ["yes", "no"], timeout_seconds: 60, `+strings.Replace(c.more, "default: no", `default: "no"`, 1)+`assign: {a: "${result.answer}"}, next: r}, r: {type: return, output: {a: "${state.a?}"}}}}`)
		p := params(t, newFake())
		now := time.Now()
		p.Now = func() time.Time { return now }
		r, err := Start(t.Context(), g, item.Digest{}, nil, p)
		if err != nil || r.Status != StateSuspended || r.WakeAt == "" {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		now = now.Add(61 * time.Second)
		if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Output.(map[string]any)["a"] != c.want {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestWait(t *testing.T) {
	g := parse(t, head+`config: {start: w, nodes: {w: {type: wait, event: deployed, assign: {p: "${result.payload}"}, next: s}, s: {type: wait, seconds: 100, assign: {at: "${result.at}"}, next: r}, r: {type: return, output: {p: "${state.p}"}}}}`)
	p := params(t, newFake())
	now := time.Now()
	p.Now = func() time.Time { return now }
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil || r.Status != StateSuspended || r.Reason != "wait" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := Send(p.Project, r.RunID, Message{Kind: "event", Name: "deployed", Payload: map[string]any{"n": 1}}, now); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Status != StateSuspended || r.Waiting[0] != "s" {
		t.Fatalf("%+v, %v", r, err)
	}
	now = now.Add(100 * time.Second)
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || fmt.Sprint(r.Output) != "map[p:map[n:1]]" {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestOneStepAndInjection(t *testing.T) {
	g := parse(t, head+`config: {start: a, state_schema: {properties: {x: {type: integer}}, additionalProperties: false}, nodes: {a: {action: {item_id: t/echo, params: {v: 1}}, assign: {x: "${result.v}"}, next: b}, b: {type: return, output: {x: "${state.x}"}}}}`)
	p := params(t, newFake())
	p.OneStep = true
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil || r.Status != StateSuspended || r.Reason != "request" || r.Waiting[0] != "b" || r.Steps != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	p.OneStep = false
	for _, bad := range []map[string]any{{"x": "text"}, {"y": 1}} {
		p.Set = bad
		if _, err := Resume(t.Context(), g, item.Digest{}, r.RunID, p); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("%v: %v", bad, err)
		}
	}
	p.Set = map[string]any{"x": int64(7)}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || fmt.Sprint(r.Output) != "map[x:7]" {
		t.Errorf("%+v, %v", r, err)
	}
	only := params(t, newFake())
	only.Only, only.State = "b", map[string]any{"x": int64(3)}
	if r, err = Start(t.Context(), g, item.Digest{}, nil, only); err != nil || fmt.Sprint(r.Output) != "map[x:3]" || r.Steps != 1 {
		t.Errorf("one node: %+v, %v", r, err)
	}
}

func TestRetry(t *testing.T) {
	f := newFake()
	n := 0
	f.do["t/flaky"] = func(context.Context, Call) (any, error) {
		if n++; n < 3 {
			return nil, diag.New(diag.Network, "no route")
		}
		return map[string]any{"n": int64(n)}, nil
	}
	r, err := start(t, f, head+`config: {start: a, nodes: {a: {action: {item_id: t/flaky, retry: {max_attempts: 3, policy: {type: fixed, delay: 0}}}, assign: {n: "${result.n}"}}}}`, nil)
	if err != nil || fmt.Sprint(r.Output) != "map[n:3]" {
		t.Errorf("%+v, %v", r, err)
	}
	f.do["t/denied"] = func(context.Context, Call) (any, error) { return nil, diag.New(diag.PolicyDenied, "no") }
	if _, err = start(t, f, head+`config: {start: a, nodes: {a: {action: {item_id: t/denied, retry: {max_attempts: 3, policy: {type: fixed, delay: 0}}}}}}`, nil); diag.CodeOf(err) != diag.PolicyDenied || f.count("t/denied") != 1 {
		t.Errorf("a denial was repeated: %v", err)
	}
	e := graphdef.Retry{Type: "exponential", Base: 2 * time.Second, Max: 60 * time.Second}
	for i, want := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
		if got := e.Delay(i + 1); got != want*time.Second {
			t.Errorf("attempt %d: %s", i+1, got)
		}
	}
}

// The branches after the N-th success are cancelled.
func TestJoinAny(t *testing.T) {
	f := newFake()
	f.do["t/slow"] = func(ctx context.Context, _ Call) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r, err := start(t, f, head+`config: {start: p, nodes: {p: {type: parallel, join: any, branches: {slow: {action: {item_id: t/slow}, assign: {s: 1}}, fast: {action: {item_id: t/echo, params: {v: 1}}, assign: {f: "${result.v}"}}}, assign: {slow: "${result.slow}"}}}}`, nil)
	if err != nil || fmt.Sprint(r.Output) != "map[f:1 slow:<nil>]" {
		t.Errorf("%+v, %v", r, err)
	}
	// A failing branch cancels the others.
	_, err = start(t, f, head+`config: {start: p, nodes: {p: {type: parallel, branches: {slow: {action: {item_id: t/slow}}, bad: {action: {item_id: t/fail}}}}}}`, nil)
	if diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), "branch bad") {
		t.Error(err)
	}
}

// A graph of 10,000 steps writes linearly, and its log verifies.
func TestManySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs more than a second")
	}
	f := newFake()
	p := params(t, f)
	size := func(n int) int64 {
		g := parse(t, head+fmt.Sprintf(`config: {start: a, state: {n: 0}, max_steps: %d, nodes: {a: {action: {item_id: t/pure, params: {v: "${run.step}"}}, assign: {n: "${result.v}"}, next: [{to: a, when: "state.n < %d"}]}}}`, n, n))
		r, err := Start(t.Context(), g, item.Digest{}, nil, p)
		if err != nil || r.Steps != n {
			t.Fatalf("%+v, %v", r, err)
		}
		fi, err := os.Stat(transcript.Base(p.Project, r.RunID).Path(transcript.File))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	small, large := size(1000), size(10_000)
	if large > small*11 {
		t.Errorf("1,000 steps are %d bytes, 10,000 are %d", small, large)
	}
}

func TestThousandItems(t *testing.T) {
	f := newFake()
	var running, most atomic.Int64
	f.do["t/count"] = func(_ context.Context, c Call) (any, error) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		if running.Load() > 8 {
			return nil, errors.New("more than 8 at the same time")
		}
		return c.Params["i"], nil
	}
	list := []any{}
	for i := range 1000 {
		list = append(list, int64(i))
	}
	r, err := start(t, f, head+`config: {start: a, nodes: {a: {type: foreach, over: "${inputs.list}", action: {item_id: t/count, params: {i: "${item}"}}, collect: out, parallel: true}}}`, map[string]any{"list": list})
	if err != nil || !reflect.DeepEqual(r.Output, map[string]any{"out": list}) {
		t.Fatalf("%v", err)
	}
}
