package steps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

type guardedResults struct {
	Results   []Guarded        `json:"results"`
	Artifacts []StoredArtifact `json:"artifacts"`
}

func guardAll(t *testing.T, in Input, results ...map[string]any) guardedResults {
	t.Helper()
	p, err := object(map[string]any{"results": results, "accepts": []string{"text", "image"}})
	if err != nil {
		t.Fatal(err)
	}
	in.Params, in.Services = p, services(t, nil)
	out, err := resultGuard(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	sameAsTwin(t, "result_guard", in, nil, out, nil)
	raw, err := json.Marshal(out.Data)
	if err != nil {
		t.Fatal(err)
	}
	var g guardedResults
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func textResult(id, text string) map[string]any {
	return map[string]any{"call_id": id, "ref": "tool:t/x", "is_error": false, "content": []message.Block{message.TextBlock(text)}}
}

func numbered(n, width int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%06d %s\n", i+1, strings.Repeat("x", width-8))
	}
	return b.String()
}

func TestGuardBounds(t *testing.T) {
	for _, c := range []struct {
		name      string
		bytes     int
		tokens    int64
		context   int64 // thousands of a window of 100,000
		cut       bool
		maxTokens int64
	}{
		{"at the bound", 40_000, 0, 0, false, 10_000},
		{"above it", 40_100, 0, 0, true, 10_000},
		{"a full window halves it", 20_100, 0, 76, true, 5000},
		{"75 % is not above 75 %", 40_000, 0, 75, false, 10_000},
		{"an item's own", 48_000, 12_000, 76, false, 12_000},
		{"an item's own, above it", 48_100, 12_000, 0, true, 12_000},
		{"at most 25,000", 100_100, 99_000, 0, true, 25_000},
	} {
		r := textResult("1", numbered(c.bytes/100, 100))
		if c.tokens > 0 {
			r["result_tokens"] = c.tokens
		}
		g := guardAll(t, Input{Usage: Usage{ContextTokens: c.context * 1000, Window: 100_000}}, r)
		got := g.Results[0]
		if got.Cut != c.cut || len(g.Artifacts) == 1 != c.cut || got.Bytes != int64(c.bytes/100*100) {
			t.Errorf("%s: cut %v, %d artifacts, %d bytes", c.name, got.Cut, len(g.Artifacts), got.Bytes)
		}
		if n := tokens(len(got.Content[0].Text)); n > c.maxTokens || c.cut && n < c.maxTokens*8/10 {
			t.Errorf("%s: %d tokens of %d", c.name, n, c.maxTokens)
		}
	}
}

// noteOf returns the missing lines, all lines and the call that the note of a cut result
// names, and the lines before and after the note.
func noteOf(t *testing.T, text string) (first, last, total int, call struct {
	ID            string
	Offset, Limit int
}, head, tail []string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "[… lines ") })
	if at < 0 {
		t.Fatalf("no note in %q", text)
	}
	if _, err := fmt.Sscanf(lines[at], "[… lines %d-%d of %d are left out.", &first, &last, &total); err != nil {
		t.Fatalf("%v: %q", err, lines[at])
	}
	_, args, _ := strings.Cut(lines[at], ArtifactTool+" ")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(args, " …]")), &call); err != nil {
		t.Fatalf("%v: %q", err, lines[at])
	}
	return first, last, total, call, lines[:at], lines[at+1:]
}

// Head and tail are whole lines, and the call in the note reads exactly the others.
func TestGuardNote(t *testing.T) {
	for name, whole := range map[string]string{
		"lines":            numbered(1000, 100),
		"long lines":       strings.Repeat(strings.Repeat("ä", 3000)+"\n", 20),
		"one line":         strings.Repeat("x", 200_000),
		"a small budget":   numbered(60, 100),
		"without last end": strings.TrimSuffix(numbered(1000, 100), "\n"),
	} {
		r := textResult("1", whole)
		if name == "a small budget" {
			r["result_tokens"] = 100
		}
		g := guardAll(t, Input{}, r)
		first, last, total, call, head, tail := noteOf(t, g.Results[0].Content[0].Text)
		a := g.Artifacts[0]
		all := strings.Split(strings.TrimSuffix(a.Text, "\n"), "\n")
		if total != len(all) || call.Offset != first-1 || call.Limit != last-first+1 || call.ID != a.ID {
			t.Fatalf("%s: lines %d-%d of %d of %d, %+v", name, first, last, total, len(all), call)
		}
		got := slices.Concat(head, all[call.Offset:call.Offset+call.Limit], tail)
		if strings.Join(got, "\n") != strings.Join(all, "\n") {
			t.Errorf("%s: the shown and the named lines are not the whole", name)
		}
		if a.Ext != ".txt" || a.ID != item.DigestOf([]byte(a.Text)).Hex() || a.ID != g.Results[0].Artifact {
			t.Errorf("%s: %s, %s", name, a.ID, a.Ext)
		}
		if joined := strings.ReplaceAll(a.Text, "\n", ""); joined != strings.ReplaceAll(whole, "\n", "") {
			t.Errorf("%s: the artifact lacks text", name)
		}
	}
}

