// Package cond evaluates conditions of graphs and hooks. A condition is data, such
// as {path: state.count, op: gt, value: 3}, or a text, such as "state.count > 3",
// and both forms compile to the same structure.
//
// Every mistake is found at compilation. An evaluation has no side effects and no
// clock, and a comparison whose path is missing is false. A comparison of a text with a
// number, which is never what its author meant, is an error of Eval and false for Match.
// The package does not know which paths exist.
//
// A path with the value null exists, and equals null only.
//
// An empty any or all is an error, as an empty mapping is.
package cond

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/pathcall"
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

	call  pathcall.Call
	op    string
	value any
	re    *regexp.Regexp
}

// ops returns the operators.
func ops() []string {
	return []string{"eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "regex", "exists"}
}

// Match reports whether the condition is true for a document that other programs wrote:
// values of different types differ.
func (c *Cond) Match(doc any) bool {
	var ignored error
	return c.match(doc, &ignored)
}

// Eval is Match for a document whose types the author of the condition knows. The error
// is a *TypeError, or the error of a function such as int. Parts behind the one that
// decides are not evaluated.
func (c *Cond) Eval(doc any) (bool, error) {
	var failed error
	ok := c.match(doc, &failed)
	if failed != nil {
		return false, failed
	}
	return ok, nil
}

// TypeError is the comparison of a text with a number.
type TypeError struct {
	Path string
	Text bool // the value at the path is the text, else it is the number
}

// Error names the value and what to write.
func (e *TypeError) Error() string {
	if e.Text {
		return fmt.Sprintf("the condition compares the text %s with a number: write int(%[1]s) or float(%[1]s)", e.Path)
	}
	return fmt.Sprintf("the condition compares the number %s with a text: write the number without quotes", e.Path)
}

// match evaluates the condition. The first error is kept in failed.
func (c *Cond) match(doc any, failed *error) bool {
	if c == nil {
		return true
	}
	switch c.kind {
	case anyOf:
		for _, p := range c.parts {
			if p.match(doc, failed) {
				return true
			}
		}
		return false
	case allOf:
		for _, p := range c.parts {
			if !p.match(doc, failed) {
				return false
			}
		}
		return true
	case negation:
		return !c.parts[0].match(doc, failed)
	}
	return c.compare(doc, failed)
}

func (c *Cond) compare(doc any, failed *error) bool {
	v, ok, err := c.call.Lookup(doc)
	if err != nil {
		if *failed == nil {
			*failed = err
		}
		return false
	}
	if c.op == "exists" {
		return ok == (c.value != false)
	}
	if !ok {
		return false
	}
	if names, ok := v.(Names); ok {
		return c.compareNames(names)
	}
	err = c.mixed(classOf(v))
	if err != nil && *failed == nil {
		*failed = err
	}
	return c.compareValue(v)
}

// mixed returns the error of comparing a value of a class with the one of the condition,
// nil if they can be compared.
func (c *Cond) mixed(v class) error {
	switch c.op {
	case "eq", "ne", "gt", "gte", "lt", "lte":
	default:
		return nil
	}
	want := classOf(c.value)
	if v == text && want == number || v == number && want == text {
		return &TypeError{Path: c.call.String(), Text: v == text}
	}
	return nil
}

// Comparison is one comparison with a value.
type Comparison struct {
	Call  pathcall.Call
	mixed func(class) error
}

// Comparisons returns the comparisons of the condition with a value, in the order of the text.
func (c *Cond) Comparisons() []Comparison {
	if c == nil {
		return nil
	}
	if c.kind == compare {
		return []Comparison{{c.call, c.mixed}}
	}
	var out []Comparison
	for _, p := range c.parts {
		out = append(out, p.Comparisons()...)
	}
	return out
}

// Fits returns the *TypeError of a value whose JSON type is jsonType, nil if it can be
// compared.
func (c Comparison) Fits(jsonType string) error {
	switch jsonType {
	case "string":
		return c.mixed(text)
	case "number", "integer":
		return c.mixed(number)
	}
	return nil
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
		return []dotpath.Path{c.call.Path}
	}
	var out []dotpath.Path
	for _, p := range c.parts {
		out = append(out, p.Paths()...)
	}
	return out
}
