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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/internal/testing/bench/rulemodel"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/provider/scripted"
	"github.com/ryeos/rye/threads/transcript"
)

// The long thread reads one part in each turn, in a window that is full after some of them.
const (
	longWindow    = 12000
	longLines     = 55   // of a part
	longTailRatio = 0.25 // compaction.tail_ratio as shipped
)

const longDirective = "# Read\n\n```xml\n" + `<directive name="read" version="1.0.0">
  <metadata>
    <description>Reads all parts.</description>
    <category>team</category>
    <author>ada</author>
    <model tier="general" provider="team/model"/>
    <limits turns="400" tokens="4000000" spend="5.00"/>
    <permissions><execute><tool>rye/file-system/read</tool></execute></permissions>
  </metadata>
  <outputs><output name="label" type="string" required="true">The end.</output></outputs>
</directive>
` + "```\n\nRead the parts.\n"

// longLine is a line of a part. No other text has its beginning.
func longLine(part, line int) string {
	return fmt.Sprintf("line %03d-%02d of the log book: the wind turned and the ships waited", part, line)
}

var partRead = regexp.MustCompile(`part-([0-9]{3})\.txt`)

// longModel reads the part after the last one that its request names, whatever became of the
// conversation before it.
type longModel struct {
	*rulemodel.Model
	mu       sync.Mutex
	requests [][]byte // without those for summaries
	others   int
}

func newLongModel(parts int) *longModel {
	newest := func(r *rulemodel.Request) (n int) {
		for _, m := range partRead.FindAllSubmatch(r.Body, -1) {
			at, _ := strconv.Atoi(string(m[1])) // digits
			n = max(n, at)
		}
		return n
	}
	return &longModel{Model: rulemodel.New(scripted.Chat,
		rulemodel.Marked{Marker: "Summarize the conversation below", Rule: func(r *rulemodel.Request) scripted.Send {
			return scripted.Send{Text: fmt.Sprintf("All parts up to part-%03d.txt were read.", newest(r))}
		}},
		rulemodel.Marked{Rule: func(r *rulemodel.Request) scripted.Send {
			n := newest(r)
			if n == parts {
				return r.Do(scripted.Call{Name: "directive_return", Input: map[string]any{"label": "read"}})
			}
			c := r.Do(r.Use("rye/file-system/read", map[string]any{"file_path": fmt.Sprintf("parts/part-%03d.txt", n+1)}))
			c.Calls[0].ID = fmt.Sprintf("call_%d", n+1)
			return c
		}})}
}

func (m *longModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	if bytes.Contains(body, []byte("Summarize the conversation below")) {
		m.others++
	} else {
		m.requests = append(m.requests, body)
	}
	m.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.Model.ServeHTTP(w, r)
}

// TestLongThread runs a thread of 60 turns, or RYE_TURNS of them, whose conversation becomes
// shorter several times. The requests do not grow after the first time, each begins with the
// one before it, each has every line of the newest turns that compaction.tail_ratio promises,
// no line that was read is lost, and each call is paid once.
func TestLongThread(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many turns")
	}
	t.Parallel()
	turns := 60
	if text := os.Getenv("RYE_TURNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 40 || n > 399 {
			t.Fatalf("RYE_TURNS=%s is not a number from 40 to 399", text)
		}
		turns = n
	}
	parts := turns - 1 // the last turn returns
	l, model := newLab(t), newLongModel(parts)
	h := httptest.NewServer(model)
	t.Cleanup(h.Close)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	l.write(".ai/directives/team/read.md", longDirective)
	item := fmt.Sprintf(turnsModel, h.URL)
	for old, with := range map[string]string{
		"tiers: {general: scripted}": "tiers: {general: scripted, fast: scripted}",
		"window: 40000":              fmt.Sprintf("window: %d", longWindow),
		"max_output: 2000":           "max_output: 500",
		`{input: "1", output: "2"}`:  `{input: "1", cache_read: "0.1", output: "4"}`,
	} {
		if !strings.Contains(item, old) {
			t.Fatalf("the item has no %q", old)
		}
		item = strings.Replace(item, old, with, 1)
	}
	l.write(".ai/tools/team/model.yaml", item)
	for part := 1; part <= parts; part++ {
		var text strings.Builder
		for line := range longLines {
			fmt.Fprintln(&text, longLine(part, line))
		}
		l.write(fmt.Sprintf("parts/part-%03d.txt", part), text.String())
	}
	l.must("sign", "*")
	if out := l.must("run", "directive", "team/read"); !strings.Contains(out, `"label": "read"`) {
		t.Fatalf("the thread returned %s", out)
	}
	if p := model.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	if len(model.requests) != turns {
		t.Fatalf("%d requests, want %d", len(model.requests), turns)
	}
	id, shorter := l.longLog(t)
	grow(t, model.requests, shorter)
	begin(t, model.requests, shorter)
	tails(t, model.requests)
	l.noLineLost(t, id, parts, model.requests[turns-1])
	l.paidOnce(t, id, model)
}

