//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/threads/provider/scripted"
	"github.com/ryeos/rye/threads/transcript"
)

// crashTurns has the answers of the three turns. Each turn is a scenario of its own: the
// server answers a conversation of two turns with the third one, however often it is asked.
var crashTurns = [...]string{
	`{expect: {text: {contains: "Do it."}}, repeat: true, send: {text: "First. ", calls: [{name: team__once}]}}`,
	`{repeat: true, send: {text: "Again. ", calls: [{name: team__again}, {name: team__once}]}}`,
	`{repeat: true, send: {calls: [{name: directive_return, input: {label: done}}]}}`,
}

// crashEffect is a tool that leaves a line in the file effects.
const crashEffect = `# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: team
# description: Leaves a line.
# risk: T3%s
echo effect >> effects
`

// crashServer answers by the number of turns that a request has, and counts.
type crashServer struct {
	turns [len(crashTurns)]*scripted.Server

	mu    sync.Mutex
	calls [len(crashTurns)]int
	bad   []string
}

func newCrashServer(t testing.TB) *crashServer {
	s := &crashServer{}
	for i, text := range crashTurns {
		scenario, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n  - "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		s.turns[i] = &scripted.Server{Scenario: scenario}
	}
	return s
}

func (s *crashServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed while it asked
	}
	var req struct{ Messages []struct{ Role string } }
	_ = json.Unmarshal(body, &req)
	turn := 0
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	s.mu.Lock()
	if turn >= len(s.turns) {
		s.bad = append(s.bad, string(body))
		s.mu.Unlock()
		http.Error(w, "too many turns", http.StatusUnprocessableEntity)
		return
	}
	s.calls[turn]++
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.turns[turn].ServeHTTP(w, r)
}

// count returns how often each turn was asked for, and fails for requests that no turn
// expects.
func (s *crashServer) count(t *testing.T, when string) [len(crashTurns)]int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bad) > 0 {
		t.Errorf("%s: the model was asked a fourth time: %s", when, s.bad)
		s.bad = nil
	}
	for _, one := range s.turns {
		if p := one.Problems(); len(p) > 0 {
			t.Fatalf("%s: the model was asked what no turn expects: %s", when, p)
		}
	}
	return s.calls
}

// crashLog is what the log of a thread states.
type crashLog struct {
	dir     string
	id      string                // "" if the log has no whole line
	answers [len(crashTurns)]bool // a turn has its answer
	started int                   // calls of tools
	results int                   // of tools
}

func (l *crashLab) threadLog(t *testing.T) (out crashLog) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "work-*", "transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for _, path := range logs { // a process that was killed before the first line leaves an empty log
		one, err := os.ReadFile(path)
		if err != nil || len(one) > 0 && b != nil {
			t.Fatal("more than one log", logs, err)
		}
		if len(one) > 0 {
			b, out.dir = one, filepath.Base(filepath.Dir(path))
		}
	}
	for raw := range bytes.Lines(b) {
		var line transcript.Line
		if json.Unmarshal(raw, &line) != nil {
			break // the last one was not written completely
		}
		out.id = out.dir
		var d struct {
			Turn int
			Ref  string
		}
		_ = json.Unmarshal(line.Data, &d)
		switch {
		case line.Event == "model_response":
			out.answers[d.Turn-1] = true
		case line.Event == "tool_call" && strings.HasPrefix(d.Ref, "tool:team/"):
			out.started++
		case line.Event == "tool_result" && strings.HasPrefix(d.Ref, "tool:team/"):
			out.results++
		}
	}
	return out
}

// effects returns how often a tool of the thread left its line.
func (l *crashLab) effects() int {
	b, _ := os.ReadFile(filepath.Join(l.dir, "effects")) // absent before the first
	return strings.Count(string(b), "effect\n")
}

// newTurnsLab has a directive that calls a model of the server and two tools, of which one
// may be repeated.
func newTurnsLab(t *testing.T, server http.Handler, idempotent string) *crashLab {
	t.Helper()
	l := newCrashLab(t)
	l.turns(server, idempotent)
	l.save()
	return l
}

func (l *crashLab) turns(server http.Handler, idempotent string) {
	l.t.Helper()
	h := httptest.NewServer(server)
	l.t.Cleanup(h.Close)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	l.write(".ai/directives/team/work.md", turnsDirective)
	l.write(".ai/tools/team/model.yaml", fmt.Sprintf(turnsModel, h.URL))
	for _, name := range []string{"once", "again"} {
		more := ""
		if name == idempotent {
			more = "\n# idempotent: true"
		}
		l.write(".ai/tools/team/"+name+".sh", fmt.Sprintf(crashEffect, more))
	}
	l.must("sign", "*")
	l.must("run", "rye/bash/bash", "command=true") // fills the cache
}

