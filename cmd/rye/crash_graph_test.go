//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// crashGraph has twelve nodes, among them one of each type. Each tool writes a line into
// the file effects.
const crashGraph = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: team
description: Every type of node.
config:
  start: first
  state: {list: [a, b, c]}
  nodes:
    first: {action: {item_id: rye/bash/bash, params: {command: "echo first >> effects; echo 1"}}, assign: {one: "${result.stdout}"}, next: g}
    g: {type: gate, next: [{to: each, when: "exists(state.one)"}]}
    each: {type: foreach, over: "${state.list}", parallel: true, action: {item_id: rye/bash/bash, params: {command: "echo each-${item} >> effects; printf %s ${item}"}}, collect: out, next: p}
    p:
      type: parallel
      branches:
        left: {action: {item_id: rye/bash/bash, params: {command: "echo left >> effects"}}, assign: {left: true}}
        right:
          start: x
          nodes:
            x: {action: {item_id: rye/bash/bash, params: {command: "echo x >> effects; exit 1"}}, on_error: y}
            y: {action: {item_id: rye/bash/bash, params: {command: "echo y >> effects"}}, assign: {code: "${error.code}"}}
      next: sub
    sub: {action: {item_id: team/inner}, assign: {sub: "${result.output.n}"}, next: w}
    w: {type: wait, seconds: 0, next: last}
    last: {action: {item_id: rye/bash/bash, params: {command: "echo last >> effects"}}, next: q}
    q: {type: ask, question: "Go on?", choices: ["yes", "no"], assign: {go: "${result.first}"}, next: done}
    done: {type: return, output: {one: "${state.one}", out: "${state.out.2.stdout}", code: "${state.code}", left: "${state.left}", sub: "${state.sub}", go: "${state.go}"}}
`

const crashInner = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: team
description: Is called.
config:
  start: a
  nodes:
    a: {action: {item_id: rye/bash/bash, params: {command: "echo inner >> effects"}}, next: r}
    r: {type: return, output: {n: 7}}
`

// TestGraphCrashPoints kills a run of a graph at each change of a file that rye makes.
// The resumed run ends as one without a kill, its logs verify, the called graph has one
// run, and only what was in flight has its effect twice. RYE_CRASH=all makes every kill.
func TestGraphCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	t.Parallel()
	l := newCrashLab(t)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	l.write(".ai/tools/team/outer.yaml", crashGraph)
	l.write(".ai/tools/team/inner.yaml", crashInner)
	l.must("sign", "*")
	l.must("run", "rye/bash/bash", "command=true") // fills the cache
	l.save()
	args := []string{"rye", "graph", "run", "team/outer"}
	first, out := l.trace("", args, 0)
	if first.Status != 0 {
		t.Fatalf("without a kill: exit status %d\n%s", first.Status, out)
	}
	want := l.answered(t)
	if len(want.effects) != 9 || !strings.Contains(want.output, `"go": true`) {
		t.Fatalf("without a kill: %+v", want)
	}
	kills := 0
	for _, n := range killsOf(t, first.Changes, 4) {
		l.restore()
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		kills++
		change := fmt.Sprint(got.Changes[len(got.Changes)-1])
		if !l.outer(t) {
			l.must("graph", "run", "team/outer") // killed before the log had a line
		}
		state := l.answered(t)
		l.headsFit(t, fmt.Sprintf("killed at %d %s", n, change))
		if state.output != want.output {
			t.Errorf("killed at %d %s: %s", n, change, state.output)
		}
		for line, count := range want.effects {
			if times := state.effects[line]; times < count || times > count+1 {
				t.Errorf("killed at %d %s: %s has its effect %d times", n, change, line, times)
			}
		}
	}
	t.Logf("%d changes, %d kills", len(first.Changes), kills)
	if kills == 0 {
		t.Error("the run makes no change")
	}
}

type crashEnd struct {
	output  string
	effects map[string]int
}

// outer reports whether the outer graph has a run.
func (l *crashLab) outer(t *testing.T) bool {
	t.Helper()
	return l.outerID(t) != ""
}

func (l *crashLab) outerID(t *testing.T) string {
	t.Helper()
	var doc struct {
		Data struct {
			Runs []struct {
				ID    string `json:"run_id"`
				Graph string
			}
		}
	}
	if err := json.Unmarshal([]byte(l.must("graph", "list", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Data.Runs {
		if r.Graph == "tool:team/outer" {
			return r.ID
		}
	}
	return ""
}

// answered resumes the run, answers its question, verifies every log and returns the end.
func (l *crashLab) answered(t *testing.T) crashEnd {
	t.Helper()
	id := l.outerID(t)
	l.must("graph", "resume", id)
	out := l.must("threads", "answer", id, "yes")
	l.must("threads", "verify")
	if logs := l.logs(t, "inner-"); len(logs) != 1 {
		t.Errorf("the node that calls a graph started %q", logs)
	}
	effects := map[string]int{}
	for _, line := range strings.Fields(string(l.read(filepath.Join(l.dir, "effects")))) {
		effects[line]++
	}
	return crashEnd{out, effects}
}
