package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// A conversation that became shorter twice is the same after each line of the log: what a
// process that is stopped there has sent last is the beginning of what the next one sends.
func TestShortenedConversationIsResumed(t *testing.T) {
	l := newLab(t)
	l.reads()
	l.tools["read"] = func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		if err := c.Start(c.Tool.Ref, c.Tool.Digest, "T0", "run"); err != nil {
			return nil, err
		}
		return &ToolResult{Data: fmt.Sprintf("result %s %s", c.ID, strings.Repeat("x", 400))}, nil
	}
	for n := 1; n <= 4; n++ {
		l.answers = append(l.answers, calls(message.TextBlock(fmt.Sprintf("answer %d", n)), callBlock(fmt.Sprintf("c%d", n), "read", fmt.Sprintf(`{"n":%d}`, n))))
	}
	l.answers = append(l.answers, calls(callBlock("c5", ReturnTool, `{"label":"bug"}`)))
	type moment struct {
		seq     int64
		request string
		used    Usage
		sizes   compact.View
	}
	var moments []moment
	note := func(th *Thread) {
		th.mu.Lock()
		b, err := json.Marshal(th.request(th.p.Services[0]))
		u := th.used()
		th.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		u.DurationMS = 0
		moments = append(moments, moment{seq: th.log.Seq(), request: string(b), used: u, sizes: th.Sizes()})
	}
	l.p.Loop = func(ctx context.Context, th *Thread, _ *transcript.Log, _ []transcript.Line) error {
		prompt := &Prompt{Tools: []Offered{
			offered("read", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
			offered(ReturnTool, `{"type":"object","properties":{"label":{"type":"string"}},"required":["label"]}`),
		}}
		prompt.Message.Blocks = []message.Block{message.TextBlock("do it")}
		if err := th.Compose(ctx, prompt); err != nil {
			return err
		}
		for n := 1; ; n++ {
			a, err := th.Model(ctx, fmt.Sprint("model ", n), 0)
			if err != nil {
				return err
			}
			for _, id := range a.Calls {
				if _, err := th.Call(ctx, "", id, l.tool); err != nil {
					return err
				}
			}
			if _, done := th.Returned(); done {
				return nil
			}
			if n == 1 {
				err = th.Step(ctx, "", Identity{Ref: "person"}, []Event{messageOf(byPerson, "use the short names")})
			}
			node := fmt.Sprint("compact ", n)
			switch n {
			case 2:
				err = errors.Join(err, th.Shorten(ctx, node, &Shortening{Results: []Reference{{CallID: "c1", Text: "note sekret"}}}))
				if th.Shortened(node) != compact.References {
					t.Error("what was done for a node is not known")
				}
			case 3:
				older := th.Older(3, 0)
				text, _ := json.Marshal(older.Messages)
				if older.Turns != 2 || fmt.Sprint(older.Persons) != "[use the short names]" || !strings.Contains(string(text), "result c1 xxx") || strings.Contains(string(text), "answer 3") {
					t.Errorf("a summary would replace %d turns, %v, %s", older.Turns, older.Persons, text)
				}
				err = errors.Join(err, th.Shorten(ctx, node, &Shortening{Keep: 3, Text: "summary of two", Spend: 500}))
			}
			if err != nil {
				return err
			}
			note(th)
		}
	}
	r, err := Start(t.Context(), testID, l.p)
	if err != nil || r.Status != Completed || r.Cost.Spend != 5*150_000+500 {
		t.Fatalf("%+v, %v", r, err)
	}
	lines, err := transcript.Read(l.p.Project, testID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moments {
		th := newThread(testID, l.p)
		if _, err := th.replay(lines[:m.seq]); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(th.request(th.p.Services[0]))
		u := th.used()
		u.DurationMS = 0
		if string(b) != m.request || u != m.used || fmt.Sprint(th.Sizes()) != fmt.Sprint(m.sizes) {
			t.Errorf("after line %d: another conversation:\n%s\n%s\n%+v\n%+v", m.seq, b, m.request, u, m.used)
		}
	}
	for i, want := range []string{
		`["do it","answer 1",c1 result,"use the short names"]`,
		`["do it","answer 1",c1 note,"use the short names","answer 2",c2 result]`,
		`["do it","summary of two","answer 3",c3 result]`,
		`["do it","summary of two","answer 3",c3 result,"answer 4",c4 result]`,
	} {
		if got := spokenAs(l.seen[i+1]); got != want {
			t.Errorf("request %d: %s, want %s", i+2, got, want)
		}
	}
	if strings.Contains(moments[1].request, "sekret") {
		t.Error("the model reads another text than the log has")
	}
	bad := newThread(testID, l.p)
	if _, err := bad.replay(lines); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Shortening{{Results: []Reference{{CallID: "nothing"}}}, {Keep: 1}, {Keep: 99}} {
		if err := bad.Shorten(t.Context(), "", s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// spokenAs renders the messages of a request briefly.
func spokenAs(req *message.Request) string {
	var out []string
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case message.Text:
				out = append(out, fmt.Sprintf("%q", b.Text))
			case message.ToolResult:
				first, _, _ := strings.Cut(b.Content[0].Text, " ")
				out = append(out, b.CallID+" "+first)
			}
		}
	}
	return "[" + strings.Join(out, ",") + "]"
}

// The maximum of an answer is what the request leaves of the window, in halves, and not below
// the lowest that is useful.
func TestMaximumFitsTheWindow(t *testing.T) {
	l := newLab(t)
	l.p.MinOutput = 100
	for used, want := range map[int64]int64{0: 1000, 9000: 1000, 9001: 500, 9600: 250, 9800: 125, 9999: 125, 12_000: 125} {
		th := newThread(testID, l.p)
		th.fresh = 4 * used
		if got := th.withinWindow(1000); got != want {
			t.Errorf("%d tokens of 10000: at most %d, want %d", used, got, want)
		}
	}
	l.p.Services[0].Window = 0
	if got := newThread(testID, l.p).withinWindow(1000); got != 1000 {
		t.Errorf("without a window: at most %d", got)
	}
}

// A window that a service states is that of its model, for the rest of the thread.
func TestWindowIsLearned(t *testing.T) {
	th := newThread(testID, newLab(t).p)
	for _, l := range []string{
		`{"turn":1,"attempt":1,"message":"too long","cost":"0.00","overflow":"stated","window":4096}`,
		`{"turn":1,"attempt":2,"message":"busy","cost":"0.00"}`,
	} {
		if err := th.modelLine(evError, []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	if u := th.Used(); u.Window != 4096 {
		t.Errorf("the window is %d", u.Window)
	}
	if err := th.line(evSwitched, []byte(`{"from":"a","to":"b","reason":"x"}`), &[]string{}); err != nil || th.Used().Window != 10_000 {
		t.Errorf("that of another model is %d, %v", th.Used().Window, err)
	}
}
