package extract

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// Schema is the rules for an item's metadata.
type Schema struct{ Fields []Field }

// Field is the rule for one field.
type Field struct {
	Name          string
	Type          string // string, integer, number, boolean, object, array, semver, enum; "" is any
	Required      bool
	Nullable      bool
	Advisory      bool     // what it finds is a warning
	Values        []string // for enum
	Pattern       *regexp.Regexp
	Minimum       *float64
	Maximum       *float64
	MatchFilename bool    // the last segment of the id, or the whole id
	MatchPath     bool    // the id without its last segment
	Item          *Field  // for the elements of an array
	Nested        []Field // for the fields of an object
}

// Validate returns every finding of m against the extractor's schema.
func (e *Extractor) Validate(ref item.Ref, m *item.Metadata) []diag.Finding {
	v := validator{ref: ref, pos: &tree.Doc{Pos: m.Pos}, keys: m.Keys}
	for i := range e.Schema.Fields {
		f := &e.Schema.Fields[i]
		if f.Name == "executor_id" && ref.Kind == item.Tool && m.ToolType == item.Library {
			v.library(m)
		} else {
			v.field(f, m.Fields, "")
		}
	}
	return v.out
}

type validator struct {
	ref  item.Ref
	pos  *tree.Doc
	keys map[string]string
	out  []diag.Finding
}

// library adds a finding if a library names a runtime: it would look like a tool that
// runs.
func (v *validator) library(m *item.Metadata) {
	if _, named := m.Fields["executor_id"]; named {
		f := v.add("executor_id", "a library has no %s, because it is not run", v.called("executor_id"))
		*f = f.WithReason("library_runs")
	}
}

// called returns a field's path with the file's name of the field.
func (v *validator) called(path string) string {
	top, rest, deeper := strings.Cut(path, ".")
	if key := v.keys[top]; key != "" {
		top = key
	}
	if deeper {
		return top + "." + rest
	}
	return top
}

// add adds a finding and returns it, for its reason.
func (v *validator) add(path, format string, args ...any) *diag.Finding {
	p := v.pos.At(path)
	v.out = append(v.out, diag.Errorf(
		diag.ValidationFailed,
		max(p.Line, 1),
		p.Column,
		format,
		args...,
	))
	return &v.out[len(v.out)-1]
}

func (v *validator) field(f *Field, in map[string]any, at string) {
	path := tree.Join(at, f.Name)
	val, present := in[f.Name]
	switch {
	case !present:
		if f.Required {
			missing := v.add(at, "missing field %q", v.called(path))
			*missing = missing.WithReason("missing_field", "field", v.called(path))
		}
	case val == nil:
		if !f.Nullable {
			v.add(path, "field %q may not be null", v.called(path))
		}
	default:
		from := len(v.out)
		v.value(f, val, path)
		for i := from; f.Advisory && i < len(v.out); i++ {
			v.out[i].Severity = diag.SeverityWarning
		}
	}
}

func (v *validator) value(f *Field, val any, path string) {
	if f.Type != "" && !v.typed(f, val, path) {
		return
	}
	if s, ok := val.(string); ok {
		v.text(f, s, path)
	}
	v.bounds(f, val, path)
	list, ok := val.([]any)
	if ok && f.Item != nil {
		for i, e := range list {
			v.value(f.Item, e, tree.Index(path, i))
		}
	}
	if o, ok := val.(map[string]any); ok {
		for i := range f.Nested {
			v.field(&f.Nested[i], o, path)
		}
	}
}

func (v *validator) typed(f *Field, val any, path string) bool {
	want := f.Type
	ok := false
	switch want {
	case "string":
		_, ok = val.(string)
	case "semver":
		s, isText := val.(string)
		ok = isText && item.CheckVersion(s) == nil
		want = "a semantic version (MAJOR.MINOR.PATCH)"
	case "enum":
		s, isText := val.(string)
		ok = isText && slices.Contains(f.Values, s)
		want = "one of " + strings.Join(f.Values, ", ")
	case "integer":
		_, ok = val.(int64)
	case "number":
		switch n := val.(type) {
		case int64:
			ok = true
		case float64:
			ok = !math.IsNaN(n) && !math.IsInf(n, 0)
		case string:
			ok = item.IsDecimal(n)
		}
	case "boolean":
		_, ok = val.(bool)
	case "object":
		_, ok = val.(map[string]any)
	case "array":
		_, ok = val.([]any)
	}
	if !ok {
		v.add(path, "field %q must be %s, is %s", v.called(path), want, describe(val))
	}
	return ok
}

func (v *validator) text(f *Field, s, path string) {
	if f.Required && strings.TrimSpace(s) == "" && !f.MatchPath {
		v.add(path, "field %q is empty", v.called(path))
		return
	}
	if f.Pattern != nil && !f.Pattern.MatchString(s) {
		v.add(path, "field %q is %q, which does not match %s", v.called(path), s, f.Pattern)
	}
	if f.MatchFilename && s != v.ref.Name() && s != v.ref.ID {
		f := v.add(path, "field %q is %q, but the file's name is %q", v.called(path), s, v.ref.Name())
		*f = f.WithReason("filename", "want", v.ref.Name(), "value", s)
	}
	if f.MatchPath && s != v.ref.Category() {
		f := v.add(path, "field %q is %q, but the file's directory is %q", v.called(path), s, v.ref.Category())
		reason := "category"
		if v.ref.Category() == "" {
			reason = "category_top"
		}
		*f = f.
			WithReason(reason, "field", v.called(path), "want", v.ref.Category(), "value", s)
	}
}

func (v *validator) bounds(f *Field, val any, path string) {
	var n float64
	switch x := val.(type) {
	case int64:
		n = float64(x)
	case float64:
		n = x
	case string:
		if f.Type != "number" {
			return
		}
		n, _ = strconv.ParseFloat(x, 64)
	default:
		return
	}
	if f.Minimum != nil && n < *f.Minimum {
		v.add(path, "field %q is %v, at least %v is required", v.called(path), val, *f.Minimum)
	}
	if f.Maximum != nil && n > *f.Maximum {
		v.add(path, "field %q is %v, at most %v is allowed", v.called(path), val, *f.Maximum)
	}
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64:
		return fmt.Sprintf("integer %d", v)
	case float64:
		return fmt.Sprintf("number %v", v)
	case string:
		return fmt.Sprintf("%q", cuttext.Start(v, 60))
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return cmp.Or(fmt.Sprintf("%T", v), "unknown")
}
