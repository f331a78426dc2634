package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// TestCharacters: text in pieces, divided within characters, counts as the whole does, and a
// run of one character is one.
func TestCharacters(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "abc": 3, "a" + strings.Repeat(" ", 5000) + "b": 3, "सरकार": 5, "\x00\x00a": 2, "a\xffb": 3} {
		var whole characters
		whole.add(text)
		var pieces characters
		for i := range len(text) {
			pieces.add(text[i : i+1])
		}
		if whole.n != want || pieces.n != want {
			t.Errorf("%q: %d as a whole, %d in pieces; want %d", text, whole.n, pieces.n, want)
		}
	}
}

// chatOf is a stream of one text with a usage.
func chatOf(text, usage string) string {
	return sse(`{"choices":[{"index":0,"delta":{"content":`+string(encoded(text))+`}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":`+usage+`}`) + "data: [DONE]\n\n"
}

// TestCounts: the output is the largest of the stated count, the total without the input, the
// reasoning and what the bytes prove; the input at least what the bytes prove.
func TestCounts(t *testing.T) {
	text := strings.Repeat("Reading the file. ", 100) // 1,800 characters: at least 150 tokens
	long := ask("plain")
	long.MaxOutput = 1000
	long.Messages[0].Blocks[0].Text = text // at least 150 tokens with the system text
	c := mustParse(t, chat)
	for name, tc := range map[string]struct {
		text, usage string
		want        message.Usage
	}{
		"as stated":              {text, `{"prompt_tokens":500,"completion_tokens":400,"total_tokens":900}`, message.Usage{Input: 500, Output: 400}},
		"zero":                   {text, `{"prompt_tokens":0,"completion_tokens":0}`, message.Usage{Input: 151, Output: 150, Raised: 301}},
		"null":                   {text, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":null}`, message.Usage{Input: 151, Output: 150, Raised: 301}},
		"cached":                 {"a", `{"prompt_tokens":500,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":480}}`, message.Usage{Input: 20, CacheRead: 480, Output: 1}},
		"reasoning by the total": {"a", `{"prompt_tokens":500,"completion_tokens":26,"total_tokens":722,"completion_tokens_details":{"reasoning_tokens":196}}`, message.Usage{Input: 500, Output: 222, Reasoning: 196}},
		"reasoning alone":        {"a", `{"prompt_tokens":500,"completion_tokens":26,"completion_tokens_details":{"reasoning_tokens":196}}`, message.Usage{Input: 500, Output: 196, Reasoning: 196}},
		"reasoning within":       {"a", `{"prompt_tokens":500,"completion_tokens":222,"total_tokens":722,"completion_tokens_details":{"reasoning_tokens":196}}`, message.Usage{Input: 500, Output: 222, Reasoning: 196}},
		"large":                  {"a", `{"prompt_tokens":1000000000,"completion_tokens":1000000000}`, message.Usage{Input: maxCount, Output: maxCount}},
	} {
		r, err := fed(c, chatOf(tc.text, tc.usage)).Call(t.Context(), long, nil)
		if err != nil {
			t.Errorf("%s: the answer is lost: %v", name, err)
			continue
		}
		if got, want := string(encoded(r.Usage)), string(encoded(tc.want)); got != want || r.Text() != tc.text {
			t.Errorf("%s: usage %s, want %s", name, got, want)
		}
	}
}

// TestLastCacheWrite: the last count of written tokens is charged, also without its parts.
func TestLastCacheWrite(t *testing.T) {
	for later, want := range map[string][2]int64{
		`{"output_tokens":5}`: {10, 0},
		`{"output_tokens":5,"cache_creation_input_tokens":2000}`:                                                                                   {2000, 0},
		`{"output_tokens":5,"cache_creation_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":2000}}`: {0, 2000},
	} {
		var u anthropicUsage
		u.update([]byte(`{"input_tokens":7,"cache_creation_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":0},"output_tokens":1}`))
		u.update([]byte(later))
		if got := u.counts(); got.CacheWrite5m != want[0] || got.CacheWrite1h != want[1] {
			t.Errorf("%s: %d for 5 minutes and %d for an hour, want %v", later, got.CacheWrite5m, got.CacheWrite1h, want)
		}
	}
}

// forever repeats bytes without an end, and counts those that were read.
type forever struct {
	piece string
	rest  string
	read  int64
}

func (f *forever) Read(b []byte) (int, error) {
	if f.rest == "" {
		f.rest = f.piece
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	f.read += int64(n)
	return n, nil
}

// TestEndless: a stream that does not end is stopped where its reservation ends, and settled at
// that: text, reasoning, arguments of a call, and events without any.
func TestEndless(t *testing.T) {
	c := mustParse(t, chat)
	for name, piece := range map[string]string{
		"text":      `{"choices":[{"index":0,"delta":{"content":"Reading it. "}}]}`,
		"reasoning": `{"choices":[{"index":0,"delta":{"reasoning_content":"Reading it. "}}]}`,
		"arguments": `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\": 12345"}}]}}]}`,
		"spaces":    `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat(" ", 500) + `"}}]}`,
		"nothing":   `{"choices":[]}`,
	} {
		source := &forever{piece: "data: " + piece + "\n\n"}
		c.Send = func(context.Context, string, []byte) (*httpstep.Reply, error) {
			return &httpstep.Reply{Status: 200, Stream: io.NopCloser(source)}, nil
		}
		req := ask("plain")
		reserved, err := c.WorstCase(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(t.Context(), req, nil)
		var f *Failure
		if !errors.As(err, &f) {
			t.Fatalf("%s: %v", name, err)
		}
		cost, _ := c.Cost("plain", f.Usage)
		if f.Reason != endless || f.Usage.Output > reserved.Output || cost > reserved.Amount || source.read > 2<<20 {
			t.Errorf("%s: %q after %d bytes, %d tokens and %d nano-USD of %d", name, f.Reason, source.read, f.Usage.Output, cost, reserved.Amount)
		}
		if f.Usage.Output != reserved.Output {
			t.Errorf("%s: settled at %d tokens, reserved were %d", name, f.Usage.Output, reserved.Output)
		}
	}
}

// TestCostsCanBeKept: whatever a service counts, the cost and the sum of costs are amounts that
// the log can read again, and the counts are numbers that it keeps.
func TestCostsCanBeKept(t *testing.T) {
	c := mustParse(t, claude)
	a := &attempt{c: c, m: c.Models["sonnet"], least: 10}
	err := quick.Check(func(input, read, write, hour, output, reasoning, requests uint32) bool {
		n := func(x uint32) int64 { return int64(x) % (maxCount + 1) }
		u := message.Usage{Input: n(input), CacheRead: n(read), CacheWrite5m: n(write), CacheWrite1h: n(hour), Output: n(output), Reasoning: n(reasoning),
			Requests: map[string]int64{"web_search": n(requests)}}
		u.ByModel = []message.ModelUsage{{Model: "haiku", Usage: u}, {Model: "other", Usage: u}}
		u = a.raised(u, 20)
		cost, _ := c.Cost("sonnet", u)
		sum := policy.USD(0)
		for range 3000 {
			sum = sum.Plus(policy.USD(cost))
		}
		for _, usd := range []policy.USD{policy.USD(cost), sum} {
			if back, err := policy.ParseUSD(usd.String()); err != nil || back != usd {
				return false
			}
		}
		raw := encoded(u)
		var back message.Usage
		return json.Unmarshal(raw, &back) == nil && string(encoded(back)) == string(raw) && u.Output >= 20 && u.InputTotal() >= 10
	}, &quick.Config{MaxCount: 500})
	if err != nil {
		t.Error(err)
	}
	if cost, _ := c.Cost("sonnet", message.Usage{Input: math.MaxInt64, Output: math.MaxInt64}); cost != maxCall {
		t.Errorf("the largest counts cost %d", cost)
	}
	if got := fmt.Sprint(policy.MaxUSD.Plus(1), policy.USD(1).Plus(2)); got != "999999999.999999999 0.000000003" {
		t.Error(got)
	}
}
