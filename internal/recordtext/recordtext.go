// Package recordtext writes texts that models, tools and programs returned into the
// markdown of a record, so that none of them can end its fence, hide characters or look
// like a signature line.
//
// It does not decide what a record contains, and signs nothing.
package recordtext

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
)

// Inline makes a text safe for one line of markdown, cut after 400 characters.
func Inline(s string) string {
	if s == "" {
		return ""
	}
	const most = 400
	r := []rune(hidden.Visible(s))
	if len(r) > most {
		r = append(r[:most], '…')
	}
	return "`" + strings.NewReplacer("`", "'", "rye:signed", "rye signed").Replace(string(r)) + "`"
}

// Lines renders a text of several lines in a fence that it cannot end, cut after the
// given number of bytes.
func Lines(s string, most int) string {
	rest := ""
	if len(s) > most {
		rest = fmt.Sprintf("\n[%d more bytes]", len(s)-most)
		s = cuttext.Start(s, most)
	}
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	fence := "```"
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(hidden.Visible(strings.TrimRight(line, "\r")), "rye:signed", "rye signed")
		for strings.Contains(line, fence) {
			fence += "`"
		}
	}
	return fence + "text\n" + strings.Join(lines, "\n") + rest + "\n" + fence + "\n"
}

// JSON renders a value as JSON in a fence that it cannot end: JSON has no line that begins
// with the marks. A value of more bytes than most is left out with the note.
func JSON(v any, most int, note string) string {
	b, err := jsonx.MarshalIndent(v)
	if err != nil {
		return "It is not JSON.\n"
	}
	if len(b) > most {
		return fmt.Sprintf("It has %d bytes and is left out%s.\n", len(b), note)
	}
	// The text of a signature line in the value must not look like one of the record.
	text := strings.ReplaceAll(string(hidden.JSON(b)), "rye:signed", `rye\u003asigned`)
	return "```json\n" + text + "\n```\n"
}
