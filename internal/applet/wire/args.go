package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Args decodes an object value by value and collects all problems, so that one
// error lists every one. It is a value: the objects inside it share the list.
type Args struct {
	in       map[string]any
	path     string // "changes[0]." inside a list, "" at the top
	findings *[]diag.Finding
}

// NewArgs decodes in. Each key that is not known is a problem.
func NewArgs(in map[string]any, known ...string) Args {
	a := Args{in: in, findings: &[]diag.Finding{}}
	a.checkKeys(known)
	return a
}

func (a Args) checkKeys(known []string) {
	for _, k := range slices.Sorted(maps.Keys(a.in)) {
		if !slices.Contains(known, k) {
			a.Add(diag.Errorf(diag.UnknownParameter, 0, 0, "unknown key %q; the keys are %s", a.path+k, strings.Join(known, ", ")))
		}
	}
}

// Path is the position of the object in the document, "" at the top.
func (a Args) Path() string { return strings.TrimSuffix(a.path, ".") }

// Value returns the undecoded value of a key.
func (a Args) Value(key string) any { return a.in[key] }

// Problems is the number of problems found so far.
func (a Args) Problems() int { return len(*a.findings) }

// Add adds a problem.
func (a Args) Add(f diag.Finding) { *a.findings = append(*a.findings, f) }

// Invalid adds a problem with the value of one key.
func (a Args) Invalid(key, format string, v ...any) {
	a.Add(diag.Errorf(diag.ValidationFailed, 0, 0, "%s%s %s", a.path, key, fmt.Sprintf(format, v...)))
}

// Err returns all problems as one error, or nil.
func (a Args) Err() error { return a.ErrorOf("reading parameters") }

// ErrorOf is Err for another activity than reading parameters.
func (a Args) ErrorOf(doing string) error { return diag.FromFindings(doing, *a.findings) }

// Has reports whether the key has a value other than null.
func (a Args) Has(key string) bool { return a.in[key] != nil }

// String returns a string, or def if there is none.
func (a Args) String(key, def string) string {
	if !a.Has(key) {
		return def
	}
	s, ok := a.in[key].(string)
	if !ok {
		a.Invalid(key, "must be a string, not %s", TypeName(a.in[key]))
	}
	return s
}

// Required returns a string that must not be missing or empty.
func (a Args) Required(key string) string {
	if !a.Has(key) {
		a.Invalid(key, "is required")
		return ""
	}
	before := a.Problems()
	s := a.String(key, "")
	if s == "" && a.Problems() == before {
		a.Invalid(key, "must not be empty")
	}
	return s
}

// Text returns a string that must not be missing and may be empty.
func (a Args) Text(key string) string {
	if !a.Has(key) {
		a.Invalid(key, "is required")
	}
	return a.String(key, "")
}

// Bool returns a boolean, or false if there is none.
func (a Args) Bool(key string) bool {
	if !a.Has(key) {
		return false
	}
	b, ok := a.in[key].(bool)
	if !ok {
		a.Invalid(key, "must be true or false, not %s", TypeName(a.in[key]))
	}
	return b
}

// Int returns a whole number from low to high, or def if there is none.
func (a Args) Int(key string, def, low, high int) int {
	f := a.Number(key, float64(def), float64(low), float64(high))
	if f != math.Trunc(f) {
		a.Invalid(key, "must be a whole number, not %v", f)
		return def
	}
	return int(f)
}

// Number returns a number from low to high, or def if there is none.
func (a Args) Number(key string, def, low, high float64) float64 {
	if !a.Has(key) {
		return def
	}
	f, ok := Float(a.in[key])
	switch {
	case !ok:
		a.Invalid(key, "must be a number, not %s", TypeName(a.in[key]))
	case !(f >= low && f <= high): // also refuses NaN
		a.Invalid(key, "must be between %v and %v, not %v", low, high, f)
	default:
		return f
	}
	return def
}

// Strings returns a list of strings, or an empty one.
func (a Args) Strings(key string) []string {
	list := a.List(key)
	out := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			a.Invalid(fmt.Sprintf("%s[%d]", key, i), "must be a string, not %s", TypeName(v))
		}
		out = append(out, s)
	}
	return out
}

// Objects returns a list of objects with the known keys.
func (a Args) Objects(key string, known ...string) []Args {
	var out []Args
	for i, v := range a.List(key) {
		at := fmt.Sprintf("%s[%d]", key, i)
		m, ok := v.(map[string]any)
		if !ok {
			a.Invalid(at, "must be an object, not %s", TypeName(v))
			continue
		}
		o := Args{in: m, path: a.path + at + ".", findings: a.findings}
		o.checkKeys(known)
		out = append(out, o)
	}
	return out
}

// Object returns an object with the known keys, or an empty one.
func (a Args) Object(key string, known ...string) Args {
	o := Args{in: a.Map(key), path: a.path + key + ".", findings: a.findings}
	o.checkKeys(known)
	return o
}

// Map returns an object without checking its keys, or nil.
func (a Args) Map(key string) map[string]any {
	m, ok := a.in[key].(map[string]any)
	if !ok && a.Has(key) {
		a.Invalid(key, "must be an object, not %s", TypeName(a.in[key]))
	}
	return m
}

// List returns a list without checking its elements, or nil.
func (a Args) List(key string) []any {
	list, ok := a.in[key].([]any)
	if !ok && a.Has(key) {
		a.Invalid(key, "must be a list, not %s", TypeName(a.in[key]))
	}
	return list
}

// Float returns a decoded number as a float64.
func Float(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// TypeName returns the JSON type of a decoded value with its article.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
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
