package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/provider/scripted"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// turnsDirective has three turns.
const turnsDirective = "# Work\n\n```xml\n" + `<directive name="work" version="1.0.0">
  <metadata>
    <description>Three turns.</description>
    <category>team</category>
    <author>ada</author>
    <model tier="general" provider="team/model"/>
    <limits turns="9" tokens="50000" spend="0.50"/>
    <permissions><execute><tool>team/once</tool><tool>team/again</tool></execute></permissions>
  </metadata>
  <outputs><output name="label" type="string" required="true">The end.</output></outputs>
</directive>
` + "```\n\nDo it.\n"

// turnsModel is a provider item for a server of a test.
const turnsModel = `version: "1.0.0"
tool_type: provider
executor_id: rye/core/primitives/http_client
category: team
description: A scripted model.
config:
  method: POST
  url: "%s/v1/chat/completions"
  body: "{request}"
  mode: stream
  framing: sse
  sinks: ["null"]
  allow_private: ["127.0.0.0/8"]
  timeout: 60
provider:
  dialect: openai_chat
  tiers: {general: scripted}
  tools: {mode: native}
  body: {add: {stream_options: {include_usage: true}}}
  models:
    scripted: {window: 40000, max_output: 2000, input: [text], prices: {input: "1", output: "2"}}
`

// watched is what ledger-watch prints.
type watched struct {
	Reads   int               `json:"reads"`
	Largest map[string]string `json:"largest"` // of actual and reserved, by the thread or the day
	Over    []string          `json:"over"`    // what passed its maximum
}

// ledgerWatch is a program that reads the ledger of a state directory every millisecond
// until its input ends: ledger-watch STATE PROJECT PER_DAY
func ledgerWatch() {
	w, err := watchLedger(context.Background(), os.Args[1], os.Args[2], os.Args[3])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(w)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func watchLedger(ctx context.Context, state, project, perDay string) (*watched, error) {
	day, err := policy.ParseUSD(perDay)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Dir(state), store.Params{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var ended atomic.Bool
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); ended.Store(true) }()
	fmt.Println("ready")
	w := &watched{Largest: map[string]string{}}
	most := map[string]policy.USD{}
	over := map[string]bool{}
	see := func(name string, sum, limit policy.USD) {
		if sum >= most[name] {
			most[name], w.Largest[name] = sum, sum.String()
		}
		if sum > limit && !over[name] {
			over[name] = true
			w.Over = append(w.Over, fmt.Sprintf("%s: %s of %s", name, sum, limit))
		}
	}
	for last := false; !last; time.Sleep(time.Millisecond) {
		last = ended.Load() // one more read after the end
		costs, err := s.Costs(ctx, project)
		if err != nil {
			return nil, err
		}
		periods, err := s.Periods(ctx, policy.Periods{PerDay: day, PerMonth: 1 << 60, WarnAt: 1})
		if err != nil {
			return nil, err
		}
		for _, c := range costs {
			see(c.Thread, c.Actual+c.Reserved, c.Max)
		}
		for _, p := range periods {
			see(p.Scope, p.Actual+p.Reserved, p.Max)
		}
		w.Reads++
	}
	return w, nil
}

// dearServer bills for each call all that the thread has reserved for it, which it reads
// in the log of the thread, and more output tokens if asked to.
type dearServer struct {
	t    *testing.T
	l    *lab
	more int64

	mu     sync.Mutex
	calls  map[string]int64 // by the mark of the thread
	billed policy.USD       // for all calls
}

func (s *dearServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	mark := "mark-a"
	if bytes.Contains(body, []byte("mark-b")) {
		mark = "mark-b"
	}
	reserved, output, err := s.reserved(mark)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.calls[mark]++
	n := s.calls[mark]
	s.billed += reserved + policy.USD(2000*s.more)
	s.mu.Unlock()
	// $1 and $2 for a million tokens: 1,000 and 2,000 nano-USD for each.
	usage := scripted.Usage{Input: (int64(reserved) - 2000*output) / 1000, Output: output + s.more}
	read := scripted.Call{Name: "rye__file-system__read", Input: map[string]any{"file_path": fmt.Sprintf("f%d.md", n)}}
	m := &scripted.Server{Scenario: &scripted.Scenario{Dialect: scripted.Chat, Steps: []scripted.Step{{Send: scripted.Send{Calls: []scripted.Call{read}, Usage: usage}}}}}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.ServeHTTP(w, r)
}

