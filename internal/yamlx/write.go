package yamlx

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// Pair is one entry of a Map.
type Pair struct {
	Key   string
	Value any
}

// Map is a mapping that keeps the order of its entries when written.
type Map []Pair

// maxKey is the longest key, in bytes, that parsers must accept without "?".
const maxKey = 1000

// Marshal returns v as block YAML, which Parse parses to the same value without
// a warning. It takes the values of package tree (times excepted), int,
// []string, []Map and Map; keys of other maps are sorted.
func Marshal(v any) ([]byte, error) {
	var w writer
	w.value(v, 0, false)
	if w.err != nil {
		return nil, w.err
	}
	return []byte(w.b.String()), nil
}

type writer struct {
	b   strings.Builder
	err error
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = diag.New(diag.Internal, "writing yaml: "+format, args...)
	}
}

func (w *writer) indent(n int) {
	for range n {
		w.b.WriteString("  ")
	}
}

// value writes v at a depth, up to its line end. A value after "key:" goes to
// the next line when it is a block, one after "- " begins where it is.
func (w *writer) value(v any, depth int, afterKey bool) {
	switch v := v.(type) {
	case Map:
		w.mapping(v, depth, afterKey)
	case map[string]any:
		w.mapping(sorted(v), depth, afterKey)
	case []any:
		w.list(v, depth, afterKey)
	case []string:
		w.list(anyList(v), depth, afterKey)
	case []Map:
		w.list(anyList(v), depth, afterKey)
	default:
		if afterKey {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(w.scalar(v, depth))
		w.b.WriteByte('\n')
	}
}

func sorted(m map[string]any) Map {
	out := make(Map, 0, len(m))
	for k, v := range m {
		out = append(out, Pair{k, v})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Key < out[j].Key
	})
	return out
}

func anyList[T any](in []T) []any {
	out := make([]any, len(in))
	for i := range in {
		out[i] = in[i]
	}
	return out
}

// begin writes the separator between "key:" and a block, and reports whether the
// block may be written.
func (w *writer) begin(empty string, n, depth int, afterKey bool) bool {
	switch {
	case depth >= MaxDepth:
		w.fail("nested more than %d deep", MaxDepth)
	case n == 0 && afterKey:
		w.b.WriteString(" " + empty + "\n")
	case n == 0:
		w.b.WriteString(empty + "\n")
	case afterKey:
		w.b.WriteByte('\n')
	}
	return n > 0 && w.err == nil
}

func (w *writer) mapping(m Map, depth int, afterKey bool) {
	if !w.begin("{}", len(m), depth, afterKey) {
		return
	}
	seen := make(map[string]bool, len(m))
	for i, p := range m {
		if seen[p.Key] || p.Key == "<<" || len(p.Key) > maxKey {
			w.fail("key %.40q is duplicate, reserved or too long", p.Key)
		}
		seen[p.Key] = true
		if i > 0 || afterKey {
			w.indent(depth)
		}
		w.b.WriteString(w.text(p.Key))
		w.b.WriteByte(':')
		w.value(p.Value, depth+1, true)
	}
}

func (w *writer) list(l []any, depth int, afterKey bool) {
	if !w.begin("[]", len(l), depth, afterKey) {
		return
	}
	for i, v := range l {
		if i > 0 || afterKey {
			w.indent(depth)
		}
		w.b.WriteString("- ")
		w.value(v, depth+1, false)
	}
}

func (w *writer) scalar(v any, depth int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return w.float(v)
	case json.Number:
		if isLarge(v.String()) {
			return v.String()
		}
	case string:
		if lines := literal(v, depth); lines != "" {
			return lines
		}
		return w.text(v)
	}
	w.fail("a %T cannot be written", v)
	return ""
}

func (w *writer) float(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("%v is not a finite number", f)
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Contains(s, ".") {
		return s
	}
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok {
		return mantissa + ".0e" + exponent
	}
	return s + ".0"
}

// text returns a string on one line, quoted unless every parser reads it as the
// same text.
func (w *writer) text(s string) string {
	if bare(s) {
		return s
	}
	if !utf8.ValidString(s) {
		w.fail("%q is not UTF-8", s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= 0x20 && r < 0x7f || r >= 0x80 && visible(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func visible(r rune) bool {
	return hidden.Visible(string(r)) == string(r)
}

// bare reports whether s may be written without quotes: ASCII words that are text
// to every parser.
func bare(s string) bool {
	if s == "" || len(s) == 1 && strings.ContainsAny(s, "yYnN") {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '/'
		inner := c >= '0' && c <= '9' || strings.IndexByte(".-+@=", c) >= 0 ||
			c == ' ' && i+1 < len(s) && s[i+1] != ' ' || c == ':' && i+1 < len(s) && s[i+1] != ' '
		if !letter && (i == 0 || !inner) {
			return false
		}
	}
	v, problem := plain(s)
	return v == s && problem.text == ""
}

// literal returns text of several lines as a block, or "" if parsing the block
// would not return the same lines.
func literal(s string, depth int) string {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || depth == 0 || !utf8.ValidString(s) {
		return ""
	}
	var b strings.Builder
	b.WriteString("|-")
	if body != s {
		b.Reset()
		b.WriteString("|")
	}
	for i, line := range strings.Split(body, "\n") {
		last := len(line) - 1
		if (i == 0 || strings.HasSuffix(body, "\n")) && line == "" || last >= 0 && (line[0] == ' ' && i == 0 || line[0] == '\t' || line[last] == ' ' || line[last] == '\t') ||
			hidden.Visible(strings.ReplaceAll(line, "\t", "")) != strings.ReplaceAll(line, "\t", "") {
			return ""
		}
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(strings.Repeat("  ", depth) + line)
		}
	}
	return b.String()
}
