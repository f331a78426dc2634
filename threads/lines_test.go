package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// lineKinds has the data of each line that a thread writes. Lines whose data have no type are
// those of steps and of maps of the kernel.
func lineKinds() map[string]any {
	return map[string]any{
		evStarted: &startedData{}, evPrompt: &Prompt{}, evAdded: &addedData{}, evRequest: &requestData{}, evDelta: &deltaData{},
		evResponse: &responseData{}, evError: &errorData{}, evSwitched: &switchedData{}, evCall: &callData{}, evDenied: &deniedData{},
		evAsked: &askedData{}, evAnswered: &answeredData{}, evResult: &resultData{}, evContinued: &continuedData{},
		evCompacted: &compactedData{}, evSuspended: &suspendedData{}, evResumed: &resumedData{},
		evCompleted: &endData{}, evFailed: &endData{}, evCancelled: &endData{}, evKilled: &endData{},
		evTurn: nil, evOutput: nil, evReturn: nil, evLimit: nil, "hook_run": nil, "control": nil, "budget_warning": nil, "watchdog": nil,
		"context_pressure": nil, "context_limit": nil, "inbox": nil, "observation": nil,
		"session_named": nil, "message_awaited": nil, // of package converse
		// Lines of versions before this one.
		"child_started": nil, "child_finished": nil,
	}
}

// TestLineKinds checks that lineKinds has every event that is not one of a graph, and every
// event that the source of this package names.
func TestLineKinds(t *testing.T) {
	kinds := lineKinds()
	for _, m := range shippedReader(t, "config/agent/events.yaml").Maps("events") {
		id, source := m.Text("id"), m.Text("source")
		if _, ok := kinds[id]; !ok && source != "graph" && id != transcript.EventCheckpoint {
			t.Errorf("no test writes and reads the line %q", id)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	named := regexp.MustCompile(`(?m)^\tev[A-Z]\w*\s*= "(\w+)"|\.(?:record|Commit|Append|Rest)\([^"\n]*, "(\w+)"`)
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(b), -1) {
			n++
			if _, ok := kinds[m[1]+m[2]]; !ok {
				t.Errorf("%s: no test writes and reads the line %q", name, m[1]+m[2])
			}
		}
	}
	if n < 25 {
		t.Errorf("the source names %d events", n)
	}
}

