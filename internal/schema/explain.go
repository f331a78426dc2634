package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/ryeos/rye/internal/suggest"
)

func (t *explainer) explain(e *jsonschema.ValidationError) []Violation {
	at, v := t.at(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var out []Violation
		for _, c := range e.Causes {
			out = append(out, t.explain(c)...)
		}
		return out
	case *kind.AnyOf:
		return t.alternatives(e, at, v, "anyOf")
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return violation(at, "oneOf", "fits both alternatives %d and %d, must fit exactly one", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
		return t.alternatives(e, at, v, "oneOf")
	case *kind.Not:
		return violation(at, "not", "must not fit the schema below \"not\"")
	case *kind.FalseSchema:
		return violation(at, "false", "is not allowed here")
	case *kind.RefCycle:
		return violation(at, "$ref", "the schema refers to itself without end")
	case *kind.Type:
		return violation(at, "type", "must be %s, is %s", strings.Join(k.Want, " or "), typeOf(v))
	case *kind.Enum:
		return violation(at, "enum", "%s", enumMessage(k.Want, v))
	case *kind.Const:
		return violation(at, "const", "must be %s, is %s", show(k.Want), show(v))
	case *kind.Format:
		if k.Want == "regex" && t.schema == nil {
			return nil // lint reports it with the pattern
		}
		return violation(at, "format", "must be a valid %s, is %s", k.Want, show(v))
	case *kind.InvalidJsonValue:
		return violation(at, "type", "has a type that JSON does not have")
	}
	if out := t.object(e, at); out != nil {
		return out
	}
	if out := t.array(e, at); out != nil {
		return out
	}
	return t.scalar(e, at, v)
}

// alternatives returns why no alternative fits, as one violation if only the types
// differ.
func (t *explainer) alternatives(e *jsonschema.ValidationError, at location, v any, keyword string) []Violation {
	var wants, reasons []string
	onlyTypes := true
	if word, ok := t.misspelled(e, v, at); ok {
		return word
	}
	for _, c := range e.Causes {
		k, ok := c.ErrorKind.(*kind.Type)
		if ok && len(c.InstanceLocation) == len(e.InstanceLocation) {
			wants = append(wants, k.Want...)
		} else {
			onlyTypes = false
		}
		if sub := t.all(c); len(sub) > 0 {
			reason := sub[0].Message
			if sub[0].Path != at.String() {
				reason = sub[0].Path + ": " + reason
			}
			reasons = append(reasons, reason)
		}
	}
	if onlyTypes && len(wants) > 0 {
		slices.Sort(wants)
		return violation(at, "type", "must be %s, is %s", strings.Join(slices.Compact(wants), " or "), typeOf(v))
	}
	return violation(at, keyword, "fits none of %d alternatives: %s", len(e.Causes), strings.Join(reasons, "; or "))
}

// misspelled returns the violation of a word that resembles one of a list, if no
// other alternative accepts words: the reasons of the others would hide it.
func (t *explainer) misspelled(e *jsonschema.ValidationError, v any, at location) (out []Violation, ok bool) {
	if _, isWord := v.(string); !isWord {
		return nil, false
	}
	for _, c := range e.Causes {
		if k, isRef := c.ErrorKind.(*kind.Reference); isRef && k != nil && len(c.Causes) == 1 {
			c = c.Causes[0]
		}
		switch k := c.ErrorKind.(type) {
		case *kind.Enum:
			out = violation(at, "enum", "%s", enumMessage(k.Want, v))
		case *kind.Type:
		default:
			return nil, false
		}
	}
	return out, out != nil
}

func enumMessage(want []any, v any) string {
	var all, words []string
	for _, w := range want {
		all = append(all, show(w))
		if s, ok := w.(string); ok {
			words = append(words, s)
		}
	}
	msg := fmt.Sprintf("must be one of %s, is %s", strings.Join(all, ", "), show(v))
	if s, ok := v.(string); ok {
		if near := suggest.Nearest(s, words); near != "" {
			msg += ", did you mean " + show(near)
		}
	}
	return msg
}

func (t *explainer) object(e *jsonschema.ValidationError, at location) []Violation {
	var out []Violation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			out = append(out, violation(at, "required", "missing property %s", show(name))...)
		}
	case *kind.AdditionalProperties:
		declared := t.declared(e.SchemaURL)
		for _, name := range k.Properties {
			msg := "unknown property " + show(name)
			if near := suggest.Nearest(name, declared); near != "" {
				msg += ", did you mean " + show(near)
			}
			out = append(out, violation(at.key(name), "additionalProperties", "%s", msg)...)
		}
	case *kind.PropertyNames:
		return t.name(e, k.Property, at)
	case *kind.Dependency:
		out = dependent(at, k.Prop, k.Missing)
	case *kind.DependentRequired:
		out = dependent(at, k.Prop, k.Missing)
	case *kind.MinProperties:
		return violation(at, "minProperties", "must have at least %d properties, has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return violation(at, "maxProperties", "must have at most %d properties, has %d", k.Want, k.Got)
	}
	return out
}

