package threads

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// hostileArguments are arguments of calls that are refused, with what the model reads.
func hostileArguments() map[string]string {
	deep := func(n int) string { return strings.Repeat(`{"n":`, n) + "1" + strings.Repeat("}", n) }
	return map[string]string{
		`{"n":"\ud800"}`:                        "half of a surrogate pair",
		`{"n":1,"n":2}`:                         "duplicate key",
		`{"n":1,"\u006e":{"x":1}}`:              "duplicate key",
		`{"n":1e999}`:                           "too large",
		`{"x":[-1E+400]}`:                       "too large",
		deep(message.MaxInputDepth + 1):         "nested too deep",
		deep(999):                               "nested too deep",
		deep(1001):                              "nested more than",
		deep(20000):                             "nested",
		"{\"n\":\"\xff\"}":                      "", // U+FFFD
		`{"n":9223372036854775808000000000000}`: "", // of the schema, or nothing
		`{"n":1.00000000000000000000001}`:       "",
		`{"n":"` + strings.Repeat(`\u202e`, 20000) + `"}`: "",
		`null`: "", `[]`: "", `"x"`: "",
	}
}

// TestHostileArguments checks for each hostile text that a thread goes on, that its log is intact and has no line that is not
// read, and that a process which continues it at any moment has the same conversation.
func TestHostileArguments(t *testing.T) {
	for text, want := range hostileArguments() {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			for _, stop := range []string{"", "after c1"} {
				l := newLab(t)
				l.reads()
				c := callBlock("c1", "read", text)
				l.answers = []message.Response{calls(message.TextBlock("a\xffb\x00\u2028"), c), calls(callBlock("c2", ReturnTool, `{"label":"x"}`))}
				l.stop = stop
				r, err := Start(t.Context(), testID, l.p)
				if stop != "" {
					l.stop = ""
					r, err = Resume(t.Context(), testID, l.p, "go \xff on")
				}
				if err != nil || r.Status != Completed {
					t.Fatalf("%q: %+v, %v", stop, r, err)
				}
				readable(t, l.p)
				last := l.seen[len(l.seen)-1].Messages
				result := last[2].Blocks[0]
				if result.Type != message.ToolResult || want != "" && (!result.IsError || !strings.Contains(result.Content[0].Text, want)) {
					t.Errorf("%q: the model reads %.300q, want %q", stop, fmt.Sprint(result.Content), want)
				}
			}
		})
	}
}

// readable checks that every reader of the log of testID reads it.
func readable(t *testing.T, p Params) {
	t.Helper()
	rep, err := transcript.Verify(t.Context(), transcript.Params{Project: p.Project, ID: testID, Keys: p.Keys})
	if err != nil || rep.Err() != nil {
		t.Fatalf("the log is not intact: %v, %v", err, rep.Err())
	}
	for i := range rep.Lines {
		if _, found := jsonx.ParseMessage(rep.Lines[i].Data); len(found) > 0 {
			t.Errorf("line %d is not canonical: %v: %.200s", i+1, found, rep.Lines[i].Data)
		}
	}
	if _, err := Summarize(p.Project, testID); err != nil {
		t.Errorf("its summary: %v", err)
	}
	if _, err := Book(p.Project, testID, rep.Lines); err != nil {
		t.Errorf("its calls: %v", err)
	}
	if _, err := ReadStarted(p.Project, testID); err != nil {
		t.Errorf("its start: %v", err)
	}
	if _, err := newThread(testID, p).replay(rep.Lines); err != nil {
		t.Errorf("its replay: %v", err)
	}
}

// TestHostileValues writes random answers whose texts, names, ids and arguments are hostile, and reads them.
func TestHostileValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{`"`, `\`, "\xff", "\u2028", "\U000e0001", `\ud800`, `\udc00`, "{", "}", "[", "]", ":", ",", "1e999", "-0", "\x00", "\r", `"n":1`, "é", "null", `\u006e`, "9223372036854775808", "\ufffe"}
	piece := func() string {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	n := 60
	if testing.Short() {
		n = 10
	}
	for range n {
		l := newLab(t)
		l.reads()
		hostile := []message.Block{
			message.TextBlock(piece()),
			{Type: message.ToolCall, ID: piece(), Name: piece(), InvalidInput: piece()},
			{Type: message.ToolCall, ID: piece(), Name: "read", Input: []byte(`{"n":` + strconv.Itoa(random.IntN(3)) + `,"x":` + strconv.Quote(piece()) + `}`)},
			{Type: message.Reasoning, Dialect: piece(), Model: piece(), Raw: []byte(piece())},
		}
		if text := `{"n":1,` + piece() + `}`; jsonx.Ambiguous([]byte(text), 100) == "" || random.IntN(2) == 0 {
			hostile = append(hostile, message.Block{Type: message.ToolCall, ID: piece(), Name: "read", InvalidInput: text})
		}
		l.answers = []message.Response{{Blocks: hostile, Stop: message.StopToolCalls, StopRaw: piece()}, calls(callBlock("last", ReturnTool, `{"label":"x"}`))}
		l.p.Message = piece()
		r, err := Start(t.Context(), testID, l.p)
		if err != nil || r.Status != Completed {
			t.Fatalf("%+v: %+v, %v", hostile, r, err)
		}
		readable(t, l.p)
		lines, err := transcript.Read(l.p.Project, testID)
		if err != nil {
			t.Fatal(err)
		}
		again := newThread(testID, l.p)
		if _, err := again.replay(lines); err != nil {
			t.Fatal(err)
		}
		if got, want := again.request(l.p.Services[0]).Messages, l.seen[1].Messages; !reflect.DeepEqual(got[:len(want)], want) {
			t.Fatalf("the log has another conversation:\n%+v\n%+v", got, want)
		}
	}
}

// TestResultAsStored prints what is stored: a secret is in no key either, and no number loses digits.
func TestResultAsStored(t *testing.T) {
	l := newLab(t)
	th := newThread(testID, l.p)
	wait := &Suspension{Reason: "sekret", Wait: 3}
	r := &Result{Status: Completed, Text: "sekret", Outputs: map[string]any{"sekret": "x", "n": int64(9007199254740993), "far": json.Number("1e400"), "s": "sekret"}, Suspended: wait}
	if err := th.writeResult(r); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"[redacted:KEY]": "x", "n": int64(9007199254740993), "far": json.Number("1e400"), "s": "[redacted:KEY]"}
	if !reflect.DeepEqual(r.Outputs, want) || r.Text != "[redacted:KEY]" || r.Suspended.Wait != 3 || r.Suspended.Reason != "[redacted:KEY]" {
		t.Errorf("%+v %+v", r, r.Suspended)
	}
}
