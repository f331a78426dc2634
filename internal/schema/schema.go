// Package schema checks values against JSON Schema 2020-12 and describes each
// violation in plain English.
//
// It reads no file and no URL: a schema may refer to itself and to the standard
// meta-schemas only. A validation that takes too many steps is stopped.
package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// MaxMappings is the number of mappings and lists that a schema may contain.
const MaxMappings = 5000

// address is the URL of a schema without $id. No code opens it.
const address = "rye:///schema"

// Schema is a compiled JSON Schema, safe for concurrent use.
type Schema struct {
	doc    any
	top    *node
	tracks bool // a keyword needs to know what other keywords have evaluated
}

// errDenied is the error for every URL except the URLs of the meta-schemas.
var errDenied = errors.New("only references within the schema are allowed")

// errPattern is the error for a pattern, which the linter reports with its path.
var errPattern = errors.New("a pattern does not compile")

// Compile compiles a schema (a mapping or a boolean). The Schema is nil exactly if a
// finding is an error. Unknown keywords are warnings unless they begin with "x-".
func Compile(doc any) (*Schema, []diag.Finding) {
	s, found := compiled(readable(doc))
	var out []diag.Finding
	for _, p := range found {
		out = append(out, p.finding)
	}
	return s, out
}

// problem is a finding about a schema and the path of the value that it is about.
type problem struct {
	finding diag.Finding
	at      string
}

func failed(ps []problem) bool {
	return slices.ContainsFunc(ps, func(p problem) bool {
		return p.finding.Severity == diag.SeverityError
	})
}

// Check returns the findings of Compile with the positions that the document of the
// schema has below path.
func Check(doc any, positions *tree.Doc, path string) []diag.Finding {
	copied, found := readable(doc)
	if copied != nil && !simple(copied) { // nothing that a simple schema refers to can be missing
		_, found = compiled(copied, found)
	}
	var out []diag.Finding
	for _, p := range found {
		at := path
		if p.at != "" {
			at += "." + p.at
		}
		pos := positions.At(at)
		p.finding.Line = pos.Line
		p.finding.Column = pos.Column
		out = append(out, p.finding)
	}
	return out
}

// readable copies a schema, and returns the findings of the linter. The copy is nil if it
// cannot be compiled.
func readable(doc any) (copied any, found []problem) {
	copied, bad := normalize(doc, MaxMappings)
	if len(bad) > 0 {
		return nil, schemaFindings(bad)
	}
	switch copied.(type) {
	case bool, map[string]any:
		return copied, lint(copied)
	}
	return nil, schemaFindings([]Violation{{Path: "$", Message: "must be a mapping or a boolean, is " + typeOf(copied), Keyword: "type"}})
}

// compiled compiles what readable returned.
func compiled(copied any, found []problem) (*Schema, []problem) {
	if copied == nil {
		return nil, found
	}
	s := &Schema{doc: copied}
	found = append(s.compile(), found...)
	if failed(found) {
		return nil, found
	}
	return s, found
}

// CompileForeign is Compile for the schema of another program, which checks its
// values itself. A pattern that this package cannot compile, and a reference to
// another document, are left unchecked, with one warning for all of them.
func CompileForeign(doc any) (*Schema, []diag.Finding) {
	copied, bad := normalize(doc, MaxMappings)
	if len(bad) > 0 {
		return Compile(doc)
	}
	left := relax(copied, nil)
	s, fs := Compile(copied)
	if len(left) > 0 && s != nil {
		names := make([]string, len(left))
		for i, at := range left {
			names[i] = at.String()
		}
		fs = append(fs, diag.Warnf(
			diag.ValidationFailed,
			0,
			0,
			"schema: not checked here, only by its owner: %s",
			strings.Join(names, ", "),
		))
	}
	return s, fs
}

// CheckForeign is Check for the schema of another program. Every finding is a warning:
// at most calls of that program fail.
func CheckForeign(doc any, positions *tree.Doc, path string) []diag.Finding {
	copied, bad := normalize(doc, MaxMappings)
	if len(bad) > 0 {
		return warnings(Check(doc, positions, path))
	}
	var out []diag.Finding
	for _, at := range relax(copied, nil) {
		pos := positions.At(path + "." + at.tree())
		out = append(out, diag.Warnf(diag.ValidationFailed, pos.Line, pos.Column, "schema %s: this keyword is not checked here, only by its owner", at))
	}
	return append(out, warnings(Check(copied, positions, path))...)
}

