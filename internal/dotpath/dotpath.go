// Package dotpath reads values by dotted paths such as result.items.0.name, the
// form that conditions and typed templates have in common.
//
// It evaluates nothing else: a path has no wildcards, filters or functions.
package dotpath

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
)

// MaxLength is the length of the longest path in bytes.
const MaxLength = 1024

// Path is the parts of a path: a name, then names and list indexes.
type Path []string

// Parse returns the parts of a path: name *("." (name | digits)), where a name is
// [A-Za-z_][A-Za-z0-9_-]*.
func Parse(s string) (Path, error) {
	p, n := Cut(s)
	switch {
	case s == "":
		return nil, fmt.Errorf("the path is empty")
	case len(s) > MaxLength:
		return nil, fmt.Errorf("the path has more than %d bytes", MaxLength)
	case n < len(s):
		return nil, fmt.Errorf("%q is not a path: names and list indexes joined by dots, such as result.items.0", clip(s))
	}
	return p, nil
}

// Cut returns the longest path at the beginning of s and its length in bytes, 0
// if s begins with none.
func Cut(s string) (Path, int) {
	n := nameLength(s)
	if n == 0 {
		return nil, 0
	}
	p := Path{s[:n]}
	end := n
	for end < len(s) && s[end] == '.' {
		rest := s[end+1:]
		if n = nameLength(rest); n == 0 {
			n = digits(rest)
		}
		if n == 0 {
			break
		}
		p = append(p, rest[:n])
		end += 1 + n
	}
	return p, end
}

// nameLength returns the length of the name at the beginning of s.
func nameLength(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c == '-' || c >= '0' && c <= '9'):
		default:
			return i
		}
	}
	return len(s)
}

// digits returns the number of digits at the beginning of s, 0 if another letter
// of a name follows.
func digits(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if n < len(s) &&
		(s[n] == '-' || nameLength(s[n:]) > 0) {
		return 0
	}
	return n
}

func clip(s string) string {
	return cuttext.Short(s, 40)
}

// IsName reports whether s is one name.
func IsName(s string) bool {
	return s != "" && nameLength(s) == len(s)
}

// String returns the path with dots.
func (p Path) String() string {
	return strings.Join(p, ".")
}

// Lookup returns the value at the path below root. Digits are an index of a list
// or a key of a mapping. A value that is null exists.
func (p Path) Lookup(root any) (any, bool) {
	for _, part := range p {
		switch v := root.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			root = next
		case []any:
			i, ok := index(part)
			if !ok || i >= len(v) {
				return nil, false
			}
			root = v[i]
		default:
			return nil, false
		}
	}
	return root, true
}

// index returns a list index. It has one spelling: no leading zeros.
func index(s string) (int, bool) {
	if s == "" ||
		s[0] < '0' ||
		s[0] > '9' ||
		len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	i, err := strconv.Atoi(s)
	return i, err == nil
}
