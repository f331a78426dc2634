// Package tree represents plain values with their positions in a text: what
// every metadata reader (YAML, TOML, JSON, Python literals, headers, directive
// XML) returns. A Reader decodes such values strictly into typed ones.
//
// It parses no text format.
package tree

import (
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Doc is a mapping and the positions of its parts.
//
// Values are nil, bool, int64, float64, string, time.Time (TOML only), []any
// and map[string]any, nothing else.
// Pos is keyed by path: keys joined by ".", list indexes as decimal numbers
// ("config.args.0"); a key's own "." or "\" is escaped with "\".
type Doc struct {
	Root map[string]any
	Pos  map[string]diag.Position
}

// New returns an empty Doc.
func New() *Doc {
	return &Doc{Root: map[string]any{}, Pos: map[string]diag.Position{}}
}

// At returns the position of a path or of its nearest ancestor that has one,
// else the zero Pos.
func (d *Doc) At(path string) diag.Position {
	for path != "" {
		if p, ok := d.Pos[path]; ok {
			return p
		}
		path = parent(path)
	}
	return diag.Position{}
}

// parent returns a path without its last key.
func parent(path string) string {
	end := 0
	// Scan from the start: whether a "." divides two keys depends on the number
	// of "\" before it.
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '.':
			end = i
		}
	}
	return path[:end]
}

var escaper = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// Join appends a key to a path.
func Join(path, key string) string {
	key = escaper.Replace(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index appends a list index to a path.
func Index(path string, i int) string {
	if path == "" {
		return strconv.Itoa(i)
	}
	return path + "." + strconv.Itoa(i)
}
