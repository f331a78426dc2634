package mcpserve

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/primary/agent"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &printing{fake: newFake()}
		w := dial(t, New(Params{Verbs: v, Name: "rye"})).shake()
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","_meta":{"progressToken":"p"}}}`)
		start := time.Now()
		var said []string
		for {
			got := w.next()
			if field(got, "method") == nil {
				demand(t, got, "id", "2")
				break
			}
			demand(t, got, "method", "notifications/progress")
			demand(t, got, "params.progressToken", "p")
			demand(t, got, "params.progress", fmt.Sprint(len(said)))
			said = append(said, fmt.Sprintf("%v %v", time.Since(start), field(got, "params.message")))
		}
		want := []string{"0s started", "1s line 3", "11s line 3", "21s line 3", "23s line 5"}
		if fmt.Sprint(said) != fmt.Sprint(want) {
			t.Errorf("said %q\nwant %q", said, want)
		}
		w.alive()
	})
}

// printing prints three lines, is silent for 22 seconds, prints two and ends.
type printing struct{ *fake }

func (p *printing) Call(_ context.Context, req agent.Request) *agent.Reply {
	for i := range 3 {
		req.Progress(fmt.Sprintf("line %d", i+1))
	}
	time.Sleep(22*time.Second + 100*time.Millisecond)
	req.Progress("line 4")
	req.Progress("line 5")
	time.Sleep(time.Second)
	return &agent.Reply{Text: []byte(`{"success":true}`)}
}

// The numbers of a tool are passed on with their total: at most ten a second, the last
// one before the response, and only while they increase. Lines and silence between
// them add a little.
func TestProgressNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &counting{newFake()}
		w := dial(t, New(Params{Verbs: v, Name: "rye"})).shake()
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","_meta":{"progressToken":"p"}}}`)
		start := time.Now()
		var got []string
		for {
			m := w.next()
			if field(m, "method") == nil {
				demand(t, m, "id", "2")
				break
			}
			got = append(got, fmt.Sprintf("%v %v/%v %v", time.Since(start), field(m, "params.progress"), field(m, "params.total"), field(m, "params.message")))
		}
		want := []string{
			"0s 0/<nil> started", "100ms 1/8 a", "200ms 4/8 d", "1s 4.0009765625/8 line", "5.5s 5/8 f", "16s 5.0009765625/8 f", "20.5s 8/8 <nil>",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		w.alive()
	})
}

// counting reports numbers as servers do: many at once, one that does not increase,
// and the last one with the result.
type counting struct{ *fake }

func (c *counting) Call(_ context.Context, req agent.Request) *agent.Reply {
	time.Sleep(100 * time.Millisecond)
	req.Steps(1, 8, "a")
	time.Sleep(time.Millisecond)
	req.Steps(2, 8, "b")
	req.Steps(3, 8, "c")
	req.Steps(4, 8, "d")
	time.Sleep(399 * time.Millisecond)
	req.Progress("line")
	time.Sleep(5 * time.Second)
	req.Steps(5, 8, "f")
	time.Sleep(15 * time.Second)
	req.Steps(8, 8, "")
	return &agent.Reply{Text: []byte(`{"success":true}`)}
}

func TestClip(t *testing.T) {
	if got := clip(strings.Repeat("é", 300)); len(got) > maxProgress+3 || !strings.HasSuffix(got, "é…") {
		t.Errorf("clip = %q", got)
	}
	if got := clip("short"); got != "short" {
		t.Error(got)
	}
	if got := clip("x" + strings.Repeat("é", 300)); !strings.HasSuffix(got, "é…") {
		t.Errorf("clip = %q", got)
	}
}

// What a program prints moves no cursor of the client's and turns nothing
// around.
func TestShown(t *testing.T) {
	for line, want := range map[string]string{
		"plain text, ümlaut 👍": "plain text, ümlaut 👍", "a\tb\r\n": "a b", "10%\r20%": "20%",
		"\x1b[31mred\x07": `\u{1b}[31mred\u{7}`, "ab\u202ecd": `ab\u{202e}cd`, "a\xffb": `a\x{ff}b`, "\u0085\u200b": `\u{85}\u{200b}`, "a\nb": `a\u{a}b`,
	} {
		if got := printable(line); got != want {
			t.Errorf("printable(%q) = %q, want %q", line, got, want)
		}
	}
	if got := printable(strings.Repeat("\x1b", maxProgress)); len(got) > maxProgress+3 {
		t.Errorf("shown is %d bytes long", len(got))
	}
}
