package wire

import (
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Args decodes an object value by value and collects all problems, so that one
// error lists every one. The objects inside it share the list.
type Args struct{ *tree.Reader }

// NewArgs decodes in. Each key that is not known is a problem.
func NewArgs(in map[string]any, known ...string) Args {
	a := Args{tree.NewParameters(in)}
	a.Only(known...)
	return a
}

// Problems is the number of problems found so far.
func (a Args) Problems() int {
	return len(a.Findings())
}

// Err returns all problems as one error, or nil.
func (a Args) Err() error {
	return a.ErrorOf("reading parameters")
}

// ErrorOf is Err for another activity than reading parameters.
func (a Args) ErrorOf(doing string) error {
	return diag.FromFindings(doing, a.Findings())
}

// String returns a string, or def if there is none.
func (a Args) String(key, def string) string {
	if !a.Has(key) {
		return def
	}
	return a.Reader.Text(key)
}

// Required returns a string that must not be missing or empty.
func (a Args) Required(key string) string {
	a.Require(key)
	return a.Reader.Text(key)
}

// Text returns a string that must not be missing and may be empty.
func (a Args) Text(key string) string {
	if !a.Has(key) {
		a.Reject(key, "is missing")
	}
	return a.Reader.Text(key)
}

// Bool returns a boolean, or false if there is none.
func (a Args) Bool(key string) bool {
	return a.Reader.Bool(key, false)
}

// Int returns a whole number from low to high, or def if there is none.
func (a Args) Int(key string, def, low, high int) int {
	return int(a.Reader.Int(key, int64(def), int64(low), int64(high)))
}

// Strings returns a list of strings, or an empty one.
func (a Args) Strings(key string) []string {
	return a.Texts(key, nil)
}

// Objects returns a list of objects with the known keys.
func (a Args) Objects(key string, known ...string) []Args {
	var out []Args
	for _, r := range a.Maps(key) {
		r.Only(known...)
		out = append(out, Args{r})
	}
	return out
}

// Object returns an object with the known keys, or an empty one.
func (a Args) Object(key string, known ...string) Args {
	o := Args{a.Reader.Map(key)}
	o.Only(known...)
	return o
}

// Map returns an object without checking its keys, or nil.
func (a Args) Map(key string) map[string]any {
	a.Reader.Map(key) // reports another type
	m, _ := a.Value(key).(map[string]any)
	return m
}

// Lookup follows a dotted path through a decoded value: keys of objects and
// indexes of lists. The path "" is the value itself.
func Lookup(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for key := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
