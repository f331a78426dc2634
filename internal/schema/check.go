package schema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/suggest"
)

// MaxSteps is the number of subschemas that one validation may apply. A few lines of
// "$ref" can require 2^60 of them.
const MaxSteps = 500_000

// errSteps ends a validation by a panic that Schema.Validate recovers.
var errSteps = errors.New("the schema takes too many steps to check")

// spot is the position of a value, from the value to the root.
type spot struct {
	parent *spot
	part   any // string or int
}

func (p *spot) key(k string) *spot {
	return &spot{p, k}
}
func (p *spot) index(i int) *spot {
	return &spot{p, i}
}

func (p *spot) location() location {
	var out location
	for ; p != nil && p.parent != nil; p = p.parent {
		out = append(out, p.part)
	}
	slices.Reverse(out)
	return out
}

// scope is the resources that the evaluation has entered, the innermost first.
type scope struct {
	outer *scope
	res   *resource
}

func (s *scope) enter(res *resource) *scope {
	if s != nil && s.res == res {
		return s
	}
	return &scope{s, res}
}

// fail is a violation and what alternatives need to know of it.
type fail struct {
	Violation
	at    *spot
	types []string // of a violation of type
	words []any    // of a violation of enum
	value any
}

// seen is the parts of a value that schemas have evaluated.
type seen struct {
	props    map[string]bool
	items    map[int]bool
	allProps bool
	allItems bool
}

