package mcpclient

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
)

// Tool is a server's description of one tool: everything that a model reads.
type Tool struct {
	Name         string
	Title        string
	Description  string
	InputSchema  map[string]any
	OutputSchema any
	Annotations  map[string]any
	Problem      string // why it cannot be used as described, or ""
}

// Definition returns the tool as plain values under the protocol's names.
func (t Tool) Definition() map[string]any {
	m := map[string]any{"name": t.Name, "inputSchema": t.InputSchema}
	for key, v := range map[string]string{"title": t.Title, "description": t.Description} {
		if v != "" {
			m[key] = v
		}
	}
	if t.OutputSchema != nil {
		m["outputSchema"] = t.OutputSchema
	}
	if len(t.Annotations) > 0 {
		m["annotations"] = t.Annotations
	}
	if t.Problem != "" {
		m["problem"] = t.Problem
	}
	return m
}

// Hash returns the digest of the definition as canonical JSON: sorted keys, no
// white space. It covers everything that a model reads.
func (t Tool) Hash() (item.Digest, error) {
	b, err := jsonx.Marshal(t.Definition())
	if err != nil {
		return item.Digest{}, diag.New(diag.ValidationFailed, "hashing the definition of tool %q: %w", t.Name, err)
	}
	return sha256.Sum256(b), nil
}

// toolOf converts a tool of the protocol library. raw is its definition as the
// server sent it, nil if that is unknown.
func toolOf(in *mcp.Tool, raw map[string]json.RawMessage) Tool {
	t := Tool{Name: in.Name, Title: in.Title, Description: in.Description}
	schema, err := plainPart(raw["inputSchema"], in.InputSchema)
	if err == nil && in.OutputSchema != nil {
		t.OutputSchema, err = plainPart(raw["outputSchema"], in.OutputSchema)
	}
	if err == nil && in.Annotations != nil {
		var notes any
		notes, err = plainPart(nil, in.Annotations)
		t.Annotations, _ = notes.(map[string]any)
	}
	var ok bool
	switch t.InputSchema, ok = schema.(map[string]any); {
	case err != nil:
		t.Problem = err.Error()
	case !ok:
		t.Problem = "its inputSchema is not an object"
	}
	return t
}

// plainPart returns a part of a definition: the server's text, or else the value of
// the library.
func plainPart(raw json.RawMessage, v any) (any, error) {
	if raw != nil {
		return plain(raw)
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	return plain(b)
}

// TextAt is a text in a definition, with its path.
type TextAt struct{ At, Text string }

// Texts returns the texts of a definition except the tool's name and description:
// title, annotations, and every text and key of the schemas that is not a keyword
// of JSON Schema.
func (t Tool) Texts() []TextAt {
	var out []TextAt
	if t.Title != "" {
		out = append(out, TextAt{"title", t.Title})
	}
	b, err := jsonx.Marshal(t.Annotations)
	if err == nil && len(t.Annotations) > 0 {
		out = append(out, TextAt{"annotations", string(b)})
	}
	schemas := map[string]any{"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema}
	for _, name := range []string{"inputSchema", "outputSchema"} {
		walkTexts(schemas[name], name, func(at, text string) {
			key, isKey := strings.CutPrefix(at, keyOf)
			word := key[strings.LastIndexByte(key, '.')+1:]
			switch {
			case isKey && word != "properties" && schemaWord(text), !isKey && word == "type" && typeWord(text):
				return
			case isKey || word == "enum" || word == "required": // of one list
				i := slices.IndexFunc(out, func(s TextAt) bool {
					return s.At == key
				})
				if i >= 0 {
					out[i].Text += ", " + text
					return
				}
			}
			out = append(out, TextAt{key, text})
		})
	}
	return out
}

// schemaWord reports whether a key is a keyword of JSON Schema.
func schemaWord(key string) bool {
	switch key {
	case "$schema", "$id", "$ref", "$defs", "$comment", "definitions", "type", "title", "description", "default", "examples", "enum", "const", "format",
		"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
		"deprecated", "readOnly", "writeOnly":
		return true
	}
	return false
}

// typeWord reports whether a text is one of the types of JSON Schema.
func typeWord(text string) bool {
	switch text {
	case "object", "array", "string", "number", "integer", "boolean", "null":
		return true
	}
	return false
}

// keyOf begins the path of a key.
const keyOf = "a key of "

// checkTexts returns findings for invisible characters in a definition. Characters
// that can hide an instruction from the user are errors.
func (t Tool) checkTexts() []diag.Finding {
	var fs []diag.Finding
	walkTexts(t.Definition(), "", func(at, text string) {
		for _, f := range hidden.Scan([]byte(text)) {
			f.Message = "tool " + quoted(t.Name) + ": " + at + " contains invisible characters: " + f.Message
			f.Line = 0
			f.Column = 0
			fs = append(fs, f)
		}
	})
	return fs
}

// walkTexts visits every text and every key of a value, in order of keys.
func walkTexts(v any, at string, fn func(at, text string)) {
	switch v := v.(type) {
	case string:
		fn(at, v)
	case []any:
		for _, e := range v {
			walkTexts(e, at, fn)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			below := strings.TrimPrefix(at+"."+k, ".")
			fn(keyOf+at, k)
			walkTexts(v[k], below, fn)
		}
	}
}

func quoted(s string) string {
	const most = 80
	return `"` + hidden.Visible(cuttext.Short(s, most)) + `"`
}
