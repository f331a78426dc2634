package yamlx

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Pair is one entry of a Map.
type Pair struct {
	Key   string
	Value any
}

// Map is a mapping that keeps the order of its entries when written.
type Map []Pair

// Parse reads one YAML document whose top level is a mapping. The Doc is nil
// exactly when a finding is an error.
func Parse(b []byte) (*tree.Doc, []diag.Finding) { return nil, nil }

// ParseAny reads one YAML document of any shape, with the places of its parts
// keyed as tree.Doc does. The places are nil exactly when a finding is an error.
func ParseAny(b []byte) (any, map[string]diag.Pos, []diag.Finding) { return nil, nil, nil }

// Marshal writes v as block YAML that Parse reads back to the same value.
func Marshal(v any) ([]byte, error) { return nil, nil }
