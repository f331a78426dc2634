// Package hinttable reads tables of hints: texts with one line for each code and reason.
//
// A line is `CODE reason: text`, or `CODE: text` for the default of a code. Lines that begin with
// "#" and empty lines separate sections. The package does not fill in the facts of a text.
package hinttable

import (
	"iter"
	"strings"
)

// Row is one line of a table.
type Row struct {
	Code   string
	Reason string // "" for the default of the code
	Text   string // may be empty: the reason has no hint
	Line   int    // from 1
}

// Lookup returns the text of a code and reason. The table begins with a line that is not a row.
// It is searched and not parsed: a command that fails needs one row.
func Lookup(table, code, reason string) string {
	// A code may be the end of a longer one, so the key begins with the line.
	key := "\n" + code + ":"
	if reason != "" {
		key = "\n" + code + " " + reason + ":"
	}
	_, after, _ := strings.Cut(table, key)
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimPrefix(line, " ")
}

// Rows returns the rows of a table in their order.
func Rows(table string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		number := 0
		for line := range strings.Lines(table) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, text, found := strings.Cut(line, ": ")
			if !found {
				// Editors remove a space at the end of a line.
				key = strings.TrimSuffix(line, ":")
			}
			code, reason, _ := strings.Cut(key, " ")
			if !yield(Row{
				Code:   code,
				Reason: reason,
				Text:   text,
				Line:   number,
			}) {
				return
			}
		}
	}
}
