package graph

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The picture fits 80 columns whatever the names are, and no text ends a label.
func TestShowFits(t *testing.T) {
	name := strings.Repeat("a_very_long_name-", 3) + "x"
	g := parse(t, head+`config: {start: `+name+`, nodes: {`+name+`: {action: {item_id: `+strings.Repeat("t/", 30)+`echo}, next: [{to: `+name+`, when: "state.a == 'quote\" <b> ; end' and state.b matches '`+strings.Repeat("x", 100)+`'"}]}}}`)
	ran := Ran{name: {OK: 12, Failed: 3, InFlight: true}}
	for _, line := range strings.Split(g.Terminal(ran), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(g.Terminal(ran), "[ok x12, failed x3, in flight]") {
		t.Error(g.Terminal(ran))
	}
	for _, text := range []string{g.Mermaid(ran), g.Dot(ran)} {
		for _, line := range strings.Split(text, "\n") {
			if strings.Count(strings.ReplaceAll(line, `\"`, ""), `"`)%2 != 0 {
				t.Errorf("a label does not end in its line: %s", line)
			}
		}
	}
	if strings.Contains(g.Mermaid(ran), "<b>") {
		t.Error("markup of a condition is in the picture")
	}
}
