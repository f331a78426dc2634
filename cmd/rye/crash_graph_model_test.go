//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// crashModelGraph has a directive between two tools, and returns what a model returned.
const crashModelGraph = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: team
description: A node whose directive a model follows.
limits: {spend: "0.10"}
config:
  start: first
  nodes:
    first: {action: {item_id: rye/bash/bash, params: {command: "echo first >> effects"}}, next: ask}
    ask: {action: {item_type: directive, item_id: demo/triage}, assign: {label: "${result.outputs.label}"}, next: last}
    last: {action: {item_id: rye/bash/bash, params: {command: "echo last >> effects"}}, next: done}
    done: {type: return, output: {label: "${state.label}"}}
`

// crashModel answers the first request of a thread with the call of a tool, and one that
// has its result with the end. It decides by the request, because a call that was in
// flight at a kill is made again.
type crashModel struct{ first, second *scripted.Server }

func newCrashModel(t *testing.T) *crashModel {
	t.Helper()
	server := func(send string) *scripted.Server {
		s, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps: [{repeat: true, send: {calls: ["+send+"]}}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return &scripted.Server{Scenario: s}
	}
	return &crashModel{
		first:  server(`{id: call_tool, name: rye__bash__bash, input: {command: "echo tool >> effects"}}`),
		second: server(`{id: call_return, name: directive_return, input: {label: bug}}`),
	}
}

func (m *crashModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"role":"tool"`)) {
		m.second.ServeHTTP(w, r)
		return
	}
	m.first.ServeHTTP(w, r)
}

func (m *crashModel) calls() int { return m.first.Calls() + m.second.Calls() }

// TestGraphCrashModel kills a run whose node has a model follow a directive, at each
// change of a file that rye makes. The resumed run continues the same thread: an answer
// of the model that was recorded is not asked for again, and one that was not is asked
// for once more. A tool that the model called is not repeated: the model learns that it
// may have run. RYE_CRASH=all makes every kill.
func TestGraphCrashModel(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	t.Parallel()
	l := newCrashLab(t)
	clock := l.more
	url := ""
	l.more = func() []string { return append(clock(), "DEMO_KEY=sk-demo-12345678", "MODEL_URL="+url) }
	serve := func() *crashModel {
		m := newCrashModel(t)
		s := httptest.NewServer(m)
		t.Cleanup(s.Close)
		url = s.URL
		return m
	}
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	for _, name := range []string{".ai/directives/demo/triage.md", ".ai/tools/demo/model.yaml"} {
		section := scriptFile(t, "thread_approve", name)
		section = strings.Replace(section, `<input name="file" type="string" required="true">`, `<input name="file" type="string">`, 1)
		l.write(name, strings.Replace(section, "Read {input:file}.", "Read the list.", 1))
	}
	l.write(".ai/tools/team/outer.yaml", crashModelGraph)
	l.must("sign", "*")
	l.must("run", "rye/bash/bash", "command=true") // fills the cache
	l.save()
	args := []string{"rye", "graph", "run", "team/outer"}
	m := serve()
	whole, out := l.trace("", args, 0)
	if whole.Status != 0 || m.calls() != 2 {
		t.Fatalf("without a kill: exit status %d, %d calls\n%s", whole.Status, m.calls(), out)
	}
	want := l.followed(t)
	if len(want.effects) != 3 || !strings.Contains(want.output, `"label": "bug"`) {
		t.Fatalf("without a kill: %+v", want)
	}
	start, every := killsAt(t, len(whole.Changes), 6)
	kills, before := 0, map[int]bool{}
	for n := start; n <= len(whole.Changes); n += every {
		l.restore()
		m := serve()
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		kills++
		change := fmt.Sprint(got.Changes[len(got.Changes)-1])
		made, recorded, finished := m.calls(), l.recorded(t, "model_response"), l.recorded(t, "tool_output")
		before[recorded] = true
		if !l.outer(t) {
			l.must("graph", "run", "team/outer") // killed before the log had a line
		}
		state := l.followed(t)
		if state.output != want.output {
			t.Errorf("killed at %d %s: %s", n, change, state.output)
		}
		if calls := m.calls(); calls != made+2-recorded {
			t.Errorf("killed at %d %s: %d calls of the model, and %d before the kill of which %d were recorded", n, change, calls, made, recorded)
		}
		for line, count := range want.effects {
			times := state.effects[line]
			ok := times == count || times == count+1
			if line == "tool" {
				ok = times == 1 || times == 0 && finished == 0
			}
			if !ok {
				t.Errorf("killed at %d %s: %s has its effect %d times", n, change, line, times)
			}
		}
	}
	t.Logf("%d changes, %d kills, with recorded answers %v", len(whole.Changes), kills, before)
	if kills == 0 || !before[0] || !before[2] {
		t.Error("no kill before the first answer, or none after the last one")
	}
}

// recorded returns how many lines of an event the logs of threads have.
func (l *crashLab) recorded(t *testing.T, event string) int {
	t.Helper()
	n := 0
	for _, name := range l.logs(t, "triage-") {
		for line := range bytes.Lines(l.read(name)) {
			if bytes.HasSuffix(line, []byte("\n")) && bytes.Contains(line, []byte(`"event":"`+event+`"`)) {
				n++
			}
		}
	}
	return n
}

// logs returns the logs of threads and runs whose ids have a prefix, and that have a line.
func (l *crashLab) logs(t *testing.T, prefix string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", prefix+"*", "transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range found {
		if bytes.ContainsRune(l.read(name), '\n') {
			out = append(out, name)
		}
	}
	return out
}

// followed resumes the run, verifies every log and account, and returns the end.
func (l *crashLab) followed(t *testing.T) crashEnd {
	t.Helper()
	id := l.outerID(t)
	out := l.must("graph", "resume", id)
	l.must("threads", "verify")
	if logs := l.logs(t, "triage-"); len(logs) != 1 {
		t.Errorf("the node started %q", logs)
	}
	cost := l.must("threads", "cost", "--tree", id, "--json")
	for line := range strings.Lines(cost) {
		if strings.Contains(line, `"reserved"`) && !strings.Contains(line, `"0.00"`) || strings.Contains(line, `"state"`) && !strings.Contains(line, `"completed"`) {
			t.Errorf("an account is open: %s", cost)
		}
	}
	effects := map[string]int{}
	for _, line := range strings.Fields(string(l.read(filepath.Join(l.dir, "effects")))) {
		effects[line]++
	}
	return crashEnd{out, effects}
}

// scriptFile returns a file of a script.
func scriptFile(t *testing.T, script, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", script+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "-- "+name+" --\n")
	if !ok {
		t.Fatalf("%s has no file %s", script, name)
	}
	text, _, _ := strings.Cut(rest, "\n-- ")
	return text + "\n"
}
