package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// margin is the number of characters reserved for the notes about what was cut.
const margin = 400

// cutDown renders an envelope in at most MaxReply characters. It removes the
// middle of the longest texts and the end of the longest lists and objects until
// the rest fits; everything else is complete.
func cutDown(env diag.Envelope, cut *Truncated) []byte {
	env.Data, _ = generic(env.Data) // rendered before, so it has no error; also a copy that may be changed
	var details any
	if env.Error != nil {
		short := *env.Error
		env.Error = &short
		details = map[string]any(short.Details)
	}
	for range 100 {
		if env.Error != nil {
			env.Error.Details, _ = details.(map[string]any)
		}
		out, _ := render(&env, cut)
		cut.Shown = utf8.RuneCount(out)
		if cut.Shown <= MaxReply-margin/8 || !cutLargest([]*any{&env.Data, &details}, cut.Shown-MaxReply+margin) {
			break
		}
	}
	out, _ := render(&env, cut)
	if utf8.RuneCount(out) <= MaxReply {
		return out
	}
	// Nothing in it can be cut any further: keep the outcome only.
	cut.Shown = 0
	last := &diag.Envelope{Success: env.Success, Metadata: env.Metadata}
	if e := env.Error; e != nil {
		last.Error = &diag.Failure{Code: e.Code, Message: e.Message, Retryable: e.Retryable, Suggestion: e.Suggestion}
	}
	out, _ = render(last, cut)
	return out
}

// cutLargest removes about excess characters from the largest text, list or
// object in values. It reports false if none can be cut.
func cutLargest(values []*any, excess int) bool {
	var largest slot
	size := 0
	for _, p := range values {
		walk(slot{*p, func(v any) { *p = v }}, func(s slot, n int) {
			if n > size {
				largest, size = s, n
			}
		})
	}
	if size == 0 {
		return false
	}
	remaining := func(length int) int { return min(length*max(size-excess, 0)/size, length-1) }
	switch v := largest.value.(type) {
	case string:
		largest.set(cutMiddle(v, excess))
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
		total, largest := 2, 0
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
		total, largest := 2, 0
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n := len(k) + 4 + walk(slot{v[k], func(c any) { v[k] = c }}, visit)
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
	b, err := jsonx.Marshal(s)
	if err != nil {
		return len(s)
	}
	return utf8.RuneCount(b)
}

// cutMiddle removes at least excess characters from the middle of a text and
// states how much is missing. The rest consists of complete lines if there are
// any near the cut.
func cutMiddle(s string, excess int) string {
	runes := []rune(s)
	keep := max(len(runes)-excess-margin/4, margin)
	head := string(runes[:keep*2/3])
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	tail := string(runes[len(runes)-keep/3:])
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	missing := len(runes) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	lines := strings.Count(s, "\n") - strings.Count(head, "\n") - strings.Count(tail, "\n")
	return fmt.Sprintf("%s\n[… %d characters, %d lines left out …]\n%s", strings.TrimSuffix(head, "\n"), missing, lines, tail)
}
