package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

// maxDepth is the deepest nesting of a value; the parsers permit 64.
const maxDepth = 128

// normalize copies v with types of the library only: times become text. It reports
// values that JSON does not have. containers is the largest number of mappings and
// lists, 0 for any number.
func normalize(v any, containers int) (any, []Violation) {
	n := normalizer{left: containers, limited: containers > 0}
	return n.value(v, location{}, 1), n.bad
}

type normalizer struct {
	left    int
	limited bool
	bad     []Violation
}

func (n *normalizer) fail(at location, format string, args ...any) any {
	n.bad = append(n.bad, violation(at, "type", format, args...)...)
	return nil
}

func (n *normalizer) value(v any, at location, depth int) any {
	if scalar(v) {
		return v
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return n.fail(at, "must be a finite number, is %v", v)
		}
		return v
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []string:
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
		}
		return out
	case []any, map[string]any:
		return n.container(v, at, depth)
	}
	return n.fail(at, "has the type %T, which JSON does not have", v)
}

func (n *normalizer) container(v any, at location, depth int) any {
	if n.left--; n.limited && n.left < 0 {
		if n.left == -1 {
			n.fail(location{}, "has more than %d parts", MaxMappings)
		}
		return nil
	}
	if depth > maxDepth {
		return n.fail(at, "is nested more than %d deep", maxDepth)
	}
	if list, ok := v.([]any); ok {
		out := make([]any, len(list))
		for i, x := range list {
			if out[i] = x; !scalar(x) {
				out[i] = n.value(x, at.index(i), depth+1)
			}
		}
		return out
	}
	m := v.(map[string]any)
	out := make(map[string]any, len(m))
	for k, x := range m {
		if !scalar(x) {
			x = n.value(x, at.key(k), depth+1)
		}
		out[k] = x
	}
	return out
}

// scalar reports whether a value is copied as it is, wherever it is.
func scalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int, int64, json.Number:
		return true
	}
	return false
}

// location is a path in a value: keys are strings, indexes ints.
type location []any

func (p location) key(k string) location {
	return append(slices.Clip(p), k)
}
func (p location) index(i int) location {
	return append(slices.Clip(p), i)
}

// tree returns the path as positions of a tree.Doc have it.
func (p location) tree() string {
	path := ""
	for _, part := range p {
		switch part := part.(type) {
		case int:
			path = tree.Index(path, part)
		case string:
			path = tree.Join(path, part)
		}
	}
	return path
}

// String returns the form $.a[0].b.
func (p location) String() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range p {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", part)
		case string:
			if identifier(part) {
				b.WriteString("." + part)
			} else {
				fmt.Fprintf(&b, "[%s]", show(part))
			}
		}
	}
	return b.String()
}

func identifier(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '-')) {
			return false
		}
	}
	return s != ""
}

// show returns a value as short JSON with visible characters.
func show(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return "a value"
	}
	r := []rune(hidden.Visible(string(b)))
	if len(r) > 60 {
		r = append(r[:57], []rune("...")...)
	}
	return string(r)
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int, int64:
		return "integer"
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return "integer"
		}
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
