package schema

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
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

// The schemas of the tools that rye ships are simple: runs of them compile no meta-schema.
func TestSimpleShipped(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../stdlib/.ai/tools", func(file string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		doc, _ := yamlx.Parse(text)
		if doc == nil || doc.Root["config_schema"] == nil || doc.Root["tool_type"] == "library" {
			return nil
		}
		found++
		if v, bad := normalize(doc.Root["config_schema"], MaxMappings); len(bad) > 0 || !simple(v) {
			t.Errorf("%s: its schema is not simple", file)
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d schemas, %v", found, err)
	}
}

// The meta-schema judges what is not simple.
func TestSimple(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type": "object", "properties": {"a": {"type": "string", "minLength": 1, "default": "x"}, "b": {"type": "integer", "minimum": -1}}, "required": ["a"], "additionalProperties": false}`: true,
		`true`:                               true,
		`{"type": "text"}`:                   false,
		`{"type": ["string", "null"]}`:       true,
		`{"type": ["string", "string"]}`:     false,
		`{"type": ["string", 1]}`:            false,
		`{"type": [{}]}`:                     false,
		`{"type": []}`:                       false,
		`{"required": ["a", "a"]}`:           false,
		`{"minLength": 1.5}`:                 false,
		`{"minLength": -1}`:                  false,
		`{"items": [{}]}`:                    false,
		`{"properties": {"a": {"type": 1}}}`: false,
		`{"$ref": "#"}`:                      false,
		`{"description": 1}`:                 false,
		`{"anyOf": [{"required": ["a"]}, {"const": null}], "propertyNames": {"pattern": "^a"}, "not": {"minProperties": 2}}`: true,
		`{"anyOf": []}`:            false,
		`{"oneOf": [{"type": 1}]}`: false,
		`{"not": {"$ref": "#"}}`:   false,
		`{"minProperties": -1}`:    false,
		`{"x-rye-shell": [1]}`:     true,
		`{"tpye": "string"}`:       false,
	} {
		if got := simple(normal(t, text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestCheckSimple: Check finds in a simple schema what Compile does.
func TestCheckSimple(t *testing.T) {
	for _, text := range []string{
		`{"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "additionalProperties": false}`,
		`{"properties": {"a": {"pattern": "("}, "b": {"items": {"pattern": "[a-z]+"}}}}`,
		`{"properties": {"a": {"$ref": "#/properties/b"}}}`,
		`{"properties": {"a": {"tpye": "string"}}}`,
	} {
		v := normal(t, text)
		_, want := Compile(v)
		got := Check(v, &tree.Doc{}, "x")
		if !slices.EqualFunc(got, want, func(a, b diag.Finding) bool { return a.Message == b.Message && a.Severity == b.Severity }) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	// Integers as YAML and Python have them.
	if !simple(map[string]any{"minimum": int64(-1), "maxLength": int64(4)}) || simple(map[string]any{"maxLength": int64(-4)}) {
		t.Error("integers are judged wrongly")
	}
}

// FuzzSimple: what is simple is what every meta-schema accepts.
func FuzzSimple(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"], "maximum": 2, "maxItems": 0}`)
	f.Add(`{"anyOf": [{"required": ["a"]}, {"const": null}], "propertyNames": {"pattern": "^a"}, "not": {"minProperties": 2}}`)
	f.Add(`{"oneOf": [true, {"allOf": [false]}], "not": true, "propertyNames": false, "maxProperties": 3}`)
	f.Add(`{"type": ["string", "null"], "items": {"type": []}}`)
	f.Add(`{"x-a": {"type": 1}, "properties": {"x-b": {"x-c": null}}}`)
	f.Add(`{"items": {"additionalProperties": false, "format": "x", "pattern": "("}, "examples": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		v := normal(t, text)
		if !simple(v) {
			return
		}
		if _, err := newCompiler().compile(v, address, draft2020); err != nil && err != errPattern {
			t.Errorf("%s: %v", text, err)
		}
		for d := draft4; d <= draft2020; d++ {
			if bad := compileMeta(d).validate(v); len(bad) > 0 {
				t.Errorf("%s, draft %d: %v", text, d, bad)
			}
		}
	})
}
