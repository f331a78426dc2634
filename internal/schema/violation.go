package schema

import (
	"cmp"
	"fmt"
	"slices"
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
	return s.validate(value)
}

func (s *Schema) validate(v any) (out []Violation) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case errSteps:
			out = []Violation{{Path: "$", Message: errSteps.Error(), Keyword: "$schema"}}
		default:
			panic(p)
		}
	}()
	r := &run{left: MaxSteps, tracks: s.tracks, active: map[visit]bool{}}
	for _, f := range r.apply(s.top, target{value: v, at: &spot{}}).fails {
		out = append(out, f.Violation)
	}
	return ordered(out)
}

func ordered(vs []Violation) []Violation {
	slices.SortStableFunc(vs, func(a, b Violation) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(vs)
}

func violation(at location, keyword, format string, args ...any) []Violation {
	return []Violation{{
		Path:    at.String(),
		Message: fmt.Sprintf(format, args...),
		Keyword: keyword,
		At:      at.tree(),
	}}
}
