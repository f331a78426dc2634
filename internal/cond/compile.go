package cond

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/pathcall"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
)

// Compile compiles the value of doc at a path, in either form. name is the path as
// messages show it. It returns nil with the findings of every mistake, which have
// the given code. A value that is absent must not be passed: it needs no Cond.
func Compile(
	doc *tree.Doc,
	path, name string,
	v any,
	code diag.Code,
) (*Cond, []diag.Finding) {
	c := &compiler{doc: doc, code: code}
	out := c.cond(path, name, v, 1)
	if len(c.findings) > 0 {
		return nil, c.findings
	}
	return out, nil
}

type compiler struct {
	doc      *tree.Doc
	code     diag.Code
	findings []diag.Finding
	nodes    int
	full     bool // too many nodes were reported
}

func (c *compiler) reject(path, format string, args ...any) *diag.Finding {
	pos := c.doc.At(path)
	c.findings = append(c.findings, diag.Errorf(
		c.code,
		pos.Line,
		pos.Column,
		format,
		args...,
	))
	return &c.findings[len(c.findings)-1]
}

// nearest adds the candidate that is closest to word to a finding, for the hint.
func nearest(f *diag.Finding, word string, candidates []string) {
	if near := suggest.Nearest(word, candidates); near != "" {
		*f = f.WithReason("nearest", "nearest", near)
	}
}

func (c *compiler) cond(path, name string, v any, depth int) *Cond {
	c.nodes++
	switch {
	case c.full:
		return nil
	case c.nodes > MaxNodes:
		c.full = true
		c.reject(path, "%s: the condition has more than %d parts", name, MaxNodes)
		return nil
	case depth > MaxDepth:
		c.reject(path, "%s: the condition is nested more than %d deep", name, MaxDepth)
		return nil
	}
	switch v := v.(type) {
	case string:
		return c.text(path, name, v, depth)
	case map[string]any:
		return c.mapping(path, name, v, depth)
	}
	c.reject(path, "%s: a condition is a mapping or a text, not %s", name, tree.TypeName(v))
	return nil
}

// text compiles a text condition within a larger one, which has the same bounds.
func (c *compiler) text(path, name, s string, depth int) *Cond {
	out, err := Parse(s)
	if err != nil {
		c.reject(path, "%s: %v", name, err)
		return nil
	}
	nodes, deep := out.size()
	if c.nodes += nodes - 1; c.nodes > MaxNodes && !c.full {
		c.full = true
		c.reject(path, "%s: the condition has more than %d parts", name, MaxNodes)
	}
	if depth+deep-1 > MaxDepth {
		c.reject(path, "%s: the condition is nested more than %d deep", name, MaxDepth)
	}
	return out
}

func (c *Cond) size() (nodes, depth int) {
	nodes = 1
	depth = 1
	for _, p := range c.parts {
		n, d := p.size()
		nodes = nodes + n
		depth = max(depth, d+1)
	}
	return nodes, depth
}

// forms are the keys of which a condition has exactly one.
func forms() []string {
	return []string{"path", "any", "all", "not"}
}

func (c *compiler) mapping(path, name string, m map[string]any, depth int) *Cond {
	known := append(forms(), "op", "value")
	keys := slices.Sorted(maps.Keys(m))
	bad := false
	for _, k := range keys {
		if !slices.Contains(known, k) {
			f := c.reject(tree.Join(path, k), "%s: unknown key %q: a condition has path, op and value, or one of any, all, not", name, k)
			nearest(f, k, known)
			bad = true
		}
	}
	form := slices.DeleteFunc(forms(), func(k string) bool { _, has := m[k]; return !has })
	_, hasOp := m["op"]
	_, hasValue := m["value"]
	switch {
	case bad:
		return nil
	case len(m) == 0:
		c.reject(path, "%s: the condition is empty", name)
	case len(form) == 0:
		c.reject(path, "%s: the condition has %s and no path", name, strings.Join(keys, " and "))
	case len(form) > 1:
		c.reject(path, "%s: a condition has exactly one of path, any, all, not; this one has %s", name, strings.Join(form, " and "))
	case form[0] == "path":
		return c.comparison(path, name, m)
	case hasOp || hasValue:
		c.reject(path, "%s: op and value belong to a path, and this condition has %s", name, form[0])
	case form[0] == "not":
		return c.parts(path, name, negation, "not", []any{m["not"]}, depth)
	default:
		list, ok := m[form[0]].([]any)
		if !ok || len(list) == 0 {
			c.reject(tree.Join(path, form[0]), "%s.%s is a list of at least one condition", name, form[0])
			return nil
		}
		return c.parts(
			path,
			name,
			map[string]kind{"any": anyOf, "all": allOf}[form[0]],
			form[0],
			list,
			depth,
		)
	}
	return nil
}

func (c *compiler) parts(
	path, name string,
	k kind,
	key string,
	list []any,
	depth int,
) *Cond {
	out := &Cond{kind: k}
	for i, v := range list {
		at := tree.Join(path, key)
		n := name + "." + key
		if k != negation {
			at = tree.Index(at, i)
			n = n + "[" + strconv.Itoa(i) + "]"
		}
		out.parts = append(out.parts, c.cond(at, n, v, depth+1))
	}
	return out
}

func (c *compiler) comparison(path, name string, m map[string]any) *Cond {
	out := &Cond{op: "eq", value: m["value"]}
	before := len(c.findings)
	s, ok := m["path"].(string)
	if !ok {
		c.reject(tree.Join(path, "path"), "%s.path is a text, not %s", name, tree.TypeName(m["path"]))
	} else if p, err := pathcall.Parse(s); err != nil {
		c.reject(tree.Join(path, "path"), "%s.path: %v", name, err)
	} else {
		out.call = p
	}
	if op, has := m["op"]; has {
		out.op, _ = op.(string)
		if !slices.Contains(ops(), out.op) {
			f := c.reject(
				tree.Join(path, "op"),
				"%s.op: unknown operator %s: the operators are %s",
				name,
				quoted(op),
				strings.Join(ops(), ", "),
			)
			nearest(f, out.op, ops())
			return nil
		}
	}
	_, hasValue := m["value"]
	if err := out.complete(hasValue); err != nil {
		c.reject(tree.Join(path, "value"), "%s.value: %v", name, err)
	}
	if len(c.findings) > before {
		return nil
	}
	return out
}

func quoted(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// complete checks the value of a comparison and compiles a regular expression.
func (c *Cond) complete(hasValue bool) error {
	switch c.op {
	case "exists":
		if _, isBool := c.value.(bool); hasValue && !isBool {
			return fmt.Errorf("the operator exists takes true, false or no value")
		}
		return nil
	case "in":
		if _, ok := c.value.([]any); !ok {
			return fmt.Errorf("the operator in takes a list")
		}
	case "gt", "gte", "lt", "lte":
		if k := classOf(c.value); k != number && k != text {
			return fmt.Errorf("the operator %s takes a number or a text", c.op)
		}
	case "regex":
		s, ok := c.value.(string)
		if !ok || len(s) > MaxRegex {
			return fmt.Errorf("the operator regex takes a text of at most %d bytes", MaxRegex)
		}
		re, err := regexp.Compile(s)
		if err != nil {
			return fmt.Errorf("the regular expression is not valid: %w", err)
		}
		c.re = re
	}
	if !hasValue {
		return fmt.Errorf("the operator %s needs a value", c.op)
	}
	return nil
}