func warnings(fs []diag.Finding) []diag.Finding {
	for i := range fs {
		fs[i].Severity = diag.SeverityWarning
	}
	return fs
}

// relax removes from a schema what cannot be compiled, and returns where it was.
func relax(v any, at location) []location {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	var left []location
	known := keywords()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		sub := at.key(k)
		switch known[k] {
		case one:
			if list, ok := m[k].([]any); ok {
				for i := range list {
					left = append(left, relax(list[i], sub.index(i))...)
				}
				continue
			}
			left = append(left, relax(m[k], sub)...)
		case many:
			left = append(left, relaxNamed(k, m[k], sub)...)
		case data:
			text, _ := m[k].(string)
			if k == "pattern" && !compiles(text) ||
				(k == "$ref" || k == "$dynamicRef") && !strings.HasPrefix(text, "#") {
				delete(m, k)
				left = append(left, sub)
			}
		}
	}
	return left
}

// relaxNamed relaxes the schemas of a mapping of names to schemas.
func relaxNamed(keyword string, v any, at location) []location {
	m, _ := v.(map[string]any)
	var left []location
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if keyword == "patternProperties" && !compiles(name) {
			delete(m, name)
			left = append(left, at.key(name))
			continue
		}
		left = append(left, relax(m[name], at.key(name))...)
	}
	return left
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// compile sets the node of the schema.
func (s *Schema) compile() []problem {
	d := draft2020
	m, _ := s.doc.(map[string]any)
	if name, ok := m["$schema"].(string); ok {
		if d, ok = drafts()[strings.TrimSuffix(name, "#")]; !ok {
			return []problem{refused(location{"$schema"}, fmt.Sprintf("refers to %q: %v", show(name), errDenied))}
		}
	}
	if bad := checkSchema(s.doc, d); len(bad) > 0 {
		if _, named := m["$schema"]; !named {
			explainOlder(bad)
		}
		return schemaFindings(bad)
	}
	c := newCompiler()
	top, err := c.compile(s.doc, address, d)
	s.top = top
	s.tracks = c.tracks
	var ref *refError
	switch {
	case errors.As(err, &ref):
		return []problem{refused(ref.at, ref.msg)}
	case err != nil && err != errPattern:
		return []problem{refused(nil, err.Error())}
	}
	return nil
}

// explainOlder adds to the violations of a schema without $schema what older drafts
// permitted, and what to write instead.
func explainOlder(bad []Violation) {
	const orName = `; or name the older draft at the top: "$schema": "http://json-schema.org/draft-07/schema#"`
	for i := range bad {
		v := &bad[i]
		switch {
		case strings.HasSuffix(v.Path, ".items") && strings.HasSuffix(v.Message, "is array"):
			v.Message += `: JSON Schema 2020-12 calls a list of schemas prefixItems, and items is the schema of the elements after it (earlier additionalItems)` + orName
		case (strings.HasSuffix(v.Path, ".exclusiveMinimum") || strings.HasSuffix(v.Path, ".exclusiveMaximum")) && strings.HasSuffix(v.Message, "is boolean"):
			v.Message += `: in JSON Schema 2020-12 it is the bound itself, in place of minimum or maximum; or name the older draft at the top: "$schema": "http://json-schema.org/draft-04/schema#"`
		}
	}
}

// refused is the problem of a reference, whose message names the whole schema.
func refused(at location, msg string) problem {
	return problem{diag.Errorf(diag.ValidationFailed, 0, 0, "schema $: %s", msg), at.tree()}
}

func schemaFindings(vs []Violation) []problem {
	out := make([]problem, 0, len(vs))
	for _, v := range vs {
		out = append(out, problem{diag.Errorf(
			diag.ValidationFailed,
			0,
			0,
			"schema %s: %s",
			v.Path,
			v.Message,
		), v.At})
	}
	return out
}

// Properties returns the names of the declared top-level properties, sorted.
func (s *Schema) Properties() []string {
	return slices.Sorted(maps.Keys(s.properties()))
}

// Required returns the names of the required top-level properties, sorted.
func (s *Schema) Required() []string {
	var out []string
	list, _ := s.root()["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Schema) root() map[string]any {
	m, _ := s.doc.(map[string]any)
	return m
}

func (s *Schema) properties() map[string]any {
	m, _ := s.root()["properties"].(map[string]any)
	return m
}