// longLog returns the id of the thread, and for each request whether the conversation became
// shorter before it.
func (l *lab) longLog(t *testing.T) (id string, shorter []bool) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", "read-*", "transcript.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	kinds := map[string]int{}
	short := false
	for raw := range bytes.Lines(l.read(logs[0])) {
		var line transcript.Line
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		switch line.Event {
		case "model_request":
			shorter = append(shorter, short)
			short = false
		case "context_compacted":
			short = true
			var d struct{ Step string }
			if err := json.Unmarshal(line.Data, &d); err != nil {
				t.Fatal(err)
			}
			kinds[d.Step]++
		}
	}
	t.Logf("%d requests; the conversation became shorter: %v", len(shorter), kinds)
	if kinds["references"] < 2 || kinds["summary"] < 1 {
		t.Errorf("the conversation became shorter too seldom: %v", kinds)
	}
	return filepath.Base(filepath.Dir(logs[0])), shorter
}

// grow fails if the newest quarter of the requests is longer than the first quarter after
// the conversation became shorter, by more than a tenth.
func grow(t *testing.T, requests [][]byte, shorter []bool) {
	t.Helper()
	sizes, rising := make([]int, len(requests)), make([]int, len(requests))
	for i, body := range requests {
		sizes[i] = len(body)
		rising[i] = len(body) * (100 + i) / 100 // a hundredth of the conversation more in each turn
	}
	first := slices.Index(shorter, true)
	if first < 0 || first+len(sizes)/2 > len(sizes) {
		t.Fatalf("the conversation became shorter before request %d of %d", first+1, len(sizes))
	}
	early, late := quarters(sizes[first:], len(sizes)/4)
	t.Logf("requests from %d on have %.0f bytes, the last quarter has %.0f", first+1, early, late)
	if late > 1.1*early {
		t.Errorf("requests grow: %.0f bytes after the first time, %.0f at the end", early, late)
	}
	if early, late = quarters(rising[first:], len(sizes)/4); late <= 1.1*early {
		t.Errorf("the bound accepts requests that grow from %.0f to %.0f bytes", early, late)
	}
}

// quarters returns the means of the first and of the last n sizes.
func quarters(sizes []int, n int) (early, late float64) {
	for i := range n {
		early += float64(sizes[i])
		late += float64(sizes[len(sizes)-1-i])
	}
	return early / float64(n), late / float64(n)
}

// begin fails if a request does not begin with the one before it, except where the
// conversation became shorter.
func begin(t *testing.T, requests [][]byte, shorter []bool) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		share := float64(sameBeginning(requests[i-1], requests[i])) / float64(len(requests[i-1]))
		if !shorter[i] && share < 0.98 {
			t.Errorf("request %d has %.3f of the one before as its beginning", i+1, share)
		}
	}
}

// tails fails if a request lacks a line of the newest turns, which stay as they are: so many
// turns as fill the promised part of the window, and always the newest one.
func tails(t *testing.T, requests [][]byte) {
	t.Helper()
	// The size of a turn, with its call and the form of the message, in tokens of four bytes.
	turn := (longLines*(len(longLine(1, 1))+2) + 400) / 4
	keep := max(1, int(longTailRatio*longWindow)/turn)
	if keep < 2 {
		t.Fatalf("the tail has %d turns, so it shows little", keep)
	}
	for i, body := range requests {
		for part := max(1, i-keep+1); part <= i; part++ {
			for line := range longLines {
				if text := longLine(part, line); !bytes.Contains(body, []byte(text)) {
					t.Errorf("request %d lacks %q of turn %d", i+1, text, part)
					break
				}
			}
		}
	}
}

// noLineLost fails if a line that was read is not in the last request and in no artifact of
// the thread.
func (l *lab) noLineLost(t *testing.T, id string, parts int, last []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, ".ai", "threads", id, "artifacts", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := bytes.Clone(last)
	for _, path := range files {
		all = append(all, l.read(path)...)
	}
	for part := 1; part <= parts; part++ {
		for line := range longLines {
			if text := longLine(part, line); !bytes.Contains(all, []byte(text)) {
				t.Errorf("%q is lost", text)
			}
		}
	}
}

// paidOnce compares what the thread and its summaries cost with what the service counted.
func (l *lab) paidOnce(t *testing.T, id string, model *longModel) {
	t.Helper()
	var cost struct {
		Data struct {
			Total struct {
				Calls            int
				Actual, Reserved string
			}
		}
	}
	if err := json.Unmarshal([]byte(l.must("threads", "cost", id, "--tree", "--json")), &cost); err != nil {
		t.Fatal(err)
	}
	s := model.Stats()
	want := policy.USD(1000*(s.Input-s.Cached) + 100*s.Cached + 4000*s.Output) // billionths, by the prices for a million tokens
	if got := cost.Data.Total; got.Calls != s.Requests || got.Actual != want.String() || got.Reserved != "0.00" {
		t.Errorf("the account has %+v, the service counted %d calls for %s", got, s.Requests, want)
	}
	if model.others == 0 || s.Requests != len(model.requests)+model.others {
		t.Errorf("%d requests, %d of the thread and %d for summaries", s.Requests, len(model.requests), model.others)
	}
}
