package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/jsonx"
)

// margin is the number of characters reserved for the notes about what was cut.
const margin = 400

// Truncated states that a reply was cut and how to read the rest.
type Truncated struct {
	Shown int    `json:"shown"`          // characters of the reply
	Total int    `json:"total"`          // characters of the complete reply
	Read  string `json:"read,omitempty"` // the call that continues; "" if the rest could not be kept
	Note  string `json:"note,omitempty"`
}

// cutter shortens one reply.
type cutter struct {
	env   diag.Envelope // a copy, with data that may be changed
	note  Truncated
	whole string // the text that is cut and kept in a file, "" if the document is
	head  int    // the number of lines of whole before the gap
}

// cutDown renders an envelope in at most MaxReply characters. Texts named content,
// stdout, body and output lose their middle, or their end if they are a part of a
// file. If that is not enough, the longest lists, objects and other texts are cut.
// Everything else is complete. keep stores what was cut and returns its path.
func cutDown(env diag.Envelope, total int, keep func(name string, text []byte) string) []byte {
	c := &cutter{env: env, note: Truncated{Total: total}}
	c.env.Data, _ = generic(env.Data) // rendered before, so it has no error
	if env.Error != nil {
		short := *env.Error
		details, _ := generic(map[string]any(short.Details))
		short.Details, _ = details.(map[string]any)
		c.env.Error = &short
	}
	complete, _ := jsonx.MarshalIndent(c.env)
	file := c.file()
	if file == nil {
		c.cutText()
	}
	if file == nil && c.whole == "" {
		c.whole = string(complete)
	}
	if file != nil {
		c.cutFile(file)
	} else {
		c.keep(keep)
	}
	return c.fit()
}

// fit cuts the largest values until the reply fits.
func (c *cutter) fit() []byte {
	var details any
	if c.env.Error != nil {
		details = c.env.Error.Details
	}
	for range 100 {
		if c.env.Error != nil {
			c.env.Error.Details, _ = details.(map[string]any)
		}
		excess := c.excess()
		if excess <= 0 ||
			!cutLargest([]*any{&c.env.Data, &details}, excess+margin) {
			break
		}
	}
	if c.excess() > 0 { // nothing in it can be cut any further: keep the outcome only
		last := diag.Envelope{Success: c.env.Success, Metadata: c.env.Metadata}
		if e := c.env.Error; e != nil {
			last.Error = &diag.Failure{
				Code:       e.Code,
				Message:    e.Message,
				Retryable:  e.Retryable,
				Suggestion: e.Suggestion,
			}
		}
		c.env = last
	}
	c.excess()
	out, _ := render(&c.env, &c.note)
	return out
}

// excess returns the number of characters by which the reply is too long.
func (c *cutter) excess() int {
	out, _ := render(&c.env, &c.note)
	c.note.Shown = utf8.RuneCount(out)
	return c.note.Shown - MaxReply + margin/8 // the number in note.Shown may get longer
}

// cutText cuts the longest text that may be cut so that the reply fits, if that is
// possible.
func (c *cutter) cutText() {
	var longest slot
	size := 0
	visit := func(s slot, n int) {
		if n > size {
			longest = s
			size = n
		}
	}
	named(
		slot{c.env.Data, func(v any) {
			c.env.Data = v
		}},
		"",
		visit,
	)
	if c.env.Error != nil {
		named(slot{c.env.Error.Details, func(any) {}}, "", visit)
	}
	budget := size - c.excess() - margin
	if size == 0 || budget < margin {
		return
	}
	c.whole, _ = longest.value.(string)
	var short string
	short, c.head = cutMiddle(c.whole, budget)
	longest.set(short)
}