func (s *seen) prop(name string) {
	if s.props == nil {
		s.props = map[string]bool{}
	}
	s.props[name] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

func (s *seen) add(other seen) {
	for name := range other.props {
		s.prop(name)
	}
	for i := range other.items {
		s.item(i)
	}
	s.allProps = s.allProps || other.allProps
	s.allItems = s.allItems || other.allItems
}

// visit is the application of a schema to a value that has not ended.
type visit struct {
	n  *node
	at *spot
}

// run is one validation.
type run struct {
	left   int
	tracks bool
	active map[visit]bool
}

// target is a value and where it is: what a node is applied to.
type target struct {
	value any
	at    *spot
	scope *scope
}

// result is what applying a node to a value finds.
type result struct {
	fails []fail
	seen  seen
}

func (r *result) add(t target, keyword, format string, args ...any) {
	r.fails = append(r.fails, newFail(t, keyword, format, args...))
}

func newFail(t target, keyword, format string, args ...any) fail {
	loc := t.at.location()
	return fail{Violation: Violation{
		Path:    loc.String(),
		Message: fmt.Sprintf(format, args...),
		Keyword: keyword,
		At:      loc.tree(),
	}, at: t.at, value: t.value}
}

// child adds the fails of a part of the value; what is evaluated in the part does
// not concern the value.
func (r *result) child(sub result) {
	r.fails = append(r.fails, sub.fails...)
}

// same adds the result of another schema for the same value.
func (r *result) same(sub result) {
	r.fails = append(r.fails, sub.fails...)
	if len(sub.fails) == 0 {
		r.seen.add(sub.seen)
	}
}

// apply applies a node to a value.
func (r *run) apply(n *node, t target) (out result) {
	if r.left--; r.left < 0 {
		panic(errSteps)
	}
	if n.always != nil {
		if !*n.always {
			out.add(t, "false", "is not allowed here")
		}
		return out
	}
	if n.ref != nil || n.dynRef != nil {
		v := visit{n, t.at}
		if r.active[v] {
			out.add(t, "$ref", "the schema refers to itself without end")
			return out
		}
		r.active[v] = true
		defer delete(r.active, v)
	}
	t.scope = t.scope.enter(n.res)
	if n.ref != nil {
		out.same(r.apply(n.ref, t))
		if n.res.draft <= draft7 {
			return out
		}
	}
	if n.dynRef != nil {
		out.same(r.apply(n.dynamicTarget(t.scope), t))
	}
	r.any(n, t, &out)
	switch v := t.value.(type) {
	case string:
		r.text(n, t, v, &out)
	case map[string]any:
		r.object(n, t, v, &out)
	case []any:
		r.array(n, t, v, &out)
	default:
		if q := rational(v); q != nil {
			number(n, t, q, &out)
		}
	}
	r.combined(n, t, &out)
	r.unevaluated(n, t, &out)
	return out
}

// dynamicTarget returns the target of $dynamicRef: the one in the outermost resource
// that has the name.
func (n *node) dynamicTarget(s *scope) *node {
	found := n.dynRef
	if n.dynName == "" {
		return found
	}
	for ; s != nil; s = s.outer {
		if d := s.res.dynamic[n.dynName]; d != nil {
			found = d
		}
	}
	return found
}

func (r *run) any(n *node, t target, out *result) {
	if len(n.types) > 0 &&
		!slices.ContainsFunc(n.types, func(name string) bool { return hasType(t.value, name) }) {
		f := newFail(
			t,
			"type",
			"must be %s, is %s",
			strings.Join(n.types, " or "),
			typeOf(t.value),
		)
		f.types = n.types
		out.fails = append(out.fails, f)
	}
	if n.hasEnum &&
		!slices.ContainsFunc(n.enum, func(want any) bool { return equal(want, t.value) }) {
		f := newFail(t, "enum", "%s", enumMessage(n.enum, t.value))
		f.words = n.enum
		out.fails = append(out.fails, f)
	}
	if n.hasConst && !equal(n.constant, t.value) {
		out.add(t, "const", "must be %s, is %s", show(n.constant), show(t.value))
	}
	if n.format != "" && !fitsFormat(n.format, t.value) {
		out.add(t, "format", "must be a valid %s, is %s", n.format, show(t.value))
	}
}

func hasType(v any, name string) bool {
	got := typeOf(v)
	if got == "number" && name == "integer" {
		q := rational(v)
		return q != nil && q.IsInt()
	}
	return got == name || got == "integer" && name == "number"
}

func number(n *node, t target, q *big.Rat, out *result) {
	for _, c := range []struct {
		limit   *big.Rat
		ok      func(cmp int) bool
		keyword string
		text    string
	}{
		{n.minimum, func(c int) bool { return c >= 0 }, "minimum", "must be at least %s, is %s"},
		{n.maximum, func(c int) bool { return c <= 0 }, "maximum", "must be at most %s, is %s"},
		{n.above, func(c int) bool { return c > 0 }, "exclusiveMinimum", "must be more than %s, is %s"},
		{n.below, func(c int) bool { return c < 0 }, "exclusiveMaximum", "must be less than %s, is %s"},
	} {
		if c.limit != nil && !c.ok(q.Cmp(c.limit)) {
			out.add(t, c.keyword, c.text, num(c.limit), num(q))
		}
	}
	if n.multipleOf != nil &&
		n.multipleOf.Sign() != 0 &&
		!new(big.Rat).Quo(q, n.multipleOf).IsInt() {
		out.add(t, "multipleOf", "must be a multiple of %s, is %s", num(n.multipleOf), num(q))
	}
}

func (r *run) text(n *node, t target, s string, out *result) {
	if n.minLength != nil || n.maxLength != nil {
		got := utf8.RuneCountInString(s)
		atLeast(t, out, "minLength", "characters", n.minLength, got)
		atMost(t, out, "maxLength", "characters", n.maxLength, got)
	}
	if n.pattern != nil && !n.pattern.MatchString(s) {
		out.add(t, "pattern", "must match the pattern %s, is %s", show(n.pattern.String()), show(s))
	}
}

func atLeast(t target, out *result, keyword, what string, want *int, got int) {
	if want != nil && got < *want {
		out.add(t, keyword, "must have at least %d %s, has %d", *want, what, got)
	}
}

func atMost(t target, out *result, keyword, what string, want *int, got int) {
	if want != nil && got > *want {
		out.add(t, keyword, "must have at most %d %s, has %d", *want, what, got)
	}
}

func (r *run) object(n *node, t target, m map[string]any, out *result) {
	atLeast(t, out, "minProperties", "properties", n.minProps, len(m))
	atMost(t, out, "maxProperties", "properties", n.maxProps, len(m))
	for _, name := range n.required {
		if _, ok := m[name]; !ok {
			out.add(t, "required", "missing property %s", show(name))
		}
	}
	for name, v := range m {
		r.property(n, t, name, v, out)
	}
	for name, wants := range n.dependentRequired {
		if _, ok := m[name]; !ok {
			continue
		}
		for _, want := range wants {
			if _, ok := m[want]; !ok {
				out.add(t, "dependentRequired", "missing property %s, required with %s", show(want), show(name))
			}
		}
	}
	for name, sub := range n.dependentSchemas {
		if _, ok := m[name]; ok {
			out.same(r.apply(sub, t))
		}
	}
}

func (r *run) property(n *node, t target, name string, v any, out *result) {
	at := target{v, t.at.key(name), t.scope}
	known := false
	if sub := n.props[name]; sub != nil {
		known = true
		out.child(r.apply(sub, at))
	}
	for _, p := range n.patterns {
		if p.re.MatchString(name) {
			known = true
			out.child(r.apply(p.sub, at))
		}
	}
	if !known && n.extraProps != nil {
		known = true
		if no := n.extraProps.always; no != nil && !*no {
			out.fails = append(out.fails, unknownProperty(n, at, name))
		} else {
			out.child(r.apply(n.extraProps, at))
		}
	}
	if known && r.tracks {
		out.seen.prop(name)
	}
	if n.names != nil {
		bad := r.apply(n.names, target{name, t.at.key(name), t.scope}).fails
		if len(bad) > 0 {
			out.add(t, "propertyNames", "the name %s is not allowed: %s", show(name), sorted(bad)[0].Message)
		}
	}
}

func unknownProperty(n *node, t target, name string) fail {
	msg := "unknown property " + show(name)
	near := suggest.Nearest(name, slices.Collect(maps.Keys(n.props)))
	if near != "" {
		msg += ", did you mean " + show(near)
	}
	return newFail(t, "additionalProperties", "%s", msg)
}

func (r *run) array(n *node, t target, list []any, out *result) {
	atLeast(t, out, "minItems", "items", n.minItems, len(list))
	atMost(t, out, "maxItems", "items", n.maxItems, len(list))
	if n.unique {
		if i, j, found := duplicates(list); found {
			out.add(t, "uniqueItems", "items %d and %d are equal", i, j)
		}
	}
	for i, v := range list {
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		} else if sub != nil && sub.always != nil && !*sub.always {
			out.add(t, n.tooMany(), "has %d items too many", len(list)-i)
			break
		}
		if sub != nil {
			out.child(r.apply(sub, target{v, t.at.index(i), t.scope}))
			out.seen.mark(r.tracks, i)
		}
	}
	if n.contains != nil {
		r.contains(n, t, list, out)
	}
}

