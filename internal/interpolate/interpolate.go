// Package interpolate fills typed templates: texts, lists and mappings whose texts
// contain expressions such as ${state.items.0}.
//
// An expression reads one path. A text that is one expression becomes the value
// itself, with its type; in mixed text the value becomes text. Each text is read
// once, at compilation: a value that contains an expression stays as it is. The
// package does not know which paths exist, and has no functions except the ones of package
// pathcall, and no operators.
package interpolate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/pathcall"
	"github.com/ryeos/rye/internal/tree"
)

// Template is a compiled value. It may be used by several goroutines at the same
// time.
type Template struct {
	constant any // the value, if there is no expression in it
	dynamic  bool

	parts []part // of a text
	list  []*Template
	keys  []string // of a mapping, sorted
	vals  []*Template
}

// part is literal text or an expression.
type part struct {
	text string
	expr *Expr
}

// Expr is one expression.
type Expr struct {
	pathcall.Call
	Optional   bool // ? or :- was written: the path may be missing
	fallback   any  // the value for a missing path or null, nil for ?
	hasDefault bool // :- was written
}

// Problem is a mistake in a template.
type Problem struct {
	At   string // the path of the text in the value, as package tree joins paths
	Text string // lower case, no period
}

// MaxDepth is the deepest nesting of lists and mappings.
const MaxDepth = 64

// Compile compiles a value. It returns every mistake in it.
func Compile(v any) (*Template, []Problem) {
	c := &compiler{}
	t := c.value("", v, 0)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return t, nil
}

type compiler struct{ problems []Problem }

func (c *compiler) reject(at, format string, args ...any) {
	c.problems = append(c.problems, Problem{at, fmt.Sprintf(format, args...)})
}

func (c *compiler) value(at string, v any, depth int) *Template {
	if depth > MaxDepth {
		c.reject(at, "lists and mappings are nested more than %d deep", MaxDepth)
		return nil
	}
	switch v := v.(type) {
	case string:
		return c.text(at, v)
	case []any:
		t := &Template{constant: v}
		for i, x := range v {
			e := c.value(tree.Index(at, i), x, depth+1)
			t.list = append(t.list, e)
			t.dynamic = t.dynamic || e != nil && e.dynamic
		}
		return t
	case map[string]any:
		t := &Template{constant: v, keys: slices.Sorted(maps.Keys(v))}
		for _, k := range t.keys {
			if strings.Contains(k, "${") {
				c.reject(tree.Join(at, k), "the key %q contains ${: only values are templates", k)
			}
			e := c.value(tree.Join(at, k), v[k], depth+1)
			t.vals = append(t.vals, e)
			t.dynamic = t.dynamic || e != nil && e.dynamic
		}
		return t
	}
	return &Template{constant: v}
}

func (c *compiler) text(at, s string) *Template {
	parts, err := parse(s)
	if err != nil {
		c.reject(at, "%v", err)
		return nil
	}
	switch {
	case len(parts) == 0:
		return &Template{constant: ""}
	case len(parts) == 1 && parts[0].expr == nil:
		return &Template{constant: parts[0].text}
	}
	return &Template{parts: parts, dynamic: true}
}

// Constant returns the value of a template that has no expression.
func (t *Template) Constant() (any, bool) {
	return t.constant, !t.dynamic
}

// Each calls do for every expression with the path of its text in the value.
func (t *Template) Each(do func(at string, e *Expr)) {
	t.each("", do)
}

func (t *Template) each(at string, do func(at string, e *Expr)) {
	for _, p := range t.parts {
		if p.expr != nil {
			do(at, p.expr)
		}
	}
	for i, e := range t.list {
		e.each(tree.Index(at, i), do)
	}
	for i, k := range t.keys {
		t.vals[i].each(tree.Join(at, k), do)
	}
}

// Whole returns the expression of a text that is nothing else.
func (t *Template) Whole() (*Expr, bool) {
	if len(t.parts) == 1 {
		return t.parts[0].expr, true
	}
	return nil, false
}

// Type returns the JSON type of the value of a template that has an expression and is
// not one whole expression.
func (t *Template) Type() string {
	switch {
	case t.list != nil:
		return "array"
	case t.keys != nil:
		return "object"
	}
	return "string"
}

// Key returns the template of one key of a mapping, or nil.
func (t *Template) Key(key string) *Template {
	if i, ok := slices.BinarySearch(t.keys, key); ok {
		return t.vals[i]
	}
	return nil
}

// Missing is the error for a path that the values do not have.
type Missing struct {
	Path pathcall.Call
	At   string // the path of the text in the template
}

// Error names the path.
func (m *Missing) Error() string {
	return fmt.Sprintf("${%s}: no value has this path; write ${%[1]s?} for null or ${%[1]s:-default} if it may be missing", m.Path)
}

// Render returns the value with its expressions replaced by values below root.
// Lists and mappings of root are not copied. The error is a *Missing, or of a
// function.
func (t *Template) Render(root any) (any, error) {
	return t.render("", root)
}