// named visits the texts that may be cut, with their length in characters: those
// whose key has one of the names, and the texts of MCP content.
func named(s slot, key string, visit func(slot, int)) {
	switch v := s.value.(type) {
	case string:
		switch key {
		case "content", "stdout", "body", "output", "text":
			visit(s, quotedLen(v))
		}
	case []any:
		for i, child := range v {
			if m, ok := child.(map[string]any); ok {
				named(slot{m, func(c any) { v[i] = c }}, key, visit)
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "text" && key != "content" {
				continue
			}
			named(
				slot{v[k], func(c any) { v[k] = c }},
				k,
				visit,
			)
		}
	}
}

// file returns the data of a result that is a part of a file of the project: it is
// continued by reading the same file. Nil for others.
func (c *cutter) file() map[string]any {
	m, _ := c.env.Data.(map[string]any)
	_, isText := m["output"].(string)
	_, counted := m["line_count"].(int64)
	_, total := m["total_lines"].(int64)
	name, _ := m["file_path"].(string)
	if !isText || !counted || !total || name == "" {
		return nil
	}
	return m
}

// cutFile removes lines from the end of a part of a file.
func (c *cutter) cutFile(m map[string]any) {
	text, _ := m["output"].(string)
	name, _ := m["file_path"].(string)
	offset, _ := m["offset"].(int64)
	m["truncated"] = true
	c.note.Read = readCall(name, int(offset)+100_000) // of about the final length
	m["next_offset"] = offset
	head, lines := firstLines(text, quotedLen(text)-c.excess()-margin/4)
	m["output"], m["line_count"] = strings.TrimSuffix(head, "\n"), int64(lines)
	m["next_offset"] = offset + int64(lines)
	c.note.Read = readCall(name, int(offset)+lines)
}

// keep stores the whole text, or the whole document, and states how to read it.
func (c *cutter) keep(keep func(name string, text []byte) string) {
	text := c.whole
	ext := ".txt"
	doc, isJSON := cuttext.Indent(text, maxKeptLine)
	lines := c.head + 1
	switch {
	case isJSON: // one long line could not be read by lines
		text = doc
		ext = ".json"
		lines = 1
	default:
		var wrapped bool
		if text, wrapped = cuttext.Wrap(text, maxKeptLine); wrapped {
			c.note.Note = fmt.Sprintf("in the file, lines of more than %d characters are wrapped", maxKeptLine)
			lines = 1
		}
	}
	if file := keep(ext, []byte(text)); file != "" {
		c.note.Read = readCall(file, lines)
	}
}

// readCall returns the call that reads a file from a line on.
func readCall(file string, line int) string {
	name, _ := jsonx.Marshal(file)
	return fmt.Sprintf(`execute rye/file-system/read {"file_path": %s, "offset": %d}`, name, line)
}

// maxKeptLine is the length of the longest line in the file of a complete result,
// in characters. The tool read shortens longer ones.
const maxKeptLine = 1500

// cutLargest removes about excess characters from the largest text, list or
// object in values. It reports false if none can be cut.
func cutLargest(values []*any, excess int) bool {
	var largest slot
	size := 0
	for _, p := range values {
		walk(slot{*p, func(v any) { *p = v }}, func(s slot, n int) {
			if n > size {
				largest = s
				size = n
			}
		})
	}
	if size == 0 {
		return false
	}
	remaining := func(length int) int {
		return min(length*max(size-excess, 0)/size, length-1)
	}
	switch v := largest.value.(type) {
	case string:
		short, _ := cutMiddle(v, max(size-excess, margin))
		largest.set(short)
	case []any:
		largest.set(slices.Clone(v[:remaining(len(v))]))
	case map[string]any:
		kept := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v))[:remaining(len(v))] {
			kept[k] = v[k]
		}
		largest.set(kept)
	}
	return true
}

// slot is a value inside a document, with the function that replaces it.
type slot struct {
	value any
	set   func(any)
}

// walk visits the texts, lists and objects that are worth cutting, with their
// length in characters, and returns the length of the whole value. A list or
// object of which one element is more than half is not visited: that element is.
func walk(s slot, visit func(slot, int)) int {
	switch v := s.value.(type) {
	case string:
		n := quotedLen(v)
		if utf8.RuneCountInString(v) > 2*margin {
			visit(s, n)
		}
		return n
	case []any:
		total := 2
		largest := 0
		for i, child := range v {
			n := walk(slot{child, func(c any) { v[i] = c }}, visit)
			total += n + 1
			largest = max(largest, n)
		}
		if len(v) > 1 && largest < total/2 {
			visit(s, total)
		}
		return total
	case map[string]any:
		total := 2
		largest := 0
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n := len(k) + 4 + walk(
				slot{v[k], func(c any) { v[k] = c }},
				visit,
			)
			total += n
			largest = max(largest, n)
		}
		if len(v) > 50 && largest < total/2 {
			visit(s, total)
		}
		return total
	}
	return 8
}

// quotedLen returns the length of a text as JSON, in characters.
func quotedLen(s string) int {
	return 2 + cuttext.Measure(cuttext.Quoted).Of(s)
}

// cutMiddle removes lines from the middle of a text so that at most budget
// characters of JSON remain, and states how much is missing. It returns the number
// of complete lines before the gap.
func cutMiddle(s string, budget int) (short string, head int) {
	budget -= margin / 4 // for the note
	first, head := firstLines(s, budget*2/3)
	last := lastLines(s[len(first):], budget-quotedLen(first))
	gap := s[len(first) : len(s)-len(last)]
	note := fmt.Sprintf("[… %d characters, %d lines left out …]\n", utf8.RuneCountInString(gap), strings.Count(gap, "\n"))
	if first != "" && !strings.HasSuffix(first, "\n") {
		first += "\n"
	}
	return first + note + last, head
}

// firstLines returns the lines at the start of a text that have at most budget
// characters as JSON, and their number. If the first is longer, it is cut.
func firstLines(s string, budget int) (string, int) {
	return cuttext.Measure(cuttext.Quoted).First(s, budget)
}

// lastLines returns the lines at the end of a text that have at most budget
// characters as JSON, "" if not even one fits and the text has several.
func lastLines(s string, budget int) string {
	return cuttext.Measure(cuttext.Quoted).Last(s, budget)
}