// name returns the violation of a property's name, none if lint reports it.
func (t *explainer) name(e *jsonschema.ValidationError, property string, at location) []Violation {
	reasons := []Violation{}
	own := explainer{value: property, schema: t.schema}
	for _, c := range e.Causes {
		reasons = append(reasons, own.all(c)...)
	}
	if len(reasons) == 0 {
		return reasons
	}
	return violation(t.parent(at, property), "propertyNames", "the name %s is not allowed: %s", show(property), reasons[0].Message)
}

// parent returns at if it has a property of that name, else the top: for names the
// library can report the location of a later sibling.
func (t *explainer) parent(at location, property string) location {
	v := t.value
	for _, part := range at {
		switch part := part.(type) {
		case int:
			v = v.([]any)[part]
		case string:
			v = v.(map[string]any)[part]
		}
	}
	if m, ok := v.(map[string]any); ok {
		if _, ok = m[property]; ok {
			return at
		}
	}
	return nil
}

func dependent(at location, prop string, missing []string) []Violation {
	var out []Violation
	for _, name := range missing {
		out = append(out, violation(at, "dependentRequired", "missing property %s, required with %s", show(name), show(prop))...)
	}
	return out
}

func (t *explainer) array(e *jsonschema.ValidationError, at location) []Violation {
	switch k := e.ErrorKind.(type) {
	case *kind.MinItems:
		return violation(at, "minItems", "must have at least %d items, has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return violation(at, "maxItems", "must have at most %d items, has %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return violation(at, "additionalItems", "has %d items too many", k.Count)
	case *kind.UniqueItems:
		return violation(at, "uniqueItems", "items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return violation(at, "contains", "no item fits the schema below \"contains\"")
	case *kind.MinContains:
		return violation(at, "minContains", "%d items fit the schema below \"contains\", at least %d must", len(k.Got), k.Want)
	case *kind.MaxContains:
		return violation(at, "maxContains", "%d items fit the schema below \"contains\", at most %d may", len(k.Got), k.Want)
	}
	return nil
}

func (t *explainer) scalar(e *jsonschema.ValidationError, at location, v any) []Violation {
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return violation(at, "minLength", "must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return violation(at, "maxLength", "must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.Pattern:
		return violation(at, "pattern", "must match the pattern %s, is %s", show(k.Want), show(v))
	case *kind.Minimum:
		return violation(at, "minimum", "must be at least %s, is %s", num(k.Want), num(k.Got))
	case *kind.Maximum:
		return violation(at, "maximum", "must be at most %s, is %s", num(k.Want), num(k.Got))
	case *kind.ExclusiveMinimum:
		return violation(at, "exclusiveMinimum", "must be more than %s, is %s", num(k.Want), num(k.Got))
	case *kind.ExclusiveMaximum:
		return violation(at, "exclusiveMaximum", "must be less than %s, is %s", num(k.Want), num(k.Got))
	case *kind.MultipleOf:
		return violation(at, "multipleOf", "must be a multiple of %s, is %s", num(k.Want), num(k.Got))
	}
	keyword := ""
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	return violation(at, keyword, "does not fit %q", keyword)
}

func num(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
