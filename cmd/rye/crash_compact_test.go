//go:build unix

package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/linediff"
)

// shortSummary is the summary of the older turns.
const shortSummary = "The pages before it were read."

// shortAnswers are the answers to the requests of a thread whose conversation becomes shorter
// twice: results become references, then a summary replaces the turns.
func shortAnswers() map[string]string {
	tooLong := `fault: {status: 400, type: invalid_request_error, message: "maximum context length is 4200 tokens"}`
	return map[string]string{
		"turn 0":    `send: {calls: [{id: c1, name: team__first}]}`,
		"turn 1":    `send: {calls: [{id: c2, name: team__second}]}`,
		"turn 2":    `send: {calls: [{id: c3, name: team__third}]}`,
		"refused 3": tooLong,
		"turn 3":    `send: {calls: [{id: c4, name: team__fourth}]}`,
		"refused 4": tooLong,
		"summary":   `send: {text: "` + shortSummary + `"}`,
		"last":      `send: {calls: [{id: c5, name: directive_return, input: {label: done}}]}`,
	}
}

// shortPages are the tools of the thread, with the number of lines that each prints.
func shortPages() map[string]int {
	return map[string]int{"first": 120, "second": 120, "third": 40, "fourth": 40}
}

func pageLine(page string, line int) string {
	return fmt.Sprintf("%s page line %d is read by the model", page, line)
}

// shortServer keeps the last request of the thread.
type shortServer struct {
	*namedServer
	last string // guarded by mu
}

