// Package schema checks values against JSON Schema 2020-12 and says in plain
// words what does not fit.
//
// It reads no file and no URL: a schema refers to itself or to the standard
// meta-schemas, to nothing else.
package schema

import "github.com/ryeos/rye/diag"

// Schema is a compiled JSON Schema, safe for concurrent use.
type Schema struct{}

// Violation is one way in which a value does not fit.
type Violation struct {
	Path    string `json:"path"` // "$", "$.a[0].b"
	Message string `json:"message"`
	Keyword string `json:"keyword"`
}

// Compile prepares a schema (a mapping or a boolean). The Schema is nil exactly
// when a finding is an error.
func Compile(doc any) (*Schema, []diag.Finding) { return nil, nil }

// Validate returns every violation of v, ordered by path; none means v fits.
func (s *Schema) Validate(v any) []Violation { return nil }

// Properties returns the names of the declared top-level properties, sorted.
func (s *Schema) Properties() []string { return nil }

// Required returns the names of the required top-level properties, sorted.
func (s *Schema) Required() []string { return nil }

// Defaults returns a copy of v with the defaults of missing top-level
// properties filled in.
func (s *Schema) Defaults(v map[string]any) map[string]any { return nil }

// Coerce reads text as the declared type of the property name.
func (s *Schema) Coerce(name, text string) (any, error) { return nil, nil }