// TestThreadCrashPoints kills a thread of three turns at each change of a file that rye
// makes. The resumed thread returns what one without a kill returns. The server and the
// tools count: no call of the model and no tool whose result is in the log is made again,
// a tool that may not be repeated is started once, and the ledger has what the log states.
// RYE_CRASH=all makes every kill.
func TestThreadCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	t.Parallel()
	server := newCrashServer(t)
	l := newTurnsLab(t, server, "again")
	args := []string{"rye", "run", "directive", "team/work"}
	first, out := l.trace("", args, 0)
	if first.Status != 0 || !strings.Contains(out, `"label": "done"`) {
		t.Fatalf("without a kill: exit status %d\n%s", first.Status, out)
	}
	if calls := server.count(t, "without a kill"); calls != [...]int{1, 1, 1} || l.effects() != 3 {
		t.Fatalf("without a kill: calls %v, %d effects", calls, l.effects())
	}
	kills, resumed := 0, 0
	for _, n := range killsOf(t, first.Changes, 5) {
		l.restore()
		before := server.count(t, "before")
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		kills++
		if l.afterKill(t, server, before, fmt.Sprintf("killed at %d %s", n, got.Changes[len(got.Changes)-1])) {
			resumed++
		}
	}
	t.Logf("%d changes, %d kills, %d resumed", len(first.Changes), kills, resumed)
	if kills == 0 || resumed == 0 {
		t.Error("no thread was killed and resumed")
	}
}

// afterKill resumes the thread, or starts it again if its log has no line. It reports
// whether it resumed.
func (l *crashLab) afterKill(t *testing.T, server *crashServer, before [len(crashTurns)]int, when string) bool {
	t.Helper()
	atKill, log, effects := server.count(t, when), l.threadLog(t), l.effects()
	verb := []string{"run", "directive", "team/work"}
	if log.id != "" {
		verb = []string{"threads", "resume", log.id}
	}
	out, all, status := l.run(verb...)
	if log.id != "" && status == 1 && strings.Contains(all, "it is completed") {
		out, all, status = l.run("threads", "result", log.id) // the kill was after the last line
	}
	if status != 0 || !strings.Contains(out, `"label": "done"`) {
		t.Errorf("%s: %v: exit status %d\n%s", when, verb, status, all)
		return false
	}
	after := server.count(t, when)
	for turn := range after {
		more := 1
		if log.answers[turn] {
			more = 0
		}
		if after[turn]-atKill[turn] != more || after[turn]-before[turn] > 2 {
			t.Errorf("%s: turn %d was asked %d times before and %d times after", when, turn+1, atKill[turn]-before[turn], after[turn]-atKill[turn])
		}
	}
	l.onceEach(t, log, effects, when)
	l.must("threads", "verify")
	l.headsFit(t, when)
	l.ledgerFits(t, when)
	return log.id != ""
}

// onceEach fails if a tool whose result was in the log at the kill started again, or one
// that was in flight and whose item does not permit it. The second of the three does.
func (l *crashLab) onceEach(t *testing.T, log crashLog, effects int, when string) {
	t.Helper()
	want := 3 - log.started
	if log.started == 2 && log.results == 1 {
		want++
	}
	if more := l.effects() - effects; more != want {
		t.Errorf("%s: %d calls and %d results in the log, then %d effects instead of %d", when, log.started, log.results, more, want)
	}
}

// ledgerFits compares the ledger with the log.
func (l *crashLab) ledgerFits(t *testing.T, when string) {
	t.Helper()
	var cost struct {
		Data struct {
			Threads []struct {
				Actual, Reserved string
			}
		}
	}
	id := l.threadLog(t).id
	raw := l.must("threads", "cost", id, "--json")
	if err := json.Unmarshal([]byte(raw), &cost); err != nil || len(cost.Data.Threads) != 1 {
		t.Fatalf("%v\n%s", err, raw)
	}
	var shown struct {
		Data struct {
			State string
			Cost  struct{ Spend string }
		}
	}
	if err := json.Unmarshal([]byte(l.must("threads", "show", id, "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	c := cost.Data.Threads[0]
	if shown.Data.State != "completed" || c.Actual != shown.Data.Cost.Spend || c.Reserved != "0.00" {
		t.Errorf("%s: the ledger has %+v, the log %+v", when, c, shown.Data)
	}
}
