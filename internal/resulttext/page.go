package resulttext

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// isPage reports whether a result is a part of a file in lines.
func isPage(m map[string]any) bool {
	_, hasText := m["output"].(string)
	_, counted := m["line_count"].(int64)
	_, total := m["total_lines"].(int64)
	return hasText && counted && total && textOf(m, "file_path") != ""
}

// IsPage reports whether a result is a part of a file in lines, which Fit shortens.
func IsPage(data any) bool {
	m, _ := data.(map[string]any)
	return isPage(m)
}

// page returns the lines of a part of a file, and how to read the next part.
func page(m map[string]any) string {
	text := textOf(m, "output")
	count := numberOf(m, "line_count")
	total := numberOf(m, "total_lines")
	first := numberOf(m, "offset")
	var notes []string
	if total == 0 {
		return "[the file is empty]"
	}
	if column := numberOf(m, "column"); column > 0 {
		last := column + int64(utf8.RuneCountInString(text)) - 1
		notes = append(notes, fmt.Sprintf("line %d, characters %d-%d of %d", first, column, last, numberOf(m, "line_length")))
	} else if count != total || text == "" {
		notes = append(notes, LinesNote(first, first+count-1, total))
	}
	if next := numberOf(m, "next_offset"); next > 0 {
		notes = append(notes, fmt.Sprintf("the next one is offset %d", next))
	}
	if next := numberOf(m, "next_column"); next > 0 {
		notes = append(notes, fmt.Sprintf("the next one is offset %d with column %d", first, next))
	}
	if encoding := textOf(m, "encoding"); encoding != "" && encoding != "utf-8" {
		notes = append(notes, "encoding "+encoding)
	}
	if len(notes) == 0 {
		return text
	}
	return text + "\n[" + strings.Join(notes, "; ") + "]"
}

// LinesNote states which lines of a text a page has.
func LinesNote(first, last, total int64) string {
	return fmt.Sprintf("lines %d-%d of %d", first, last, total)
}

// noteBytes are left for the note of a page.
const noteBytes = 120

// Fit returns a page with as many of its lines as have at most limit bytes with the note,
// at least one; the next page begins with the first line that is left out. Other results
// are returned as they are.
func Fit(data any, limit int) any {
	m, _ := data.(map[string]any)
	if !isPage(m) {
		return data
	}
	text := textOf(m, "output")
	if len(text)+noteBytes <= limit {
		return data
	}
	if column := numberOf(m, "column"); column > 0 {
		return fitPart(m, text, column, limit-noteBytes)
	}
	lines := strings.Split(text, "\n")
	kept := Lines(lines, limit-noteBytes)
	if kept >= len(lines) {
		return data
	}
	out := maps.Clone(m)
	out["output"] = strings.Join(lines[:kept], "\n")
	out["line_count"] = int64(kept)
	out["next_offset"] = numberOf(m, "offset") + int64(kept)
	out["truncated"] = true
	return out
}

// fitPart returns a part of one line with at most limit bytes, at least one character.
func fitPart(m map[string]any, text string, column int64, limit int) any {
	end := 0
	for i, r := range text {
		if n := i + utf8.RuneLen(r); n <= limit || end == 0 {
			end = n
		}
	}
	out := maps.Clone(m)
	out["output"] = text[:end]
	out["next_column"] = column + int64(utf8.RuneCountInString(text[:end]))
	out["truncated"] = true
	delete(out, "next_offset")
	return out
}

// Lines returns how many of the lines fit into limit bytes, each with a line end; at least
// one if there is any.
func Lines(lines []string, limit int) int {
	used := 0
	for i, l := range lines {
		used += len(l) + 1
		if used > limit {
			return max(i, min(1, len(lines)))
		}
	}
	return len(lines)
}
