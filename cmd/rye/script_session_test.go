package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// session is what a model reads in the answers to a list of calls: the number of
// characters of each answer, its beginning, and the sum.
type session struct {
	calls, sum int
	text       strings.Builder
}

// shown is the number of characters of an answer that a session prints.
const shown = 240

// durations differ from run to run, and the length of a cut answer with them, so
// both are replaced before an answer is measured.
var (
	durations = regexp.MustCompile(`"duration_ms":[0-9]+`)
	scores    = regexp.MustCompile(`"score":[0-9.]+`) // of a search, they change with every system item
	cuts      = regexp.MustCompile(`"shown":[0-9]+,"total":[0-9]+`)
)

// add measures one answer as a model receives it: the text of its blocks, and the
// name of each block that is not text.
func (s *session) add(call string, answer map[string]any) {
	res, _ := answer["result"].(map[string]any)
	var parts []string
	for _, list := range []string{"content", "messages"} {
		blocks, _ := res[list].([]any)
		for _, b := range blocks {
			block, _ := b.(map[string]any)
			if inner, ok := block["content"].(map[string]any); ok { // a prompt's message
				block = inner
			}
			if text, ok := block["text"].(string); ok {
				parts = append(parts, text)
			} else {
				parts = append(parts, fmt.Sprintf("[%v]", block["type"]))
			}
		}
	}
	if e, ok := answer["error"].(map[string]any); ok {
		parts = append(parts, fmt.Sprint(e["message"]))
	}
	text := durations.ReplaceAllString(strings.Join(parts, "\n"), `"duration_ms":0`)
	text = scores.ReplaceAllString(text, `"score":0`)
	text = cuts.ReplaceAllString(text, `"shown":0,"total":0`)
	text = strings.ReplaceAll(text, os.Getenv("WORK"), "$WORK")
	n := utf8.RuneCountInString(text)
	s.calls, s.sum = s.calls+1, s.sum+n
	if n > shown {
		text = string([]rune(text)[:shown]) + "…"
	}
	fmt.Fprintf(&s.text, "%d. %s\n%7d %s\n", s.calls, call, n, strings.ReplaceAll(text, "\n", "\n        "))
}

func (s *session) print() {
	fmt.Printf("%s%d calls, %d characters\n", s.text.String(), s.calls, s.sum)
}
