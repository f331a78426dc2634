package compact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ryeos/rye/threads/message"
)

func shipped() Settings {
	return Settings{Trigger: 0.9, Target: 0.5, Tail: 16_000, TailShare: 0.25, Least: 200, Summary: 4_000}
}

// turn has an answer of some tokens and results.
func turn(n, own int64, results ...int64) Turn {
	t := Turn{Number: n, Tokens: own}
	for i, r := range results {
		t.Tokens += r
		t.Results = append(t.Results, Result{CallID: fmt.Sprintf("c%d_%d", n, i+1), Tokens: r})
	}
	return t
}

func view(window, tokens, head int64, turns ...Turn) View {
	return View{Window: window, Tokens: tokens, Head: head, Turns: turns}
}

func TestDecide(t *testing.T) {
	short := turn(1, 20, 5000)
	short.Results[0].Short = true
	carried := view(32_000, 29_500, 2000, turn(1, 100, 1000), turn(2, 100, 1000))
	carried.Summary = 25_300
	for _, c := range []struct {
		name    string
		v       View
		refused bool
		want    string // action, first turn, calls
	}{
		{"results are enough", view(32_000, 29_000, 2000, turn(1, 100, 9000), turn(2, 100, 9000), turn(3, 100, 8700)), false, "references 0 [c1_1 c2_1]"},
		{"short results stay", view(32_000, 29_000, 2000, turn(1, 100, 9000, 150), turn(2, 100, 9000), turn(3, 100, 8700)), false, "references 0 [c1_1 c2_1]"},
		{"those that are references stay", view(32_000, 29_000, 2000, short, turn(2, 100, 18_000), turn(3, 100, 3700)), false, "references 0 [c2_1]"},
		{"texts need a summary", view(32_000, 29_000, 2000, turn(1, 12_000), turn(2, 12_000), turn(3, 3000)), false, "summary 3 []"},
		{"the newest turns stay", view(32_000, 29_000, 2000, turn(1, 12_000), turn(2, 7000), turn(3, 4000), turn(4, 4000)), false, "summary 3 []"},
		{"a summary, and a long turn that stays", view(32_000, 60_000, 2000, turn(1, 20_000), turn(2, 100, 30_000, 7900)), false, "summary 2 [c2_1]"},
		{"what was taken over", carried, false, "summary 1 []"},
		{"the newest turn alone", view(32_000, 30_000, 2000, turn(1, 100, 20_000, 7900)), false, "references 0 [c1_1]"},
		{"nothing can be shorter", view(32_000, 30_000, 2000, turn(1, 28_000)), false, "continue 0 []"},
		{"the head alone", view(32_000, 31_000, 30_000, turn(1, 100, 150), turn(2, 100)), false, "continue 0 []"},
		{"no answer", view(32_000, 31_000, 30_000), true, "continue 0 []"},
		{"messages before the first answer", view(32_000, 31_000, 1000, turn(0, 30_000)), true, "continue 0 []"},
		{"such messages are summarized later", view(32_000, 31_000, 1000, turn(0, 27_000), turn(1, 3000)), false, "summary 1 []"},
		{"refused, all in the tail", view(200_000, 9000, 1000, turn(1, 4000), turn(2, 4000)), true, "summary 2 []"},
		{"refused, unknown window", view(0, 9000, 1000, turn(1, 10, 4000), turn(2, 4000)), true, "summary 2 []"},
		{"refused, one turn", view(32_000, 9000, 1000, turn(1, 10, 3000, 4000, 990)), true, "references 0 [c1_2 c1_1]"},
		{"a language with more tokens", view(32_000, 30_000, 1000, turn(1, 10, 7000), turn(2, 990)), false, "references 0 [c1_1]"},
	} {
		p := Decide(c.v, shipped(), c.refused)
		if got := fmt.Sprintf("%s %d %v", p.Action, p.Keep, p.Results); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Whatever a conversation is, a plan makes it shorter, never replaces the newest turn, and a
// thread that follows it ends in a conversation that fits or that has to continue elsewhere.
func TestDecideEnds(t *testing.T) {
	s := shipped()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		v := View{Window: 4000 + r.Int64N(60_000), Head: 300 + r.Int64N(6000)}
		for n := range 1 + r.Int64N(12) {
			var results []int64
			for range r.IntN(4) {
				results = append(results, r.Int64N(9000))
			}
			v.Turns = append(v.Turns, turn(n+1, r.Int64N(2000), results...))
		}
		sum := func() int64 {
			total := v.Head + v.Summary
			for _, t := range v.Turns {
				total += t.Tokens
			}
			return total
		}
		for round := 0; ; round++ {
			v.Tokens = sum()
			if float64(v.Tokens) < s.Trigger*float64(v.Window) {
				break
			}
			p := Decide(v, s, false)
			if p.Action == Continue {
				break
			}
			if round > 20 {
				t.Fatalf("seed %d: no end: %+v of %+v", seed, p, v)
			}
			if p.Action == Summary {
				if last := v.Turns[len(v.Turns)-1].Number; p.Keep > last || p.Keep < 1 {
					t.Fatalf("seed %d: turn %d of %d stays", seed, p.Keep, last)
				}
				for v.Turns[0].Number < p.Keep {
					v.Turns = v.Turns[1:]
				}
				v.Summary = min(s.Summary, v.Window/8)
			}
			for i := range v.Turns {
				for j := range v.Turns[i].Results {
					x := &v.Turns[i].Results[j]
					for _, call := range p.Results {
						if call == x.CallID {
							v.Turns[i].Tokens -= x.Tokens - reference
							x.Tokens, x.Short = reference, true
						}
					}
				}
			}
			if after := sum(); after >= v.Tokens {
				t.Fatalf("seed %d: %d tokens became %d: %+v", seed, v.Tokens, after, p)
			}
		}
	}
}

// Parts have all bytes of the texts in their order, whole characters, and none is longer than
// its bound.
func TestParts(t *testing.T) {
	alphabet := []string{"a", "word ", "\n", "é", "日本", "🙂", "\n\n"}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		var texts []string
		want := ""
		for range r.IntN(8) {
			var b strings.Builder
			for range r.IntN(400) {
				b.WriteString(alphabet[r.IntN(len(alphabet))])
			}
			texts = append(texts, b.String())
			want += b.String() + "\n\n"
		}
		tokens := 1 + r.Int64N(100)
		parts := Parts(texts, tokens)
		if got := strings.Join(parts, ""); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Fatalf("seed %d: %d bytes of %d", seed, len(got), len(want))
		}
		for i, p := range parts {
			if !utf8.ValidString(p) || int64(len(p)) > tokens*bytesPerToken {
				t.Fatalf("seed %d: part %d has %d bytes, at most %d", seed, i, len(p), tokens*bytesPerToken)
			}
		}
	}
}

func TestReadable(t *testing.T) {
	long := "begin " + strings.Repeat("x", 4000) + " end"
	messages := []message.Message{
		{Role: message.User, Blocks: []message.Block{message.TextBlock("do it")}},
		{Role: message.Assistant, Blocks: []message.Block{
			{Type: message.Reasoning, Raw: []byte(`"secret"`)}, message.TextBlock("I read."),
			{Type: message.ToolCall, Name: "read", Input: []byte(`{"path":"a"}`)},
		}},
		{Role: message.User, Blocks: []message.Block{
			{Type: message.ToolResult, Content: []message.Block{message.TextBlock(long), {Type: message.Image, MediaType: "image/png", Name: "a.png"}}},
			{Type: message.ToolResult, IsError: true, Content: []message.Block{message.TextBlock("no")}},
		}},
	}
	want := []string{"user: do it", "assistant: I read.", `call read: {"path":"a"}`, "result: " + long + "\n[image image/png a.png]", "failed: no"}
	if got := Readable(messages, 0); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
	if got := Readable(messages, 100)[3]; len(got) > 500 || !strings.Contains(got, "begin ") || !strings.Contains(got, " end") {
		t.Errorf("%q", got)
	}
}
