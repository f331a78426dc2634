// Package cond evaluates conditions of graphs and hooks. A condition is data, such
// as {path: state.count, op: gt, value: 3}, or a text, such as "state.count > 3",
// and both forms compile to the same structure.
//
// Every mistake is found at compilation. An evaluation has no errors, no side
// effects and no clock: a comparison whose path is missing, or whose values have
// different types, is false. The package does not know which paths exist.
//
// A path with the value null exists, and equals null only.
//
// An empty any or all is an error, as an empty mapping is.
package cond

import (
	"regexp"
	"strings"

	"github.com/ryeos/rye/internal/dotpath"
)

// The bounds of a condition.
const (
	MaxText  = 4 << 10 // bytes of a text condition
	MaxNodes = 256     // conditions and parts of conditions
	MaxDepth = 16
	MaxRegex = 1000 // bytes
)

// Names is a value that has several names. A comparison with it is true if it is true
// for one of them; ne is true if it is for all.
type Names []string

// kind is the sort of a condition.
type kind byte

const (
	compare kind = iota
	anyOf
	allOf
	negation
)

// Cond is a compiled condition. A nil Cond is true. It may be used by several
// goroutines at the same time.
type Cond struct {
	kind  kind
	parts []*Cond

	path  dotpath.Path
	op    string
	value any
	re    *regexp.Regexp
}

// ops returns the operators.
func ops() []string {
	return []string{"eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "regex", "exists"}
}

// Match reports whether the condition is true for a document.
func (c *Cond) Match(doc any) bool {
	if c == nil {
		return true
	}
	switch c.kind {
	case anyOf:
		for _, p := range c.parts {
			if p.Match(doc) {
				return true
			}
		}
		return false
	case allOf:
		for _, p := range c.parts {
			if !p.Match(doc) {
				return false
			}
		}
		return true
	case negation:
		return !c.parts[0].Match(doc)
	}
	return c.compare(doc)
}

func (c *Cond) compare(doc any) bool {
	v, ok := c.path.Lookup(doc)
	if c.op == "exists" {
		return ok == (c.value != false)
	}
	if !ok {
		return false
	}
	if names, ok := v.(Names); ok {
		return c.compareNames(names)
	}
	return c.compareValue(v)
}

func (c *Cond) compareNames(names Names) bool {
	for _, name := range names {
		if c.compareValue(name) != (c.op == "ne") {
			return c.op != "ne"
		}
	}
	return c.op == "ne" && len(names) > 0
}

func (c *Cond) compareValue(v any) bool {
	switch c.op {
	case "eq":
		return equal(v, c.value)
	case "ne":
		return sameType(v, c.value) && !equal(v, c.value)
	case "in":
		list, _ := c.value.([]any)
		return has(list, v)
	case "contains":
		return contains(v, c.value)
	case "regex":
		s, ok := v.(string)
		return ok && c.re.MatchString(s)
	}
	n, ok := order(v, c.value)
	switch c.op {
	case "gt":
		return ok && n > 0
	case "gte":
		return ok && n >= 0
	case "lt":
		return ok && n < 0
	case "lte":
		return ok && n <= 0
	}
	return false
}

// contains reports whether a list has an element, a text a substring, or a mapping
// a key.
func contains(v, want any) bool {
	switch v := v.(type) {
	case []any:
		return has(v, want)
	case string:
		s, ok := want.(string)
		return ok && strings.Contains(v, s)
	case map[string]any:
		s, ok := want.(string)
		_, found := v[s]
		return ok && found
	}
	return false
}

// has reports whether a list has an element that equals v.
func has(list []any, v any) bool {
	for _, x := range list {
		if equal(x, v) {
			return true
		}
	}
	return false
}

// Paths returns every path that the condition reads, in the order of the text.
func (c *Cond) Paths() []dotpath.Path {
	if c == nil {
		return nil
	}
	if c.kind == compare {
		return []dotpath.Path{c.path}
	}
	var out []dotpath.Path
	for _, p := range c.parts {
		out = append(out, p.Paths()...)
	}
	return out
}
