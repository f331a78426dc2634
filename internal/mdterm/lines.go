package mdterm

import "strings"

// opensFence returns the marker of a line that opens a block of code, "" for any other.
func opensFence(text string) string {
	n := run(text, '`')
	if n < 3 {
		n = run(text, '~')
	}
	if n < 3 || text[0] == '`' && strings.Contains(text[n:], "`") {
		return ""
	}
	return text[:n]
}

// closes reports whether a line ends a block of code.
func closes(fence, text string) bool {
	text = strings.TrimRight(text, " ")
	return strings.HasPrefix(text, fence) && run(text, fence[0]) == len(text)
}

func isDiff(text string) bool {
	switch strings.TrimSpace(strings.Trim(text, "`~")) {
	case "diff", "patch":
		return true
	}
	return false
}

// run returns how often a text begins with a character.
func run(text string, c byte) (n int) {
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// listMarker returns the columns of the marker of a list item and of the blank after it, 0
// for a line that is not one.
func listMarker(text string) int {
	n := 0
	for n < len(text) && n < 9 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	switch {
	case n > 0 && n < len(text) && (text[n] == '.' || text[n] == ')'):
		n++
	case n == 0 && text != "" && strings.IndexByte("-*+", text[0]) >= 0:
		n = 1
	default:
		return 0
	}
	if n == len(text) {
		return n + 1
	}
	if text[n] != ' ' {
		return 0
	}
	return n + 1
}

// isBreak reports whether a line is a thematic break.
func isBreak(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	return len(text) >= 3 &&
		strings.IndexByte("-*_", text[0]) >= 0 &&
		run(text, text[0]) == len(text)
}

// isUnderline reports whether a line makes the paragraph before it a heading.
func isUnderline(text string) bool {
	text = strings.TrimRight(text, " ")
	return text != "" &&
		(text[0] == '=' || text[0] == '-') &&
		run(text, text[0]) == len(text)
}

func isHeading(text string) bool {
	n := run(text, '#')
	return n > 0 && n <= 6 && (n == len(text) || text[n] == ' ')
}

// delimits reports whether a line is the second one of a table, below a header.
func delimits(header, text string) bool {
	if !strings.Contains(header, "|") ||
		!strings.Contains(text, "-") ||
		strings.Trim(text, "|:- ") != "" {
		return false
	}
	return len(cellsOf(header)) == len(cellsOf(text))
}

// isYear reports whether a line begins with a number that does not begin a list within a
// paragraph: only the number 1 does.
func isYear(text string) bool {
	return text[0] >= '0' &&
		text[0] <= '9' &&
		!strings.HasPrefix(text, "1.") &&
		!strings.HasPrefix(text, "1)")
}
