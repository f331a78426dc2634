package threads

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/redact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

const planted = "sk-ant/T+<b>\"&é=9"

// plantedForms are ways in which a model or a tool prints a key.
func plantedForms(t *testing.T) map[string]string {
	t.Helper()
	j, err := json.Marshal(planted)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"plain": planted, "json": string(j[1 : len(j)-1]), "query": url.QueryEscape(planted), "hex": hex.EncodeToString([]byte(planted)),
		"base64": base64.StdEncoding.EncodeToString([]byte(planted)), "in base64": base64.StdEncoding.EncodeToString([]byte("user:" + planted)),
	}
}

// streamLab is a thread whose events are kept.
func streamLab(t *testing.T) (th *Thread, taken func() []transcript.Line) {
	t.Helper()
	l := newLab(t)
	filter := redact.New(map[string]string{"KEY": planted})
	var lines []transcript.Line
	l.p.Redact, l.p.RedactText = filter.Bytes, func() TextFilter { return filter.Text() }
	l.p.Observe = func(line transcript.Line) { lines = append(lines, line) }
	th = newThread("stream-01", l.p)
	log, err := transcript.Create(context.Background(), th.logParams())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	th.log = log
	return th, func() []transcript.Line {
		out := lines
		lines = nil
		return out
	}
}

// joinedDeltas returns the text of each kind and call.
func joinedDeltas(t *testing.T, lines []transcript.Line) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range lines {
		var d message.Delta
		if err := lines[i].Decode(&d); err != nil {
			t.Fatal(err)
		}
		out[string(d.Kind)+d.CallID] += d.Text
	}
	return out
}

// TestDividedKeys divides a key at each byte between two pieces of a stream, with pieces of
// another kind between them, and also into single characters: no event has a part of it.
func TestDividedKeys(t *testing.T) {
	th, taken := streamLab(t)
	forms := plantedForms(t)
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		form := forms[name]
		want := redact.New(map[string]string{"KEY": planted}).String("a " + form + " z")
		if strings.Contains(want, form) || !strings.Contains(want, "[redacted:KEY]") {
			t.Fatalf("%s: a whole key is not found: %s", name, want)
		}
		text := "a " + form + " z"
		for at := 1; at < len(text); at++ {
			d := &deltas{ctx: t.Context(), t: th, turn: 1, texts: map[part]TextFilter{}}
			d.add(message.Delta{Kind: message.DeltaText, Text: text[:at]})
			d.flushNow()
			d.add(message.Delta{Kind: message.DeltaReasoning, Text: "hm"})
			d.add(message.Delta{Kind: message.DeltaCallStart, CallID: "c", Name: "read"})
			d.flushNow()
			d.add(message.Delta{Kind: message.DeltaText, Text: text[at:]})
			d.flush()
			got := joinedDeltas(t, taken())
			if got["text"] != want || got["reasoning"] != "hm" || len(got) != 3 {
				t.Errorf("%s divided at %d: %q, want %q", name, at, got, want)
			}
		}
		d := &deltas{ctx: t.Context(), t: th, turn: 1, texts: map[part]TextFilter{}}
		for _, c := range text {
			d.add(message.Delta{Kind: message.DeltaToolInput, CallID: "c", Text: string(c)})
			d.flushNow()
		}
		d.flush()
		if got := joinedDeltas(t, taken()); got["tool_inputc"] != want {
			t.Errorf("%s in characters: %q, want %q", name, got, want)
		}
	}
}

// flushNow records what is decided.
func (d *deltas) flushNow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write()
}

// TestNothingHeldBack records a text without a key at once.
func TestNothingHeldBack(t *testing.T) {
	th, taken := streamLab(t)
	d := &deltas{ctx: t.Context(), t: th, turn: 1, texts: map[part]TextFilter{}}
	d.add(message.Delta{Kind: message.DeltaText, Text: "The label is bug."})
	d.flushNow()
	if got := joinedDeltas(t, taken()); got["text"] != "The label is bug." {
		t.Errorf("%q", got)
	}
}

// TestDividedOutput finds a key of several lines in the output of a tool, and keeps the
// streams apart.
func TestDividedOutput(t *testing.T) {
	l := newLab(t)
	filter := redact.New(map[string]string{"PEM": "-----BEGIN\nabcdef\n-----END"})
	var got []string
	l.p.RedactText = func() TextFilter { return filter.Text() }
	l.p.Observe = func(line transcript.Line) {
		var d struct{ Stream, Text string }
		if line.Decode(&d) == nil {
			got = append(got, d.Stream+": "+d.Text)
		}
	}
	th := newThread("stream-02", l.p)
	log, err := transcript.Create(t.Context(), th.logParams())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	th.log = log
	o := &output{ctx: t.Context(), t: th, call: "c"}
	for _, line := range []string{"one", "key -----BEGIN", "abcdef", "-----END of it", "-----BEGIN"} {
		o.add("stdout", line)
		if line == "abcdef" {
			o.add("stderr", "other")
		}
	}
	o.flush()
	want := []string{"stdout: one", "stderr: other", "stdout: key [redacted:PEM] of it", "stdout: -----BEGIN"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The last piece before a pause of the model is recorded while the pause lasts.
func TestDeltaBeforePause(t *testing.T) {
	l := newLab(t)
	l.reads()
	seen := make(chan string, 10)
	l.p.Observe = func(x transcript.Line) {
		var d deltaData
		if x.Event == evDelta && x.Decode(&d) == nil {
			seen <- d.Text
		}
	}
	l.p.Execute = func(ctx context.Context, th *Thread, node string, s *Service) error {
		_, err := th.Attempt(ctx, node, s, func(_ context.Context, req *message.Request, on func(message.Delta)) (*message.Response, error) {
			on(message.Delta{Kind: message.DeltaText, Text: "a"})
			on(message.Delta{Kind: message.DeltaText, Text: "b"})
			on(message.Delta{Kind: message.DeltaText, Text: "c"})
			var text string
			for len(text) < 3 { // the answer does not end before a person has seen all of it
				select {
				case part := <-seen:
					text += part
				case <-time.After(30 * time.Second):
					t.Errorf("only %q was recorded", text)
					text = "abc"
				}
			}
			r := calls(callBlock("c1", ReturnTool, `{"label":"bug"}`))
			r.Model = req.Model
			return &r, nil
		}, nil)
		return err
	}
	if r, err := Start(t.Context(), testID, l.p); err != nil || r.Status != Completed {
		t.Fatalf("%+v, %v", r, err)
	}
}
