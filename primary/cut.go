package primary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// marginal is the room left for what a cut reply says about itself, in
// characters.
const marginal = 400

// cutDown renders an envelope in at most MaxReply characters: the longest texts
// lose their middles, on the borders of lines, and the longest lists their
// ends. Everything else stays.
func cutDown(env *Envelope, data any, cut *Truncated) []byte {
	parts := []*any{&data}
	var details any
	if env.Error != nil {
		short := *env.Error
		details, _ = generic(short.Details)
		parts = append(parts, &details)
		defer func(e *diag.Failure) { env.Error = e }(env.Error)
		env.Error = &short
	}
	var out []byte
	for range 100 {
		if env.Error != nil {
			env.Error.Details, _ = details.(map[string]any)
		}
		out = render(env, data, cut)
		n := utf8.RuneCount(out)
		if cut.Shown = n; n <= MaxReply-marginal/8 {
			break
		}
		if !cutLargest(parts, n-MaxReply+marginal) {
			break
		}
	}
	out = render(env, data, cut)
	if utf8.RuneCount(out) > MaxReply { // nothing in it can be cut any more
		cut.Shown = 0
		last := &Envelope{Success: env.Success, Metadata: env.Metadata}
		if e := env.Error; e != nil {
			last.Error = &diag.Failure{Code: e.Code, Message: e.Message, Retryable: e.Retryable, Suggestion: e.Suggestion}
		}
		return render(last, nil, cut)
	}
	return out
}

// cutLargest takes about excess characters from the largest text or list below
// the parts, and reports whether there was anything to cut.
func cutLargest(parts []*any, excess int) bool {
	best, size := slot{}, 0
	for _, p := range parts {
		s := slot{get: *p, set: func(v any) { *p = v }}
		walk(s, func(s slot, n int) {
			if n > size {
				best, size = s, n
			}
		})
	}
	if size == 0 {
		return false
	}
	switch v := best.get.(type) {
	case string:
		best.set(middleOut(v, excess))
	case []any:
		best.set(slices.Clone(v[:min(len(v)*max(size-excess, 0)/size, len(v)-1)]))
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		kept := map[string]any{}
		for _, k := range keys[:min(len(v)*max(size-excess, 0)/size, len(v)-1)] {
			kept[k] = v[k]
		}
		best.set(kept)
	}
	return true
}

// slot is a value inside a document and the way to replace it.
type slot struct {
	get any
	set func(any)
}

// walk visits every text that is worth cutting, and every list and wide object,
// with the characters it takes. One whose largest element is most of it is left
// to its element.
func walk(s slot, visit func(slot, int)) int {
	switch v := s.get.(type) {
	case string:
		n := quotedLen(v)
		if utf8.RuneCountInString(v) > 2*marginal {
			visit(s, n)
		}
		return n
	case []any:
		total, largest := 2, 0
		for i, child := range v {
			n := walk(slot{child, func(c any) { v[i] = c }}, visit)
			total, largest = total+n+1, max(largest, n)
		}
		if len(v) > 1 && largest < total/2 {
			visit(s, total)
		}
		return total
	case map[string]any:
		total, largest := 2, 0
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n := len(k) + 4 + walk(slot{v[k], func(c any) { v[k] = c }}, visit)
			total, largest = total+n, max(largest, n)
		}
		if len(v) > 50 && largest < total/2 {
			visit(s, total)
		}
		return total
	}
	return 8
}

// quotedLen returns the characters of a text as JSON.
func quotedLen(s string) int {
	b, err := jsonx.Marshal(s)
	if err != nil {
		return len(s)
	}
	return utf8.RuneCount(b)
}

// middleOut takes at least excess characters from the middle of a text and says
// how many lines or characters are missing. Head and tail end and begin with
// whole lines where there are lines.
func middleOut(s string, excess int) string {
	runes := []rune(s)
	keep := max(len(runes)-excess-marginal/4, marginal)
	head, tail := string(runes[:keep*2/3]), string(runes[len(runes)-keep/3:])
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	missing := len(runes) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	lines := strings.Count(s, "\n") - strings.Count(head, "\n") - strings.Count(tail, "\n")
	return fmt.Sprintf("%s\n[… %d characters, %d lines left out …]\n%s", strings.TrimSuffix(head, "\n"), missing, lines, tail)
}
