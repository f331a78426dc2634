package applet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

// args reads parameters one by one and collects everything that is wrong.
type args struct {
	in       map[string]any
	prefix   string // "changes[0]." within a list, "" at the top
	findings *[]diag.Finding
}

// newArgs notes each key of in that is not among the known ones.
func newArgs(in map[string]any, known ...string) args {
	return args{in: in, findings: &[]diag.Finding{}}.check(known)
}

func (a args) check(known []string) args {
	for _, k := range slices.Sorted(maps.Keys(a.in)) {
		if slices.Contains(known, k) {
			continue
		}
		f := diag.Errorf(diag.UnknownParameter, 0, 0, "no parameter %q", a.prefix+k)
		f.Fix = "the parameters are " + strings.Join(known, ", ")
		if n := suggest.Nearest(k, known); n != "" {
			f.Fix = fmt.Sprintf("did you mean %q?", a.prefix+n)
		}
		a.add(f)
	}
	return a
}

func (a args) add(f diag.Finding) { *a.findings = append(*a.findings, f) }

// bad notes one parameter that does not fit.
func (a args) bad(key, format string, v ...any) {
	a.add(diag.Errorf(diag.ValidationFailed, 0, 0, "%s%s %s", a.prefix, key, fmt.Sprintf(format, v...)))
}

// err returns all that was noted as one error, or nil.
func (a args) err() error {
	err := diag.FromFindings("reading parameters", *a.findings)
	e, ok := err.(*diag.Error)
	if !ok {
		return err
	}
	for _, f := range e.Findings {
		if f.Fix != "" {
			return e.WithHint("%s", f.Fix)
		}
	}
	return e.WithHint("mend the parameters listed, then call again")
}

// has reports whether the key was given; null counts as not given.
func (a args) has(key string) bool { return a.in[key] != nil }

// str returns a string, or def when it is not given.
func (a args) str(key, def string) string {
	if !a.has(key) {
		return def
	}
	s, ok := a.in[key].(string)
	if !ok {
		a.bad(key, "must be a string, not %s", typeName(a.in[key]))
	}
	return s
}

// need returns a string that must be given and not be empty.
func (a args) need(key string) string {
	if !a.has(key) {
		a.bad(key, "is required")
		return ""
	}
	before := len(*a.findings)
	s := a.str(key, "")
	if s == "" && len(*a.findings) == before {
		a.bad(key, "must not be empty")
	}
	return s
}

// text returns a string that must be given and may be empty.
func (a args) text(key string) string {
	if !a.has(key) {
		a.bad(key, "is required")
	}
	return a.str(key, "")
}

// boolean returns a boolean, or false when it is not given.
func (a args) boolean(key string) bool {
	if !a.has(key) {
		return false
	}
	b, ok := a.in[key].(bool)
	if !ok {
		a.bad(key, "must be true or false, not %s", typeName(a.in[key]))
	}
	return b
}

// integer returns a whole number between low and high, or def.
func (a args) integer(key string, def, low, high int) int {
	f := a.number(key, float64(def), float64(low), float64(high))
	if f != math.Trunc(f) {
		a.bad(key, "must be a whole number, not %v", f)
		return def
	}
	return int(f)
}

// number returns a number between low and high, or def.
func (a args) number(key string, def, low, high float64) float64 {
	if !a.has(key) {
		return def
	}
	f, ok := asFloat(a.in[key])
	switch {
	case !ok:
		a.bad(key, "must be a number, not %s", typeName(a.in[key]))
	case !(f >= low && f <= high):
		a.bad(key, "must lie between %v and %v, not %v", low, high, f)
	default:
		return f
	}
	return def
}

// strings returns a list of strings.
func (a args) strings(key string) []string {
	list := a.list(key)
	out := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			a.bad(fmt.Sprintf("%s[%d]", key, i), "must be a string, not %s", typeName(v))
		}
		out = append(out, s)
	}
	return out
}

// objects returns a list of objects, each with its own key check.
func (a args) objects(key string, known ...string) []args {
	var out []args
	for i, v := range a.list(key) {
		m, ok := v.(map[string]any)
		if !ok {
			a.bad(fmt.Sprintf("%s[%d]", key, i), "must be an object, not %s", typeName(v))
			continue
		}
		sub := args{in: m, prefix: fmt.Sprintf("%s%s[%d].", a.prefix, key, i), findings: a.findings}
		out = append(out, sub.check(known))
	}
	return out
}

func (a args) list(key string) []any {
	if !a.has(key) {
		return nil
	}
	list, ok := a.in[key].([]any)
	if !ok {
		a.bad(key, "must be a list, not %s", typeName(a.in[key]))
	}
	return list
}

func asFloat(v any) (float64, bool) {
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

func typeName(v any) string {
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