var (
	threadIDs = regexp.MustCompile(`\b[a-z]+-[0-9a-z]{26}\b`)
	dates     = regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b`)
)

func newShortServer(t *testing.T) *shortServer {
	s := &shortServer{namedServer: newNamedServer(t, shortAnswers(), shortName)}
	s.received = func(name string, body []byte) {
		if name == "last" {
			s.last = dates.ReplaceAllString(threadIDs.ReplaceAllString(string(body), "ID"), "DATE")
		}
	}
	return s
}

// shortName returns the name of a request in shortAnswers.
func shortName(body []byte) string {
	turn := bytes.Count(body, []byte(`"role":"assistant"`))
	switch {
	case bytes.Contains(body, []byte("Summarize the conversation below")):
		return "summary"
	case bytes.Contains(body, []byte(shortSummary)), bytes.Contains(body, []byte("could not be summarized")):
		return "last"
	case turn == 4, turn == 3 && bytes.Contains(body, []byte(pageLine("first", 60))):
		return fmt.Sprintf("refused %d", turn)
	}
	return fmt.Sprintf("turn %d", turn)
}

func (s *shortServer) state() (calls map[string]int, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls), s.last
}

// shortFiles returns a directive and the tools that print its pages.
func shortFiles() map[string]string {
	files, tools := map[string]string{}, ""
	for _, page := range slices.Sorted(maps.Keys(shortPages())) {
		tools += "<tool>team/" + page + "</tool>"
		text := fmt.Sprintf(crashEffect, "\n# idempotent: true")
		for line := range shortPages()[page] {
			text += "echo '" + pageLine(page, line) + "'\n"
		}
		files[".ai/tools/team/"+page+".sh"] = text
	}
	files[".ai/directives/team/work.md"] = strings.Replace(turnsDirective, "<tool>team/once</tool><tool>team/again</tool>", tools, 1)
	return files
}

// newShortLab has a directive that calls a model of the server and four tools that print pages.
func newShortLab(t *testing.T, server http.Handler) *crashLab {
	t.Helper()
	l := newCrashLab(t)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	for name, text := range shortFiles() {
		l.write(name, text)
	}
	l.write(".ai/tools/team/model.yaml", fmt.Sprintf(turnsModel, h.URL))
	l.must("sign", "*")
	l.must("run", "rye/bash/bash", "command=true") // fills the cache
	l.save()
	return l
}

// TestCompactedCrashPoints kills a thread whose conversation becomes shorter twice at each
// change of a file that rye makes. The resumed thread ends with the same last request, so
// with every line of the newest turns; all that it does not read any more is in artifacts; no
// answer that a log has is asked for again; each request that the service got has its line,
// and the account is that of the logs. RYE_CRASH=all makes every kill.
func TestCompactedCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	t.Parallel()
	server := newShortServer(t)
	l := newShortLab(t, server)
	args := []string{"rye", "run", "directive", "team/work"}
	first, out := l.trace("", args, 0)
	calls, want := server.state()
	once := maps.Clone(calls)
	for name := range shortAnswers() {
		if once[name] != 1 {
			t.Errorf("without a kill: %q was asked for %d times", name, once[name])
		}
	}
	if first.Status != 0 || !strings.Contains(out, `"label": "done"`) || t.Failed() {
		t.Fatalf("without a kill: exit status %d\n%s", first.Status, out)
	}
	for page, lines := range shortPages() {
		for line := range lines {
			if newest := page == "fourth"; strings.Contains(want, pageLine(page, line)) != newest {
				t.Fatalf("without a kill: that the last request has %q is not %t", pageLine(page, line), newest)
			}
		}
	}
	l.pagesKept(t, "without a kill")
	start, every := killsAt(t, len(first.Changes), 8)
	kills, resumed := 0, 0
	for n := start; n <= len(first.Changes); n += every {
		l.restore()
		before, _ := server.state()
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		kills++
		if l.shortAfterKill(t, server, before, want, fmt.Sprintf("killed at %d %s", n, got.Changes[len(got.Changes)-1])) {
			resumed++
		}
	}
	t.Logf("%d changes, %d kills, %d resumed", len(first.Changes), kills, resumed)
	if kills == 0 || resumed == 0 {
		t.Error("no thread was killed and resumed")
	}
}

// shortLogs returns the thread whose log has a line, which answers the logs have, and the
// requests that they state.
func (l *crashLab) shortLogs(t *testing.T) (id string, answered map[string]bool, requests int) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "*", "transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	answered = map[string]bool{}
	marks := map[string]string{"summary": shortSummary, "last": "directive_return"}
	for name, call := range map[string]string{"turn 0": "c1", "turn 1": "c2", "turn 2": "c3", "turn 3": "c4"} {
		marks[name] = `"id":"` + call + `"`
	}
	for _, path := range logs {
		b := l.read(path)
		if name := filepath.Base(filepath.Dir(path)); strings.HasPrefix(name, "work-") && bytes.IndexByte(b, '\n') >= 0 {
			id = name
		}
		for line := range bytes.Lines(b) {
			switch {
			case !bytes.HasSuffix(line, []byte("\n")):
			case bytes.Contains(line, []byte(`"event":"model_request"`)):
				requests++
			case bytes.Contains(line, []byte(`"event":"model_response"`)):
				for name, text := range marks {
					answered[name] = answered[name] || bytes.Contains(line, []byte(text))
				}
			}
		}
	}
	return id, answered, requests
}

// shortAfterKill resumes the thread, or starts it again if its log has no line. It reports
// whether it resumed.
func (l *crashLab) shortAfterKill(t *testing.T, server *shortServer, before map[string]int, want, when string) bool {
	t.Helper()
	id, answered, _ := l.shortLogs(t)
	atKill, _ := server.state()
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
		return false
	}
	after, last := server.state()
	received := 0
	for name, n := range after {
		received += n - before[name]
		if answered[name] && n > atKill[name] || n-before[name] > 2 {
			t.Errorf("%s: %s was asked for %d times before and %d times after", when, name, atKill[name]-before[name], n-atKill[name])
		}
	}
	if last != want {
		at := sameBeginning([]byte(last), []byte(want))
		t.Errorf("%s: the last request differs from byte %d: %.300q, want %.300q\n%s", when, at, last[at:], want[at:], all)
	}
	// The process is killed before the line of a request, between the line and the request, or after it.
	if _, _, requests := l.shortLogs(t); received > requests || requests > received+1 {
		t.Errorf("%s: the service got %d requests, the logs have %d", when, received, requests)
	}
	l.pagesKept(t, when)
	l.must("threads", "verify")
	l.must("threads", "list") // settles the account of a process that was killed after the last line
	ledger := l.beginning(t, l.must("threads", "rebuild", "--dump"), when)
	for _, path := range must(filepath.Glob(filepath.Join(l.home, "state", "rye", "threads", "store.db*"))) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	l.must("threads", "rebuild")
	if logs := l.must("threads", "rebuild", "--dump"); logs != ledger {
		t.Errorf("%s: the account differs from the logs:\n%s", when, linediff.Unified("account", "logs", []byte(ledger), []byte(logs)))
	}
	return id != ""
}

// beginning returns the account without the root thread whose process was killed before the first
// line of its log, which no log can have. It has spent nothing and asks nothing.
func (l *crashLab) beginning(t *testing.T, ledger, when string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(ledger) {
		m := regexp.MustCompile(`^\{"(?:thread|account|handle)":"(work-[^"]+)"`).FindStringSubmatch(line)
		var log []byte
		if m != nil {
			log, _ = os.ReadFile(filepath.Join(l.dir, ".ai", "threads", m[1], "transcript.jsonl")) // may be absent
		}
		if m == nil || bytes.IndexByte(log, '\n') >= 0 {
			lines = append(lines, line)
		} else if !regexp.MustCompile(`"state":"error","reason":"orphaned"|"actual":0,"reserved":0,|"name":"","waiting":""`).MatchString(line) {
			t.Errorf("%s: a thread that did not begin: %s", when, line)
		}
	}
	return strings.Join(lines, "")
}

// pagesKept fails if a line that the last request does not have is in no artifact.
func (l *crashLab) pagesKept(t *testing.T, when string) {
	t.Helper()
	var all []byte
	for _, path := range must(filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "work-*", "artifacts", "*"))) {
		all = append(all, l.read(path)...)
	}
	for _, page := range []string{"first", "second", "third"} {
		for line := range shortPages()[page] {
			if !bytes.Contains(all, []byte(pageLine(page, line))) {
				t.Errorf("%s: %q is in no artifact", when, pageLine(page, line))
				return
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
