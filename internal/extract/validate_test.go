package extract

import (
	"math"
	"regexp"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func TestValidate(t *testing.T) {
	at := func(n float64) *float64 { return &n }
	ref := item.Ref{Kind: item.Tool, ID: "demo/hello"}
	for _, c := range []struct {
		name  string
		field Field
		value any // nil is absent, none is null
		want  string
	}{
		{"absent", Field{}, nil, ""},
		{"required", Field{Required: true}, nil, `missing field "f"`},
		{"null", Field{}, none{}, `field "f" may not be null`},
		{"nullable", Field{Required: true, Nullable: true}, none{}, ""},
		{"string", Field{Type: "string"}, "x", ""},
		{"no string", Field{Type: "string"}, int64(1), `field "f" must be string, is integer 1`},
		{"empty", Field{Type: "string", Required: true}, " \n", `field "f" is empty`},
		{"empty but optional", Field{Type: "string"}, "", ""},
		{"integer", Field{Type: "integer"}, int64(1), ""},
		{"float", Field{Type: "integer"}, 1.0, `field "f" must be integer, is number 1`},
		{"number", Field{Type: "number"}, 1.5, ""},
		{"decimal text", Field{Type: "number"}, "0.05", ""},
		{"exponent text", Field{Type: "number"}, "1e9", `field "f" must be number, is "1e9"`},
		{"nan", Field{Type: "number"}, math.NaN(), `field "f" must be number, is number NaN`},
		{"infinite", Field{Type: "number"}, math.Inf(1), `field "f" must be number, is number +Inf`},
		{"boolean", Field{Type: "boolean"}, "true", `field "f" must be boolean, is "true"`},
		{"object", Field{Type: "object"}, []any{}, `field "f" must be object, is array`},
		{"array", Field{Type: "array"}, map[string]any{}, `field "f" must be array, is object`},
		{"semver", Field{Type: "semver"}, "1.2.3-rc.1", ""},
		{"no semver", Field{Type: "semver"}, "1.2", `field "f" must be a semantic version (MAJOR.MINOR.PATCH), is "1.2"`},
		{"float semver", Field{Type: "semver"}, 1.0, `field "f" must be a semantic version (MAJOR.MINOR.PATCH), is number 1`},
		{"enum", Field{Type: "enum", Values: []string{"a", "b"}}, "b", ""},
		{"no enum", Field{Type: "enum", Values: []string{"a", "b"}}, "c", `field "f" must be one of a, b, is "c"`},
		{"pattern", Field{Pattern: regexp.MustCompile("^a+$")}, "aa", ""},
		{"no pattern", Field{Pattern: regexp.MustCompile("^a+$")}, "ab", `field "f" is "ab", which does not match ^a+$`},
		{"minimum", Field{Minimum: at(1)}, int64(0), `field "f" is 0, at least 1 is required`},
		{"maximum", Field{Maximum: at(1)}, 1.5, `field "f" is 1.5, at most 1 is allowed`},
		{"edges", Field{Minimum: at(1), Maximum: at(1)}, int64(1), ""},
		{"minimum of a decimal text", Field{Type: "number", Minimum: at(1)}, "0.5", `field "f" is 0.5, at least 1 is required`},
		{"filename", Field{MatchFilename: true}, "hello", ""},
		{"whole id", Field{MatchFilename: true}, "demo/hello", ""},
		{"other filename", Field{MatchFilename: true}, "bye", `field "f" is "bye", but the file's name is "hello"`},
		{"path", Field{MatchPath: true}, "demo", ""},
		{"other path", Field{MatchPath: true}, "demo/x", `field "f" is "demo/x", but the file's directory is "demo"`},
		{"element", Field{Type: "array", Item: &Field{Type: "string"}}, []any{"a", nil}, `field "f.1" must be string, is null`},
		{"nested", Field{Nested: []Field{{Name: "g", Required: true}}}, map[string]any{}, `missing field "f.g"`},
	} {
		c.field.Name = "f"
		e := &Extractor{Kind: item.Tool, Schema: Schema{Fields: []Field{c.field}}}
		m := &item.Metadata{Fields: map[string]any{}, Pos: map[string]diag.Position{"f": {Line: 4, Column: 7}}}
		switch c.value.(type) {
		case nil:
		case none:
			m.Fields["f"] = nil
		default:
			m.Fields["f"] = c.value
		}
		fs := e.Validate(ref, m)
		line, col := 4, 7
		if c.name == "required" { // no position: the beginning of the file
			line, col = 1, 0
		}
		switch {
		case c.want == "" && len(fs) > 0:
			t.Errorf("%s: %v", c.name, fs)
		case c.want != "" && (len(fs) != 1 || fs[0].Message != c.want || fs[0].Code != diag.ValidationFailed || fs[0].Line != line || fs[0].Column != col):
			t.Errorf("%s: %+v, want %s at %d:%d", c.name, fs, c.want, line, col)
		}
	}
	if fs := (&Extractor{Schema: minimum("version", "title")}).Validate(ref, &item.Metadata{}); len(fs) != 2 || fs[0].Line != 1 {
		t.Errorf("no metadata at all: %v", fs)
	}
}

type none struct{}