// reserved returns the reservation of the request that is open in the log of the thread
// with a mark, and its maximum of output tokens.
func (s *dearServer) reserved(mark string) (amount policy.USD, output int64, err error) {
	logs, _ := filepath.Glob(filepath.Join(s.l.dir, ".ai", "threads", "*", "transcript.jsonl"))
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(mark)) {
			continue
		}
		for raw := range bytes.Lines(b) {
			var line transcript.Line
			var d struct {
				Reserved policy.USD `json:"reserved"`
				Output   int64      `json:"max_output"`
			}
			if json.Unmarshal(raw, &line) == nil && line.Event == "model_request" && line.Decode(&d) == nil {
				amount, output = d.Reserved, d.Output
			}
		}
	}
	if amount == 0 {
		err = fmt.Errorf("the request of %s is not in a log before it is sent: %v", mark, logs)
	}
	return amount, output, err
}

// dearLab is a project whose directive reads files until its money is used up.
func dearLab(t *testing.T, more int64) (*lab, *dearServer) {
	t.Helper()
	l := newLab(t)
	s := &dearServer{t: t, l: l, more: more, calls: map[string]int64{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	directive := strings.NewReplacer(`turns="9" tokens="50000" spend="0.50"`, `turns="90" tokens="50000000" spend="0.04"`,
		"<tool>team/once</tool><tool>team/again</tool>", "<tool>rye/file-system/read</tool>",
		"<outputs>", `<inputs><input name="mark" type="string" required="true">A mark.</input></inputs><outputs>`, "Do it.", "Read {input:mark}.").Replace(turnsDirective)
	l.write(".ai/directives/team/work.md", directive)
	l.write(".ai/tools/team/model.yaml", strings.Replace(fmt.Sprintf(turnsModel, h.URL), "window: 40000", "window: 4000000", 1))
	l.write(".ai/config/agent/allowance.yaml", "schema_version: \"1.0.0\"\nspend: {per_day: \"0.07\"}\n")
	for n := range 20 {
		l.write(fmt.Sprintf("f%d.md", n), fmt.Sprintf("File %d.\n", n))
	}
	l.must("sign", "*")
	l.must("threads", "cost", "--user")
	return l, s
}

// observed runs the directive once for each mark, all at the same time, while another
// process reads the ledger every millisecond.
func (l *lab) observed(marks ...string) (w watched) {
	l.t.Helper()
	program, err := exec.LookPath("ledger-watch")
	if err != nil {
		l.t.Fatal(err)
	}
	watch := exec.Command(program, filepath.Join(l.home, "state", "rye"), l.dir, "0.07")
	watch.Env = l.env()
	var said bytes.Buffer
	watch.Stderr = &said
	in, err := watch.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := watch.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		l.t.Fatal(err)
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil {
		l.t.Fatalf("%v: %s", err, said.String())
	}
	var wg sync.WaitGroup
	for _, mark := range marks {
		wg.Go(func() {
			if _, all, status := l.run("run", "directive", "team/work", "mark="+mark); status != 11 {
				l.t.Errorf("%s: exit status %d\n%s", mark, status, all)
			}
		})
	}
	wg.Wait()
	in.Close()
	if err := json.NewDecoder(out).Decode(&w); err != nil {
		l.t.Errorf("%v: %s", err, said.String())
	}
	if err := watch.Wait(); err != nil {
		l.t.Errorf("%v: %s", err, said.String())
	}
	return w
}

// TestLedgerWatched makes two threads compete for the money of a day, with a service that
// bills the whole reservation of each call. Another process that reads the ledger every
// millisecond never finds more spent and reserved than the maximum of a thread or the day.
func TestLedgerWatched(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some processes")
	}
	t.Parallel()
	l, s := dearLab(t, 0)
	sameDay()
	w := l.observed("mark-a", "mark-b")
	if len(w.Over) > 0 {
		t.Errorf("passed the maximum: %v", w.Over)
	}
	// How much of the day's money is left when both threads end depends on which of them
	// made the last calls. The reader has seen at least what the service billed in all.
	most, err := policy.ParseUSD(w.Largest["day"])
	if err != nil || most < s.billed || s.billed < 35_000_000 || len(w.Largest) != 4 || w.Reads < 10 {
		t.Errorf("the reader saw little: %+v, %v, billed %s", w, err, s.billed)
	}
	if s.calls["mark-a"] < 2 || s.calls["mark-b"] < 2 {
		t.Errorf("calls: %v", s.calls)
	}
	t.Logf("%d reads, %v, calls %v", w.Reads, w.Largest, s.calls)
}

// TestLedgerOverspent shows that the reader of TestLedgerWatched finds what it looks for:
// a service that bills more than it could by its prices.
func TestLedgerOverspent(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some processes")
	}
	t.Parallel()
	l, s := dearLab(t, 30_000)
	if w := l.observed("mark-a"); len(w.Over) == 0 {
		t.Errorf("an overspent thread was not found: %+v", w)
	}
	if s.calls["mark-a"] != 1 {
		t.Errorf("%d calls, the first one of which cost more than was reserved", s.calls["mark-a"])
	}
}
