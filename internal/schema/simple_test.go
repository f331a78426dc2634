package schema

import (
	"encoding/json"
	"testing"
)

func normal(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Skip(err)
	}
	v, bad := normalize(v, MaxMappings)
	if len(bad) > 0 {
		t.Skip("not a value of a schema")
	}
	return v
}

// The schemas of the tools that rye ships are simple; the meta-schema judges the others.
func TestSimple(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type": "object", "properties": {"a": {"type": "string", "minLength": 1, "default": "x"}, "b": {"type": "integer", "minimum": -1}}, "required": ["a"], "additionalProperties": false}`: true,
		`true`:                               true,
		`{"type": "text"}`:                   false,
		`{"type": ["string"]}`:               false,
		`{"required": ["a", "a"]}`:           false,
		`{"minLength": 1.5}`:                 false,
		`{"minLength": -1}`:                  false,
		`{"items": [{}]}`:                    false,
		`{"properties": {"a": {"type": 1}}}`: false,
		`{"$ref": "#"}`:                      false,
		`{"description": 1}`:                 false,
	} {
		if got := simple(normal(t, text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzSimple: what is simple is what every meta-schema accepts.
func FuzzSimple(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"], "maximum": 2, "maxItems": 0}`)
	f.Add(`{"items": {"additionalProperties": false, "format": "x", "pattern": "("}, "examples": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		v := normal(t, text)
		if !simple(v) {
			return
		}
		for d := draft4; d <= draft2020; d++ {
			if bad := compileMeta(d).validate(v); len(bad) > 0 {
				t.Errorf("%s, draft %d: %v", text, d, bad)
			}
		}
	})
}
