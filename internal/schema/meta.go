package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
)

// metaSchema returns the rules for the keywords of a draft, as a schema of 2020-12.
// It is written for this package: the published meta-schemas need dynamic references
// in every subschema, and their messages name parts that no author has written.
func metaSchema(d draft) any {
	var m map[string]any
	err := json.Unmarshal([]byte(metaText), &m)
	if err != nil {
		panic(err)
	}
	props := m["properties"].(map[string]any)
	sub := map[string]any{"$ref": "#"}
	lists := map[string]any{"type": "array", "minItems": 1.0, "items": sub}
	if d <= draft2019 {
		props["items"] = map[string]any{"anyOf": []any{sub, lists}}
		props["additionalItems"] = sub
	}
	if d == draft4 {
		flag := map[string]any{"type": "boolean"}
		props["exclusiveMinimum"], props["exclusiveMaximum"] = flag, flag
	}
	return m
}

const metaText = `{
	"type": ["object", "boolean"],
	"properties": {
		"$schema": {"type": "string"}, "$id": {"type": "string"}, "$ref": {"type": "string"}, "$comment": {"type": "string"},
		"$anchor": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}, "$dynamicAnchor": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"},
		"$dynamicRef": {"type": "string"}, "$recursiveRef": {"type": "string"}, "$recursiveAnchor": {"type": "boolean"},
		"$defs": {"$ref": "#/$defs/named"}, "definitions": {"$ref": "#/$defs/named"},
		"type": {"anyOf": [{"$ref": "#/$defs/type"}, {"type": "array", "items": {"$ref": "#/$defs/type"}, "minItems": 1, "uniqueItems": true}]},
		"enum": {"type": "array"}, "format": {"type": "string"}, "pattern": {"type": "string"},
		"minimum": {"type": "number"}, "maximum": {"type": "number"}, "exclusiveMinimum": {"type": "number"}, "exclusiveMaximum": {"type": "number"},
		"multipleOf": {"type": "number", "exclusiveMinimum": 0},
		"minLength": {"$ref": "#/$defs/count"}, "maxLength": {"$ref": "#/$defs/count"}, "minItems": {"$ref": "#/$defs/count"}, "maxItems": {"$ref": "#/$defs/count"},
		"minProperties": {"$ref": "#/$defs/count"}, "maxProperties": {"$ref": "#/$defs/count"}, "minContains": {"$ref": "#/$defs/count"}, "maxContains": {"$ref": "#/$defs/count"},
		"uniqueItems": {"type": "boolean"},
		"required": {"$ref": "#/$defs/texts"},
		"dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/$defs/texts"}},
		"dependencies": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/texts"}]}},
		"dependentSchemas": {"$ref": "#/$defs/named"}, "properties": {"$ref": "#/$defs/named"}, "patternProperties": {"$ref": "#/$defs/named"},
		"additionalProperties": {"$ref": "#"}, "propertyNames": {"$ref": "#"}, "unevaluatedProperties": {"$ref": "#"}, "unevaluatedItems": {"$ref": "#"},
		"prefixItems": {"$ref": "#/$defs/list"}, "items": {"$ref": "#"}, "contains": {"$ref": "#"},
		"allOf": {"$ref": "#/$defs/list"}, "anyOf": {"$ref": "#/$defs/list"}, "oneOf": {"$ref": "#/$defs/list"},
		"not": {"$ref": "#"}, "if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"},
		"title": {"type": "string"}, "description": {"type": "string"}, "examples": {"type": "array"},
		"readOnly": {"type": "boolean"}, "writeOnly": {"type": "boolean"}, "deprecated": {"type": "boolean"}
	},
	"$defs": {
		"named": {"type": "object", "additionalProperties": {"$ref": "#"}},
		"list": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
		"count": {"type": "integer", "minimum": 0},
		"texts": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
		"type": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}
	}
}`

// checkSchema returns the rules that the keywords of a schema violate.
func checkSchema(v any, d draft) []Violation {
	if simple(v) {
		return nil
	}
	m := &metas[d]
	m.Do(func() { m.compiled = compileMeta(d) })
	return m.compiled.validate(v)
}

// metas are the meta-schemas, each compiled at its first use.
var metas [draft2020 + 1]struct {
	sync.Once
	compiled *Schema
}

func compileMeta(d draft) *Schema {
	s := &Schema{doc: metaSchema(d)}
	var err error
	if s.top, err = newCompiler().compile(s.doc, address, draft2020); err != nil {
		panic(err)
	}
	return s
}

// simple reports that a schema has only keywords that are listed here, each with a value
// that every draft permits. Most schemas of tools are such, and every run of a tool checks
// one: to compile the meta-schema takes longer than the rest of the check.
func simple(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		_, ok = v.(bool)
		return ok
	}
	for key, value := range m {
		if !simpleKeyword(key, value) {
			return false
		}
	}
	return true
}

func simpleKeyword(key string, value any) (ok bool) {
	switch key {
	case "default", "const":
		return true
	case "title", "description", "format", "pattern":
		_, ok = value.(string)
	case "type":
		names, isList := value.([]any)
		if !isList {
			names = []any{value}
		}
		ok = len(names) > 0 && uniqueTexts(names) && !slices.ContainsFunc(names, func(name any) bool {
			return !slices.Contains([]any{"array", "boolean", "integer", "null", "number", "object", "string"}, name)
		})
	case "enum", "examples":
		_, ok = value.([]any)
	case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		ok = simpleNumber(value, key == "minimum" || key == "maximum")
	case "items", "additionalProperties", "propertyNames", "not":
		return simple(value)
	case "oneOf", "anyOf", "allOf":
		list, _ := value.([]any)
		return len(list) > 0 &&
			!slices.ContainsFunc(list, func(sub any) bool {
				return !simple(sub)
			})
	case "properties":
		named, isMap := value.(map[string]any)
		if !isMap {
			return false
		}
		for _, sub := range named {
			if !simple(sub) {
				return false
			}
		}
		return true
	case "required":
		return uniqueTexts(value)
	default:
		ok = strings.HasPrefix(key, "x-") // no draft has such a keyword
	}
	return ok
}

// simpleNumber reports whether a value is a number, and a length unless any is set.
func simpleNumber(value any, any bool) bool {
	switch n := value.(type) {
	case int:
		return any || n >= 0
	case int64:
		return any || n >= 0
	case float64:
		return any || n >= 0 && n == math.Trunc(n)
	}
	return false
}

func uniqueTexts(value any) bool {
	list, ok := value.([]any)
	seen := map[string]bool{}
	for _, v := range list {
		text, isText := v.(string)
		if !isText || seen[text] {
			return false
		}
		seen[text] = true
	}
	return ok
}
