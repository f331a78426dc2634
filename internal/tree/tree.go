// Package tree holds plain values with their places in a text: what every
// metadata reader (YAML, TOML, JSON, Python literals, headers, directive XML)
// returns, so that one rule can speak of any of them.
//
// It reads no format itself.
package tree

import (
	"strconv"

	"github.com/ryeos/rye/diag"
)

// Doc is a mapping and where its parts stand.
//
// Values are nil, bool, int64, float64, string, time.Time (TOML only), []any
// and map[string]any, nothing else.
// Pos is keyed by path: keys joined by ".", list indexes as decimal numbers
// ("config.args.0"); a key's own "." or "\" is escaped with "\".
type Doc struct {
	Root map[string]any
	Pos  map[string]diag.Pos
}

// New returns an empty Doc.
func New() *Doc { return &Doc{Root: map[string]any{}, Pos: map[string]diag.Pos{}} }

// At returns the place of a path, or of its nearest known ancestor.
func (d *Doc) At(path string) diag.Pos {
	for path != "" {
		if p, ok := d.Pos[path]; ok {
			return p
		}
		path = parent(path)
	}
	return diag.Pos{}
}

// parent cuts the last key off a path. Only a "." that no "\\" escapes divides
// keys, and a "\\" may itself be escaped, so it counts from the start.
func parent(path string) string {
	cut := 0
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '.':
			cut = i
		}
	}
	return path[:cut]
}

// Join appends a key to a path.
func Join(path, key string) string {
	esc := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] == '.' || key[i] == '\\' {
			esc = append(esc, '\\')
		}
		esc = append(esc, key[i])
	}
	if path == "" {
		return string(esc)
	}
	return path + "." + string(esc)
}

// Index appends a list index to a path.
func Index(path string, i int) string { return Join(path, strconv.Itoa(i)) }