// TestLogWriters: who opens a log for writing is in a package whose lines are listed: here, and
// in exec/graph.
func TestLogWriters(t *testing.T) {
	writers := map[string]bool{}
	opens := regexp.MustCompile(`transcript\.(Create|Open)\(`)
	root := ".."
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && opens.Match(b) {
			writers[filepath.ToSlash(filepath.Dir(path))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"../threads": true, "../exec/graph": true}; !reflect.DeepEqual(writers, want) {
		t.Errorf("logs are written by %v, their lines are tested in %v", writers, want)
	}
}

// lineForms are the types of the data that have a form of their own.
func lineForms(r *rand.Rand, text func() string) map[reflect.Type]func() any {
	return map[reflect.Type]func() any{
		reflect.TypeFor[item.Digest](): func() any { return item.DigestOf([]byte(text())) },
		reflect.TypeFor[policy.USD]():  func() any { return policy.USD(r.Int64N(1e15)) },
		reflect.TypeFor[policy.Tier](): func() any { return policy.Tier(1) },
		reflect.TypeFor[diag.Failure](): func() any {
			return diag.Failure{Code: diag.Internal, Message: text(), Details: testkit.HostileObject(r, 2)}
		},
		reflect.TypeFor[policy.Profile]():  func() any { return policy.Profile{} },
		reflect.TypeFor[message.Block]():   func() any { return hostileBlocks(r, text)[r.IntN(6)] },
		reflect.TypeFor[json.RawMessage](): func() any { return json.RawMessage(`{"type":"object"}`) },
	}
}

// hostileBlocks returns a block of each type as a log has it.
func hostileBlocks(r *rand.Rand, text func() string) []message.Block {
	input, _ := jsonx.Marshal(testkit.HostileObject(r, 3)) // a value that was read
	return message.Canonical([]message.Block{
		message.TextBlock(text()),
		{Type: message.ToolCall, ID: text(), Name: text(), Input: input},
		{Type: message.ToolCall, ID: text(), Name: text(), InvalidInput: `{"n":1,"n":"\ud800"` + text()},
		{Type: message.Reasoning, Dialect: text(), Model: text(), Raw: []byte(text())},
		{Type: message.Image, MediaType: "image/png", Name: text(), Artifact: text(), Bytes: 3},
		{Type: message.ToolResult, CallID: text(), Content: []message.Block{message.TextBlock(text())}, IsError: true},
	})
}

// TestHostileLines writes each kind of line with hostile values in every field and reads it:
// as the data that were written, also when its reader has read and written them again.
func TestHostileLines(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for _, event := range slices.Sorted(maps.Keys(lineKinds())) {
		t.Run(event, func(t *testing.T) {
			l, random := newLineLab(t), rand.New(rand.NewPCG(1, uint64(len(event))))
			for range rounds {
				l.write(event, random, func() string { return testkit.HostileText(random) }, func() any { return testkit.HostileValue(random, 3) })
			}
			// A value that is too large for a line, in each field, and one that is nested deep.
			large := strings.Repeat("\x00\u202e\xff é", 30_000)
			some := func() string {
				if random.IntN(3) > 0 {
					return "x"
				}
				return large
			}
			if !testing.Short() {
				l.write(event, random, some, func() any { return some() })
			}
			l.write(event, random, func() string { return "x" }, func() any { return testkit.Deep(2000) })
			l.compare()
		})
	}
}

// TestLargestLines writes values of 20 MB, which are artifacts, and values that are nested deeper than
// a reader of JSON follows, which are refused: the log stays as it was.
func TestLargestLines(t *testing.T) {
	if testing.Short() {
		t.Skip("writes large values")
	}
	l := newLineLab(t)
	large := strings.Repeat("a\x00\xff\u2028"+strings.Repeat("The text is long. ", 60), 18_500)
	random := rand.New(rand.NewPCG(1, 2))
	for _, event := range []string{evCall, "hook_run"} {
		values := []any{large} // of the first field that can have one
		l.write(event, random, func() string { return "x" }, func() any {
			if len(values) == 0 {
				return "x"
			}
			v := values[0]
			values = nil
			return v
		})
	}
	l.add(evResult, &resultData{Content: []message.Block{message.TextBlock(strings.ToValidUTF8(large, "\ufffd"))}})
	before := l.thread.log.Seq()
	for _, levels := range []int{9_999, 10_000, 100_000} {
		if err := l.thread.record(t.Context(), false, evCall, callData{Input: testkit.Deep(levels)}); err == nil {
			t.Errorf("%d levels are written", levels)
		}
	}
	if l.thread.log.Seq() != before {
		t.Error("a line that is refused is counted")
	}
	l.write(evResult, random, func() string { return "after it" }, func() any { return nil })
	l.compare()
}

// lineLab writes lines through a thread and keeps what was written.
type lineLab struct {
	t      *testing.T
	p      Params
	thread *Thread
	events []string
	data   []any // as read from the JSON that was written
	typed  []any
}

func newLineLab(t *testing.T) *lineLab {
	t.Helper()
	l := newLab(t)
	l.p.Redact = nil
	th := newThread(testID, l.p)
	log, err := transcript.Create(t.Context(), th.logParams())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	th.log = log
	return &lineLab{t: t, p: l.p, thread: th}
}

// write fills the data of an event and writes them as the thread does.
func (l *lineLab) write(event string, r *rand.Rand, text func() string, value func() any) {
	l.t.Helper()
	data := lineKinds()[event]
	if data == nil {
		data = map[string]any{"of": value(), text(): value(), "Artifacts": value(), "TURN": value(), "in": map[string]any{"data": value(), "DATA": value()}}
	} else {
		data = reflect.New(reflect.TypeOf(data).Elem()).Interface()
		testkit.Fill(r, data, lineForms(r, text), text, value)
	}
	l.add(event, data)
}

func (l *lineLab) add(event string, data any) {
	l.t.Helper()
	b, err := jsonx.Marshal(data)
	if err != nil {
		l.t.Fatal(err)
	}
	want, err := jsonx.Record(b)
	if err != nil {
		l.t.Fatalf("%s: %v", event, err)
	}
	if err := l.thread.record(context.Background(), false, event, data); err != nil {
		l.t.Fatalf("%s: %v: %.300s", event, err, b)
	}
	l.events, l.data, l.typed = append(l.events, event), append(l.data, want), append(l.typed, data)
}

// compare reads the log as every reader does, and fails if a line has other data.
func (l *lineLab) compare() {
	t := l.t
	t.Helper()
	if err := l.thread.log.Checkpoint(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	rep, err := transcript.Verify(t.Context(), transcript.Params{Project: l.p.Project, ID: testID, Keys: l.p.Keys})
	if err != nil || rep.Err() != nil {
		t.Fatalf("the log is not intact: %v, %v", err, rep.Err())
	}
	lines, err := transcript.Read(l.p.Project, testID)
	if err != nil || len(lines) != len(rep.Lines) {
		t.Fatalf("%d and %d lines, %v", len(lines), len(rep.Lines), err)
	}
	lines = slices.DeleteFunc(lines, func(l transcript.Line) bool { return l.Event == transcript.EventCheckpoint })
	if len(lines) != len(l.events) {
		t.Fatalf("%d lines were written, %d are read", len(l.events), len(lines))
	}
	for i := range lines {
		raw, err := dataOf(l.p.Project, testID, &lines[i])
		if err != nil {
			t.Fatalf("%s: %v", lines[i].Event, err)
		}
		got, err := jsonx.Record(raw)
		if err != nil || lines[i].Event != l.events[i] || !reflect.DeepEqual(got, l.data[i]) {
			t.Fatalf("%s (%v, event %s) is read as %.400s, want %.400s", l.events[i], err, lines[i].Event, fmt.Sprint(got), fmt.Sprint(l.data[i]))
		}
		into := reflect.New(reflect.TypeOf(l.typed[i])).Interface()
		if err := jsonx.Decode(raw, into); err != nil {
			t.Fatalf("%s: its reader: %v: %.300s", l.events[i], err, raw)
		}
		b, err := jsonx.Marshal(into)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := jsonx.Record(b); err != nil || !reflect.DeepEqual(again, l.data[i]) {
			t.Fatalf("%s: its reader has %.600s, want %.600s (%v)", l.events[i], fmt.Sprint(again), fmt.Sprint(l.data[i]), err)
		}
	}
}

// TestOwnArtifacts refuses data with the key that the log itself adds for values that are in files.
func TestOwnArtifacts(t *testing.T) {
	l := newLineLab(t)
	for _, artifacts := range []any{nil, "x", []any{map[string]any{"at": []any{"of"}, "digest": "sha256:00", "bytes": 1}}} {
		err := l.thread.record(t.Context(), false, "observation", map[string]any{"artifacts": artifacts})
		if diag.CodeOf(err) != diag.ValidationFailed || !strings.Contains(err.Error(), `"artifacts"`) {
			t.Errorf("%v: %v", artifacts, err)
		}
	}
	l.add("observation", map[string]any{"of": map[string]any{"artifacts": []any{}}})
	l.compare()
}
