package jsonx

import (
	"bytes"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Plain returns the value that ParseMessage reads from the text that Marshal writes of v.
// Mappings, lists and texts are copied without a text between: most values that one part of
// this program passes to another consist of them.
func Plain(v any) (any, error) {
	if out, ok := plainAt(v, 1); ok {
		return out, nil
	}
	return throughText(v)
}

// Object is Plain of a value that is written as an object. It returns nil for another value.
func Object(v any) (map[string]any, error) {
	plain, err := Plain(v)
	if err != nil {
		return nil, diag.New(diag.Internal, "writing an object: %w", err)
	}
	object, _ := plain.(map[string]any)
	return object, nil
}

// plainAt is Plain of a value at a depth. ok is false if only the text of the whole
// shows the result.
func plainAt(v any, depth int) (out any, ok bool) {
	if depth > MaxMessageDepth {
		return nil, false
	}
	switch v := v.(type) {
	case nil, bool, int64:
		return v, true
	case int:
		return int64(v), true
	case string:
		return v, utf8.ValidString(v)
	case map[string]any:
		return plainMap(v, depth)
	case []any:
		return plainList(v, depth)
	}
	out, err := throughText(v)
	return out, err == nil && shallow(out, depth)
}

func plainMap(m map[string]any, depth int) (any, bool) {
	if m == nil {
		return nil, true
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		x, ok := plainAt(v, depth+1)
		if !ok || !utf8.ValidString(k) {
			return nil, false
		}
		out[k] = x
	}
	return out, true
}

func plainList(list []any, depth int) (any, bool) {
	if list == nil {
		return nil, true
	}
	out := make([]any, len(list))
	for i, v := range list {
		x, ok := plainAt(v, depth+1)
		if !ok {
			return nil, false
		}
		out[i] = x
	}
	return out, true
}

// shallow reports whether a value that is read at a depth is not nested too deep.
func shallow(v any, depth int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if !shallow(x, depth+1) {
				return false
			}
		}
	case []any:
		for _, x := range v {
			if !shallow(x, depth+1) {
				return false
			}
		}
	default:
		return true
	}
	return depth <= MaxMessageDepth
}

// Same reports whether two values are written as the same JSON.
func Same(a, b any) bool {
	x, err := Marshal(a)
	if err != nil {
		return false
	}
	y, err := Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

func throughText(v any) (any, error) {
	b, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	out, found := ParseMessage(b)
	return out, diag.FromFindings("reading json", found)
}
