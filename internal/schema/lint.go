package schema

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

// shape is the kind of value that a keyword has.
type shape uint8

const (
	data shape = iota + 1 // not a schema
	one                   // a schema, or a list of them
	many                  // a mapping of names to schemas
)

// keywords returns the keywords of all drafts. No caller changes the map.
var keywords = sync.OnceValue(func() map[string]shape {
	out := map[string]shape{}
	for words, s := range map[string]shape{
		"not if then else items additionalItems additionalProperties propertyNames contains unevaluatedItems unevaluatedProperties contentSchema allOf anyOf oneOf prefixItems": one,
		"properties patternProperties $defs definitions dependentSchemas dependencies":                                                                                          many,
		"$schema $id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment id type enum const default examples example title description " +
			"format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minContains maxContains required " +
			"minProperties maxProperties dependentRequired deprecated readOnly writeOnly contentEncoding contentMediaType": data,
	} {
		for w := range strings.FieldsSeq(words) {
			out[w] = s
		}
	}
	return out
})

type linter struct {
	known map[string]shape
	out   []problem
}

// lint returns a finding for every pattern that does not compile, every format that is not
// checked and every unknown keyword, with its path.
func lint(doc any) []problem {
	l := linter{known: keywords()}
	l.schema(doc, nil)
	return l.out
}

func (l *linter) schema(v any, at location) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if l.onlyData(m) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch l.known[k] {
		case one:
			l.one(m[k], at.key(k))
		case many:
			l.many(k, m[k], at.key(k))
		case data:
			text, ok := m[k].(string)
			switch {
			case ok && k == "pattern":
				l.pattern(text, at.key(k))
			case ok && k == "format":
				l.format(text, at.key(k))
			}
		default:
			l.unknown(k, at.key(k))
		}
	}
}

// onlyData reports whether nothing can be found in a schema, as in most schemas of one
// parameter.
func (l *linter) onlyData(m map[string]any) bool {
	for k := range m {
		if k == "pattern" || k == "format" || l.known[k] != data {
			return false
		}
	}
	return true
}

func (l *linter) one(v any, at location) {
	list, ok := v.([]any)
	if !ok {
		l.schema(v, at)
		return
	}
	for i := range list {
		l.schema(list[i], at.index(i))
	}
}

func (l *linter) many(keyword string, v any, at location) {
	m, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if keyword == "patternProperties" {
			l.pattern(name, at.key(name))
		}
		l.schema(m[name], at.key(name))
	}
}

func (l *linter) pattern(re string, at location) {
	if _, err := regexp.Compile(re); err != nil {
		l.add(at, diag.Errorf(diag.ValidationFailed, 0, 0, "schema %s: the pattern %s is not one of Go's (RE2): %s",
			at, show(re), strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
	}
}

// unchecked are annotations of OpenAPI for numbers and texts, which restrict nothing that a
// reader of the schema could expect to be checked.
const unchecked = " int32 int64 float double password binary byte "

// format warns about a format that is not checked: its author may rely on it.
func (l *linter) format(name string, at location) {
	if knownFormats()[name] != nil || strings.Contains(unchecked, " "+name+" ") {
		return
	}
	f := diag.Warnf(
		diag.ValidationFailed,
		0,
		0,
		"schema %s: the format %s is not known, so it is not checked",
		at[:len(at)-1],
		show(name),
	)
	near := suggest.Nearest(name, slices.Collect(maps.Keys(knownFormats())))
	if near != "" {
		f.Message += ", did you mean " + show(near)
	}
	l.add(at, f)
}

func (l *linter) unknown(k string, at location) {
	if strings.HasPrefix(k, "x-") {
		return
	}
	f := diag.Warnf(
		diag.ValidationFailed,
		0,
		0,
		"schema %s: unknown keyword %s",
		at[:len(at)-1],
		show(k),
	)
	near := suggest.Nearest(k, slices.Collect(maps.Keys(l.known)))
	if near != "" {
		f.Message += ", did you mean " + show(near)
	}
	l.add(at, f)
}

func (l *linter) add(at location, f diag.Finding) {
	l.out = append(l.out, problem{f, at.tree()})
}
