package schema

import (
	"regexp"
	"slices"
)

// values reads the keywords about any value and about numbers.
func (n *node) values(m map[string]any) {
	switch t := m["type"].(type) {
	case string:
		n.types = []string{t}
	case []any:
		for _, name := range typeNames {
			if slices.Contains(t, any(name)) {
				n.types = append(n.types, name)
			}
		}
	}
	n.enum, n.hasEnum = m["enum"].([]any)
	n.constant, n.hasConst = m["const"]
	if n.res.draft == draft4 {
		n.hasConst = false
	}
	n.minimum, n.maximum = rational(m["minimum"]), rational(m["maximum"])
	n.above, n.below = rational(m["exclusiveMinimum"]), rational(m["exclusiveMaximum"])
	if yes, _ := m["exclusiveMinimum"].(bool); yes {
		n.above = n.minimum
		n.minimum = nil
	}
	if yes, _ := m["exclusiveMaximum"].(bool); yes {
		n.below = n.maximum
		n.maximum = nil
	}
	n.multipleOf = rational(m["multipleOf"])
	for key, to := range map[string]**int{
		"minLength": &n.minLength, "maxLength": &n.maxLength, "minItems": &n.minItems, "maxItems": &n.maxItems,
		"minProperties": &n.minProps, "maxProperties": &n.maxProps, "minContains": &n.minContains, "maxContains": &n.maxContains,
	} {
		*to = count(m[key])
	}
}

func (c *compiler) strings(n *node, m map[string]any) {
	if text, ok := m["pattern"].(string); ok {
		n.pattern = c.regexp(text)
	}
	n.format, _ = m["format"].(string)
	n.unique, _ = m["uniqueItems"].(bool)
	n.required = texts(m["required"])
}

// regexp compiles a pattern. The linter has reported one that does not compile.
func (c *compiler) regexp(text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil && c.err == nil {
		c.err = errPattern
	}
	return re
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *compiler) sub(m map[string]any, key string, at location, res *resource) *node {
	v, ok := m[key]
	if !ok {
		return nil
	}
	return c.node(v, at.key(key), res)
}

func (c *compiler) list(
	m map[string]any,
	key string,
	at location,
	res *resource,
) []*node {
	list, _ := m[key].([]any)
	var out []*node
	for i := range list {
		out = append(out, c.node(
			list[i],
			at.key(key).index(i),
			res,
		))
	}
	return out
}

func (c *compiler) named(
	m map[string]any,
	key string,
	at location,
	res *resource,
) map[string]*node {
	sub, ok := m[key].(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]*node{}
	for name, v := range sub {
		if _, isList := v.([]any); !isList {
			out[name] = c.node(v, at.key(key).key(name), res)
		}
	}
	return out
}

func (c *compiler) objects(n *node, m map[string]any, at location) {
	n.props = c.named(m, "properties", at, n.res)
	for text, sub := range c.named(m, "patternProperties", at, n.res) {
		if re := c.regexp(text); re != nil {
			n.patterns = append(n.patterns, patternNode{re, sub})
		}
	}
	n.extraProps = c.sub(m, "additionalProperties", at, n.res)
	if n.res.draft > draft4 {
		n.names = c.sub(m, "propertyNames", at, n.res)
	}
	n.dependentRequired = map[string][]string{}
	n.dependentSchemas = map[string]*node{}
	for _, key := range []string{"dependentRequired", "dependencies"} {
		lists, _ := m[key].(map[string]any)
		for name, list := range lists {
			if _, ok := list.([]any); ok {
				n.dependentRequired[name] = append(n.dependentRequired[name], texts(list)...)
			}
		}
	}
	for _, key := range []string{"dependencies", "dependentSchemas"} {
		for name, sub := range c.named(m, key, at, n.res) {
			n.dependentSchemas[name] = sub
		}
	}
	if n.res.draft >= draft2019 {
		n.unevalProps = c.sub(m, "unevaluatedProperties", at, n.res)
		n.unevalItems = c.sub(m, "unevaluatedItems", at, n.res)
		c.tracks = c.tracks || n.unevalProps != nil || n.unevalItems != nil
	}
}

func (c *compiler) arrays(n *node, m map[string]any, at location) {
	if _, old := m["items"].([]any); old {
		n.prefix = c.list(m, "items", at, n.res)
		n.items = c.sub(m, "additionalItems", at, n.res)
	} else {
		if n.res.draft == draft2020 {
			n.prefix = c.list(m, "prefixItems", at, n.res)
		}
		n.items = c.sub(m, "items", at, n.res)
	}
	if n.res.draft > draft4 {
		n.contains = c.sub(m, "contains", at, n.res)
	}
}

func (c *compiler) applicators(n *node, m map[string]any, at location) {
	n.allOf = c.list(m, "allOf", at, n.res)
	n.anyOf = c.list(m, "anyOf", at, n.res)
	n.oneOf = c.list(m, "oneOf", at, n.res)
	n.not = c.sub(m, "not", at, n.res)
	if n.res.draft >= draft7 {
		n.cond = c.sub(m, "if", at, n.res)
		n.then = c.sub(m, "then", at, n.res)
		n.orElse = c.sub(m, "else", at, n.res)
	}
}
