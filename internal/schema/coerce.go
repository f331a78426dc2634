package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
)

// Defaults returns a copy of v with the defaults of missing top-level properties. The
// defaults are copies too, so the caller may change them.
func (s *Schema) Defaults(v map[string]any) map[string]any {
	out := maps.Clone(v)
	if out == nil {
		out = map[string]any{}
	}
	for name, p := range s.properties() {
		m, _ := p.(map[string]any)
		def, declared := m["default"]
		if _, given := out[name]; declared && !given {
			out[name], _ = normalize(def, 0)
		}
	}
	return out
}

// Coerce parses text as the declared type of the property name: the first type of a
// union that fits, string last. Without a declared type the result is the text. A
// name that the schema does not declare is UNKNOWN_PARAMETER, unless the schema
// permits other names or declares none.
func (s *Schema) Coerce(name, text string) (any, error) {
	sub, ok := s.property(name)
	if !ok {
		return nil, s.unknown(name)
	}
	types := s.types(sub, 0)
	if len(types) == 0 {
		return text, nil
	}
	for _, typ := range types {
		if v, ok := read(typ, text); ok {
			return v, nil
		}
	}
	err := diag.New(
		diag.ValidationFailed,
		"reading parameter %q: must be %s, is %s",
		name,
		strings.Join(types, " or "),
		show(text),
	)
	if slices.Contains(types, "array") || slices.Contains(types, "object") {
		err.WithReason("json").WithDetail("parameter", name)
	}
	return nil, err
}

// Known returns nil if the schema declares or permits the property name, else the
// error of Coerce, UNKNOWN_PARAMETER.
func (s *Schema) Known(name string) error {
	if _, ok := s.property(name); !ok {
		return s.unknown(name)
	}
	return nil
}

// property returns the subschema of a property, true if it has none.
func (s *Schema) property(name string) (any, bool) {
	props := s.properties()
	if p, ok := props[name]; ok {
		return p, true
	}
	patterns, _ := s.root()["patternProperties"].(map[string]any)
	for _, re := range slices.Sorted(maps.Keys(patterns)) {
		if ok, err := regexp.MatchString(re, name); err == nil && ok {
			return patterns[re], true
		}
	}
	switch extra := s.root()["additionalProperties"].(type) {
	case bool:
		return true, extra
	case map[string]any:
		return extra, true
	}
	return true, len(props) == 0 && s.doc != false
}

func (s *Schema) unknown(name string) error {
	names := s.Properties()
	err := diag.New(diag.UnknownParameter, "reading parameter %q: no such parameter", name).WithDetail("parameters", names)
	if near := suggest.Nearest(name, names); near != "" {
		return err.WithReason("nearest").WithDetail("nearest", near)
	}
	return err.WithReason("parameters")
}

// types returns the types of a subschema, string last.
func (s *Schema) types(sub any, depth int) []string {
	m, _ := sub.(map[string]any)
	if depth > 8 || m == nil {
		return nil
	}
	var out []string
	switch t := m["type"].(type) {
	case string:
		out = []string{t}
	case []any:
		for _, v := range t {
			out = append(out, fmt.Sprint(v))
		}
	}
	if len(out) == 0 {
		out = s.implied(m, depth)
	}
	if i := slices.Index(out, "string"); i >= 0 {
		out = append(slices.DeleteFunc(out, func(t string) bool { return t == "string" }), "string")
	}
	return out
}

// implied returns the types of a subschema without a type keyword: the types of its
// reference, its alternatives or its permitted values.
func (s *Schema) implied(m map[string]any, depth int) []string {
	var out []string
	if ref, ok := m["$ref"].(string); ok {
		return s.types(s.lookup(ref), depth+1)
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := m[k].([]any)
		for _, alt := range list {
			out = append(out, s.types(alt, depth+1)...)
		}
	}
	values, _ := m["enum"].([]any)
	if c, ok := m["const"]; ok {
		values = append(slices.Clip(values), c)
	}
	for _, v := range values {
		out = append(out, typeOf(v))
	}
	var unique []string
	for _, t := range out {
		if !slices.Contains(unique, t) {
			unique = append(unique, t)
		}
	}
	return unique
}

// lookup returns the target of a reference in the schema, "#/$defs/x".
func (s *Schema) lookup(ref string) any {
	ptr, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var v any = s.root()
	for tok := range strings.SplitSeq(ptr, "/") {
		m, _ := v.(map[string]any)
		v = m[strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")]
	}
	return v
}

// read parses text as one type.
func read(typ, text string) (any, bool) {
	switch typ {
	case "string":
		return text, true
	case "boolean":
		return text == "true", text == "true" || text == "false"
	case "null":
		return nil, text == "null"
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		v, found := jsonx.ParseMessage([]byte(text))
		_, large := v.(json.Number)
		return v, large && len(found) == 0 && typeOf(v) == "integer"
	}
	v, found := jsonx.ParseMessage([]byte(text))
	if len(found) > 0 {
		return nil, false
	}
	got := typeOf(v)
	return v, got == typ || typ == "number" && got == "integer"
}
