//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chainAnswers are the answers to the requests of a chain of two threads: the first turn, a
// request that is too long, the summary, and the turn of the thread that goes on.
func chainAnswers() map[string]string {
	return map[string]string{
		"first":    `send: {text: "First. ", calls: [{name: team__once}]}`,
		"too long": `fault: {status: 400, type: invalid_request_error, message: "maximum context length is 40000 tokens"}`,
		"summary":  `send: {text: "The effect is made."}`,
		"next":     `send: {calls: [{name: directive_return, input: {label: done}}]}`,
	}
}

func newChainServer(t *testing.T) *namedServer {
	return newNamedServer(t, chainAnswers(), func(body []byte) string {
		switch {
		case bytes.Contains(body, []byte("Summarize the conversation below")):
			return "summary"
		case bytes.Contains(body, []byte("The effect is made.")):
			return "next"
		case bytes.Contains(body, []byte(`"role":"tool"`)):
			return "too long"
		}
		return "first"
	})
}

// chainLogs returns the id of the first thread whose log has a line, and which answers the
// logs have.
func (l *crashLab) chainLogs(t *testing.T) (first string, answered map[string]bool) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "*", "transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	answered = map[string]bool{}
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		id := filepath.Base(filepath.Dir(path))
		started, _, whole := bytes.Cut(b, []byte("\n"))
		if whole && strings.HasPrefix(id, "work-") && !bytes.Contains(started, []byte(`"carried":`)) {
			first = id
		}
		for line := range bytes.Lines(b) {
			if !bytes.HasSuffix(line, []byte("\n")) || !bytes.Contains(line, []byte(`"event":"model_response"`)) {
				continue
			}
			for name, text := range map[string]string{"first": "First. ", "summary": "The effect is made.", "next": "directive_return"} {
				answered[name] = answered[name] || bytes.Contains(line, []byte(text))
			}
		}
	}
	return first, answered
}

// TestContinuedCrashPoints kills a thread that another one continues at each change of a
// file that rye makes. Resuming the first thread returns what a chain without a kill
// returns: no answer that a log has is asked for again, the tool runs once, and the account
// of the chain has what the logs state. RYE_CRASH=all makes every kill.
func TestContinuedCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	t.Parallel()
	server := newChainServer(t)
	l := newTurnsLab(t, server, "once")
	args := []string{"rye", "run", "directive", "team/work"}
	first, out := l.trace("", args, 0)
	if want := map[string]int{"first": 1, "too long": 1, "summary": 1, "next": 1}; first.Status != 0 || !strings.Contains(out, `"label": "done"`) || !maps.Equal(server.count(), want) {
		t.Fatalf("without a kill: exit status %d, calls %v\n%s", first.Status, server.count(), out)
	}
	start, every := killsAt(t, len(first.Changes), 8)
	kills := 0
	for n := start; n <= len(first.Changes); n += every {
		l.restore()
		before := server.count()
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		kills++
		l.chainAfterKill(t, server, before, fmt.Sprintf("killed at %d %s", n, got.Changes[len(got.Changes)-1]))
	}
	t.Logf("%d changes, %d kills", len(first.Changes), kills)
	if kills == 0 {
		t.Error("no thread was killed")
	}
}

func (l *crashLab) chainAfterKill(t *testing.T, server *namedServer, before map[string]int, when string) {
	t.Helper()
	id, answered := l.chainLogs(t)
	atKill := server.count()
	verb := []string{"run", "directive", "team/work"}
	if id != "" {
		verb = []string{"threads", "resume", id}
	}
	out, all, status := l.run(verb...)
	if id != "" && status == 1 && strings.Contains(all, "it is completed") {
		out, all, status = l.run("threads", "result", id) // the kill was after the last line
	}
	if status != 0 || !strings.Contains(out, `"label": "done"`) {
		t.Errorf("%s: %v: exit status %d\n%s", when, verb, status, all)
		return
	}
	after := server.count()
	for name, n := range after {
		if answered[name] && n > atKill[name] || n-before[name] > 2 {
			t.Errorf("%s: %s was asked for %d times before and %d times after", when, name, atKill[name]-before[name], n-atKill[name])
		}
	}
	if n := l.effects(); n < 1 || n > 2 || n == 2 && answered["summary"] {
		t.Errorf("%s: %d effects", when, n)
	}
	l.must("threads", "verify")
	l.chainFits(t, when)
}

// chainFits compares the account of the chain with the logs.
func (l *crashLab) chainFits(t *testing.T, when string) {
	t.Helper()
	id, _ := l.chainLogs(t)
	var cost struct {
		Data struct {
			Threads []struct{ Actual, Reserved, State string }
		}
	}
	var chain struct {
		Data struct {
			Chain []struct {
				State string
				Cost  struct{ Spend string }
			}
		}
	}
	l.must("threads", "list") // settles the account of a process that was killed after the last line
	for v, args := range map[any][]string{&cost: {"threads", "cost", id, "--json"}, &chain: {"threads", "chain", id, "--json"}} {
		if err := json.Unmarshal([]byte(l.must(args...)), v); err != nil {
			t.Fatal(err)
		}
	}
	if len(cost.Data.Threads) != 1 || len(chain.Data.Chain) != 2 {
		t.Fatalf("%s: %+v %+v", when, cost, chain)
	}
	account, last := cost.Data.Threads[0], chain.Data.Chain[1]
	if account.State != "completed" || account.Reserved != "0.00" || last.State != "completed" || account.Actual != last.Cost.Spend || chain.Data.Chain[0].State != "continued" {
		t.Errorf("%s: the ledger has %+v, the logs %+v", when, account, chain.Data.Chain)
	}
}
