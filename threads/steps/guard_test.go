package steps

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
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
		context   int64 // of a window of 100
		cut       bool
		maxTokens int64
	}{
		{"at the bound", 9600, 0, 0, false, 2400},
		{"above it", 9700, 0, 0, true, 2400},
		{"a full window halves it", 4900, 0, 76, true, 1200},
		{"75 % is not above 75 %", 9600, 0, 75, false, 2400},
		{"an item's own", 40_000, 12_000, 76, false, 12_000},
		{"an item's own, above it", 48_100, 12_000, 0, true, 12_000},
		{"at most 25,000", 100_100, 99_000, 0, true, 25_000},
	} {
		r := textResult("1", numbered(c.bytes/100, 100))
		if c.tokens > 0 {
			r["result_tokens"] = c.tokens
		}
		g := guardAll(t, Input{Usage: Usage{ContextTokens: c.context, Window: 100}}, r)
		got := g.Results[0]
		if got.Cut != c.cut || len(g.Artifacts) == 1 != c.cut || got.Bytes != int64(c.bytes/100*100) {
			t.Errorf("%s: cut %v, %d artifacts, %d bytes", c.name, got.Cut, len(g.Artifacts), got.Bytes)
		}
		if n := tokens(len(got.Content[0].Text)); n > c.maxTokens || c.cut && n < c.maxTokens*8/10 {
			t.Errorf("%s: %d tokens of %d", c.name, n, c.maxTokens)
		}
	}
}

// Head and tail are whole lines, and the note reads the rest.
func TestGuardNote(t *testing.T) {
	whole := numbered(1000, 100)
	g := guardAll(t, Input{}, textResult("1", whole))
	text := g.Results[0].Content[0].Text
	lines := strings.Split(text, "\n")
	var note struct {
		Truncated struct {
			Shown string `json:"shown_lines"`
			Total int    `json:"total_lines"`
			Next  struct {
				Tool string `json:"tool"`
				Args struct {
					ID            string
					Offset, Limit int
				} `json:"arguments"`
			} `json:"next"`
		} `json:"truncated"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &note); err != nil {
		t.Fatal(err)
	}
	n := note.Truncated
	var last, from, to int
	if _, err := fmt.Sscanf(n.Shown, "1-%d,%d-%d", &last, &from, &to); err != nil || n.Total != 1000 || to != 1000 {
		t.Fatalf("%v: %+v", err, n)
	}
	if !strings.HasPrefix(lines[last-1], fmt.Sprintf("%06d ", last)) || !strings.HasPrefix(lines[last+1], fmt.Sprintf("%06d ", from)) {
		t.Errorf("shown %s, and the lines are %q and %q", n.Shown, lines[last-1], lines[last+1])
	}
	if want := fmt.Sprintf("%d lines left out", from-last-1); !strings.Contains(lines[last], want) {
		t.Errorf("%q, want %s", lines[last], want)
	}
	a := g.Artifacts[0]
	if n.Next.Tool != ArtifactTool || n.Next.Args.Offset != last || n.Next.Args.ID != a.ID || a.Text != whole || a.Ext != ".txt" || a.ID != item.DigestOf([]byte(whole)).Hex() || a.ID != g.Results[0].Artifact {
		t.Errorf("%+v, %+v", n.Next, a.ID)
	}
}

// Texts without line ends, JSON, and programs' output stay readable.
func TestGuardForms(t *testing.T) {
	list := make([]any, 3000)
	for i := range list {
		list[i] = int64(i)
	}
	raw, err := jsonx.Marshal(map[string]any{"numbers": list})
	if err != nil {
		t.Fatal(err)
	}
	g := guardAll(t, Input{}, textResult("1", string(raw)))
	if a := g.Artifacts[0]; a.Ext != ".json" || strings.Count(a.Text, "\n") < 3000 {
		t.Errorf("%s", a.Text[:100])
	}
	raw, err = jsonx.Marshal(map[string]any{"exit_code": int64(1), "stdout": numbered(500, 100)})
	if err != nil {
		t.Fatal(err)
	}
	g = guardAll(t, Input{}, textResult("1", string(raw)))
	if text := g.Results[0].Content[0].Text; !strings.HasPrefix(text, "{\"exit_code\":1}\nstdout:\n000001 x") || !strings.Contains(text, "000500 x") {
		t.Errorf("%s", text[:100])
	}
	g = guardAll(t, Input{}, textResult("1", strings.Repeat("ä", 30_000)))
	if text := g.Results[0].Content[0].Text; tokens(len(text)) > 2400 || !strings.Contains(text, `"total_lines":20`) {
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
	big := numbered(200, 100)
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