func (t *Template) render(at string, root any) (any, error) {
	switch {
	case !t.dynamic:
		return t.constant, nil
	case t.list != nil:
		out := make([]any, len(t.list))
		for i, e := range t.list {
			v, err := e.render(tree.Index(at, i), root)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case t.keys != nil:
		out := make(map[string]any, len(t.keys))
		for i, k := range t.keys {
			v, err := t.vals[i].render(tree.Join(at, k), root)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	case len(t.parts) == 1:
		return t.parts[0].expr.value(at, root)
	}
	return t.mixed(at, root, func(s string) string { return s })
}

// Texts calls do for every text that has an expression, with the keys and the indexes that
// lead to it, and with the path that they are.
func (t *Template) Texts(do func(at string, names []string, text *Template)) {
	t.texts("", nil, do)
}

func (t *Template) texts(
	at string,
	names []string,
	do func(string, []string, *Template),
) {
	if len(t.parts) > 0 {
		do(at, names, t)
	}
	for i, e := range t.list {
		e.texts(
			tree.Index(at, i),
			append(names[:len(names):len(names)], strconv.Itoa(i)),
			do,
		)
	}
	for i, k := range t.keys {
		t.vals[i].texts(
			tree.Join(at, k),
			append(names[:len(names):len(names)], k),
			do,
		)
	}
}

// Literals calls do for every text, also one without an expression, with the keys and the
// indexes that lead to it, the path that they are, and the literal texts of Parts.
func (t *Template) Literals(do func(at string, names, literal []string)) {
	t.literals("", nil, do)
}

func (t *Template) literals(
	at string,
	names []string,
	do func(string, []string, []string),
) {
	below := func(name string) []string {
		return append(names[:len(names):len(names)], name)
	}
	if s, ok := t.constant.(string); ok {
		do(at, names, []string{s})
	} else if len(t.parts) > 0 {
		literal, _ := t.Parts()
		do(at, names, literal)
	}
	for i, e := range t.list {
		e.literals(tree.Index(at, i), below(strconv.Itoa(i)), do)
	}
	for i, k := range t.keys {
		t.vals[i].literals(tree.Join(at, k), below(k), do)
	}
}

// Parts returns the expressions of a text, and the literal texts before, between and after
// them: one more than there are expressions.
func (t *Template) Parts() (literal []string, exprs []*Expr) {
	literal = []string{""}
	for _, p := range t.parts {
		if p.expr == nil {
			literal[len(literal)-1] += p.text
			continue
		}
		exprs = append(exprs, p.expr)
		literal = append(literal, "")
	}
	return literal, exprs
}

// RenderQuoted is Render for parameters that a shell reads: for the names that lead to a text, quote
// returns the function that every value in it passes through, also the value of a text that
// is one expression, or nil.
func (t *Template) RenderQuoted(root any, quote func(names []string) func(string) string) (any, error) {
	return t.renderQuoted("", nil, root, quote)
}

func (t *Template) renderQuoted(
	at string,
	names []string,
	root any,
	quote func([]string) func(string) string,
) (any, error) {
	below := func(name string) []string {
		return append(names[:len(names):len(names)], name)
	}
	switch {
	case !t.dynamic:
		return t.constant, nil
	case t.list != nil:
		out := make([]any, len(t.list))
		for i, e := range t.list {
			v, err := e.renderQuoted(
				tree.Index(at, i),
				below(strconv.Itoa(i)),
				root,
				quote,
			)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case t.keys != nil:
		out := make(map[string]any, len(t.keys))
		for i, k := range t.keys {
			v, err := t.vals[i].renderQuoted(
				tree.Join(at, k),
				below(k),
				root,
				quote,
			)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	}
	if q := quote(names); q != nil {
		return t.mixed(at, root, q)
	}
	return t.render(at, root)
}

func (t *Template) mixed(at string, root any, quote func(string) string) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			out.WriteString(p.text)
			continue
		}
		v, err := p.expr.value(at, root)
		if err != nil {
			return "", err
		}
		s, err := p.expr.text(v)
		if err != nil {
			return "", err
		}
		out.WriteString(quote(s))
	}
	return out.String(), nil
}

// Value returns the value of an expression below root.
func (e *Expr) Value(root any) (any, error) {
	return e.value("", root)
}

// value returns the value of an expression with its type.
func (e *Expr) value(at string, root any) (any, error) {
	v, ok, err := e.Lookup(root)
	switch {
	case err != nil:
		return nil, fmt.Errorf("${%s}: %w", e.Call, err)
	case e.hasDefault && v == nil:
		return e.fallback, nil
	case !ok && !e.Optional:
		return nil, &Missing{e.Call, at}
	}
	return v, nil
}

// text returns a value in mixed text: null is empty where ? permits a missing path.
func (e *Expr) text(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	if v == nil && e.Optional {
		return "", nil
	}
	b, err := jsonx.Marshal(v)
	return string(b), err
}

// Keys returns the keys of a mapping, sorted.
func (t *Template) Keys() []string {
	return slices.Clone(t.keys)
}
