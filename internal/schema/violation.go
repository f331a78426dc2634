package schema

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Violation is one error in a value.
type Violation struct {
	Path    string `json:"path"` // "$", "$.a[0].b"
	Message string `json:"message"`
	Keyword string `json:"keyword"`
	At      string `json:"-"` // the path as positions of a tree.Doc have it
}

// Validate returns every violation of v, sorted by path. A valid value has none.
func (s *Schema) Validate(v any) []Violation {
	value, bad := normalize(v, 0)
	if len(bad) > 0 {
		return ordered(bad)
	}
	err := s.validate(value)
	if err == nil {
		return nil
	}
	verr, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []Violation{{Path: "$", Message: err.Error(), Keyword: "$schema"}}
	}
	t := explainer{value: value, schema: s.doc}
	return t.all(verr)
}

func (s *Schema) validate(v any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p == errSteps {
			err = errSteps
		} else if p != nil {
			err = fmt.Errorf("the schema cannot be applied: %v", p)
		}
	}()
	s.budget.left = MaxSteps
	return s.compiled.Validate(v)
}

func ordered(vs []Violation) []Violation {
	slices.SortStableFunc(vs, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(vs)
}

// explainer turns the library's tree of errors into violations.
type explainer struct {
	value  any // the checked value
	schema any // for the names of its properties; nil for a schema that is checked itself
}

func (t *explainer) all(e *jsonschema.ValidationError) []Violation { return ordered(t.explain(e)) }

// at returns the location and value of a path. Numbers are indexes only in lists.
func (t *explainer) at(loc []string) (location, any) {
	var p location
	v := t.value
	for _, tok := range loc {
		switch c := v.(type) {
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(c) {
				return p, v
			}
			p, v = p.index(i), c[i]
		case map[string]any:
			p, v = p.key(tok), c[tok]
		default:
			return p, v
		}
	}
	return p, v
}

func violation(at location, keyword, format string, args ...any) []Violation {
	return []Violation{{Path: at.String(), Message: fmt.Sprintf(format, args...), Keyword: keyword, At: at.tree()}}
}

// declared returns the property names of the subschema at a location.
func (t *explainer) declared(location string) []string {
	_, ptr, _ := strings.Cut(location, "#")
	v := t.schema
	for tok := range strings.SplitSeq(strings.TrimPrefix(ptr, "/"), "/") {
		if ptr == "" {
			break
		}
		tok, _ = url.PathUnescape(tok)
		tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
		switch c := v.(type) {
		case map[string]any:
			v = c[tok]
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		}
	}
	m, _ := v.(map[string]any)
	props, _ := m["properties"].(map[string]any)
	return slices.Collect(maps.Keys(props))
}

// within removes the schema's own address from a reference.
func within(ref string) string {
	ref = strings.TrimSuffix(ref, " not found")
	if i := strings.LastIndexByte(ref, '#'); i >= 0 {
		ref = ref[i:]
	}
	return strings.Trim(ref, `"`)
}
