// Package jsonx reads JSON strictly, with the places of its parts, and writes
// it in one compact form.
//
// It knows no schema and never opens a file; values are those of package tree.
package jsonx

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Parse reads one JSON object. The Doc is nil exactly when a finding is an
// error.
func Parse(b []byte) (*tree.Doc, []diag.Finding) { return nil, nil }

// ParseValue reads one JSON value of any shape.
func ParseValue(b []byte) (any, []diag.Finding) { return nil, nil }

// Marshal writes v compactly: no HTML escaping, the keys of maps sorted, no
// newline at the end. Fields of structs keep their order.
func Marshal(v any) ([]byte, error) { return nil, nil }

// MarshalIndent writes v as Marshal does, indented by two blanks.
func MarshalIndent(v any) ([]byte, error) { return nil, nil }