// A page of a text is not cut: the next page continues it.
func TestGuardPage(t *testing.T) {
	r := textResult("1", numbered(1000, 100))
	r["page"] = true
	g := guardAll(t, Input{Usage: Usage{ContextTokens: 80, Window: 100}}, r)
	if g.Results[0].Cut || len(g.Artifacts) > 0 || g.Results[0].Content[0].Text != numbered(1000, 100) {
		t.Errorf("%+v", g.Artifacts)
	}
}

// Texts without line ends, JSON, and programs' output stay readable.
func TestGuardForms(t *testing.T) {
	list := make([]any, 20_000)
	for i := range list {
		list[i] = int64(i)
	}
	raw, err := jsonx.Marshal(map[string]any{"numbers": list})
	if err != nil {
		t.Fatal(err)
	}
	g := guardAll(t, Input{}, textResult("1", string(raw)))
	if a := g.Artifacts[0]; a.Ext != ".json" || strings.Count(a.Text, "\n") < 20_000 {
		t.Errorf("%s", a.Text[:100])
	}
	g = guardAll(t, Input{}, textResult("1", strings.Repeat("ä", 30_000)))
	if text := g.Results[0].Content[0].Text; tokens(len(text)) > 10_000 || !strings.Contains(text, "of 20 are left out") {
		t.Errorf("%d bytes: %s", len(text), text[len(text)-300:])
	}
	blocks := []message.Block{message.TextBlock("see"), {Type: message.Image, MediaType: "image/png", Name: "a.png", Artifact: "3f9c"}, {Type: message.File, MediaType: "audio/wav", Name: "b.wav", Artifact: "77aa"}}
	g = guardAll(t, Input{}, map[string]any{"call_id": "1", "is_error": true, "content": blocks})
	if c := g.Results[0].Content; len(c) != 3 || c[1].Type != message.Image || c[2].Text != "[audio/wav b.wav 77aa: this model does not read it]" || !g.Results[0].IsError {
		t.Errorf("%+v", c)
	}
}

// A long result that was sent before is a reference; the watchdog still sees that it
// is equal.
func TestGuardSameAs(t *testing.T) {
	long, short := numbered(20, 100), "short"
	before := called("old", "tool:t/x", `{}`, long, false)
	before = append(before, called("tiny", "tool:t/x", `{}`, short, false)...)
	g := guardAll(t, Input{Conversation: lines(t, before...)}, textResult("new", long), textResult("tiny2", short), textResult("other", long+"y"), textResult("again", long+"y"))
	var got []string
	for _, r := range g.Results {
		got = append(got, r.SameAs)
	}
	if want := "[old   other]"; fmt.Sprint(got) != want || g.Results[0].Content[0].Text != `{"same_as":"old"}` {
		t.Errorf("%q, want %s", got, want)
	}
	// A result that is cut in the same way, too: its artifact is stored once.
	big := numbered(500, 100)
	first := guardAll(t, Input{}, textResult("a", big))
	stored := called("a", "tool:t/x", `{}`, first.Results[0].Content[0].Text, false)
	if g := guardAll(t, Input{Conversation: lines(t, stored...)}, textResult("b", big)); g.Results[0].SameAs != "a" || len(g.Artifacts) != 0 {
		t.Errorf("%+v", g.Results[0])
	}
	calls := called("1", "tool:t/x", `{}`, long, false)
	calls = append(calls, called("2", "tool:t/x", `{}`, `{"same_as":"1"}`, false)...)
	calls = append(calls, called("3", "tool:t/x", `{}`, `{"same_as":"1"}`, false)...)
	out, err := watchdog(t.Context(), Input{Conversation: lines(t, calls...), Services: services(t, nil)})
	if err != nil || out.Data["hints"] != int64(1) {
		t.Errorf("%v, %v", out, err)
	}
}

// A conversation of short results is not decoded for a short result: each turn would read all
// turns before it.
func TestGuardReadsLongResultsOnly(t *testing.T) {
	broken := func(n int) []transcript.Line {
		data := `{"call_id":1,"x":"` + strings.Repeat("x", n) + `"}`
		return []transcript.Line{{Event: "tool_result", Data: json.RawMessage(data)}}
	}
	long := numbered(30, 100)
	for _, c := range []struct {
		name   string
		before int
		text   string
		read   bool
	}{
		{"short after long", 4000, "short", false},
		{"long after short", 40, long, false},
		{"long after long", 4000, long, true},
	} {
		p, err := object(map[string]any{"results": []any{textResult("1", c.text)}, "accepts": []string{"text"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = resultGuard(t.Context(), Input{Params: p, Services: services(t, nil), Conversation: broken(c.before)})
		if (err != nil) != c.read {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
