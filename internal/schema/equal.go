package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// equal reports whether two values are the same JSON value: 1 and 1.0 are.
func equal(a, b any) bool {
	switch a := a.(type) {
	case nil, bool, string:
		return a == b
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equal)
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, m, equal)
	}
	p := rational(a)
	q := rational(b)
	return p != nil && q != nil && p.Cmp(q) == 0
}

// duplicates returns the first two equal items of a list.
func duplicates(list []any) (i, j int, found bool) {
	first := map[string]int{}
	for j, v := range list {
		var b strings.Builder
		canonical(&b, v)
		if i, found = first[b.String()]; found {
			return i, j, true
		}
		first[b.String()] = j
	}
	return 0, 0, false
}

// canonical writes a value so that equal values, and no others, have equal texts.
func canonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		b.WriteString(strconv.Quote(v))
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			canonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":")
			canonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		if q := rational(v); q != nil {
			b.WriteString(q.RatString())
		}
	}
}