// tooMany returns the keyword that forbids items behind the prefix.
func (n *node) tooMany() string {
	if n.res.draft == draft2020 {
		return "items"
	}
	return "additionalItems"
}

func (s *seen) mark(tracks bool, i int) {
	if tracks {
		s.item(i)
	}
}

func (r *run) contains(n *node, t target, list []any, out *result) {
	fit := 0
	for i, v := range list {
		if len(r.apply(n.contains, target{v, t.at.index(i), t.scope}).fails) == 0 {
			fit++
			out.seen.mark(r.tracks && n.res.draft == draft2020, i)
		}
	}
	least := n.minContains
	if n.res.draft < draft2019 {
		least = nil
	}
	switch {
	case least == nil && fit == 0:
		out.add(t, "contains", "no item fits the schema below \"contains\"")
	case least != nil && fit < *least:
		out.add(t, "minContains", "%d items fit the schema below \"contains\", at least %d must", fit, *least)
	}
	most := n.maxContains
	if most != nil && n.res.draft >= draft2019 && fit > *most {
		out.add(t, "maxContains", "%d items fit the schema below \"contains\", at most %d may", fit, *most)
	}
}

// combined applies the keywords that combine schemas.
func (r *run) combined(n *node, t target, out *result) {
	for _, sub := range n.allOf {
		out.same(r.apply(sub, t))
	}
	if len(n.anyOf) > 0 {
		r.alternatives(n.anyOf, t, "anyOf", out)
	}
	if len(n.oneOf) > 0 {
		r.alternatives(n.oneOf, t, "oneOf", out)
	}
	if n.not != nil && len(r.apply(n.not, t).fails) == 0 {
		out.add(t, "not", "must not fit the schema below \"not\"")
	}
	if n.cond == nil {
		return
	}
	when := r.apply(n.cond, t)
	branch := n.then
	if len(when.fails) > 0 {
		branch = n.orElse
	} else {
		out.seen.add(when.seen)
	}
	if branch != nil {
		out.same(r.apply(branch, t))
	}
}

func (r *run) alternatives(subs []*node, t target, keyword string, out *result) {
	var fits []int
	var failed [][]fail
	for i, sub := range subs {
		got := r.apply(sub, t)
		if len(got.fails) == 0 {
			fits = append(fits, i)
			out.seen.add(got.seen)
			continue
		}
		failed = append(failed, sorted(got.fails))
	}
	switch {
	case len(fits) == 0:
		out.fails = append(out.fails, noAlternative(failed, t, keyword))
	case keyword == "oneOf" && len(fits) > 1:
		out.add(t, "oneOf", "fits both alternatives %d and %d, must fit exactly one", fits[0]+1, fits[1]+1)
	}
}

// unevaluated applies the schemas of the parts that no other schema has evaluated.
func (r *run) unevaluated(n *node, t target, out *result) {
	m, ok := t.value.(map[string]any)
	if ok && n.unevalProps != nil {
		for name, v := range m {
			if !out.seen.allProps && !out.seen.props[name] {
				out.child(r.apply(n.unevalProps, target{v, t.at.key(name), t.scope}))
			}
		}
		out.seen.allProps = true
	}
	list, ok := t.value.([]any)
	if ok && n.unevalItems != nil {
		for i, v := range list {
			if !out.seen.allItems && !out.seen.items[i] {
				out.child(r.apply(n.unevalItems, target{v, t.at.index(i), t.scope}))
			}
		}
		out.seen.allItems = true
	}
}
