package dx

import (
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

func (d *directive) hooks(n *node) {
	d.attributes(n)
	d.noText(n)
	list := []any{}
	for _, c := range n.elements() {
		if c.tag != "hook" {
			d.unknownElement(c, n, "hook")
			continue
		}
		list = append(list, d.hook(c, index("hooks", len(list))))
	}
	d.set("hooks", n.off, list)
}

var hookKeys = [...]string{"id", "event", "layer", "position", "condition", "description", "action", "tool", "directive", "knowledge", "delay", "on_failure"}

// hook reads a hook as a plain structure:
//
//	id (or name) event position on_failure          text
//	description tool directive knowledge            text
//	layer                                           int64
//	delay                                           int64 or float64
//	condition (or <when>)                           text, or {any all not path op value}
//	action                                          text, or {primary item_type item_id params}
//	params inputs                                   map
func (d *directive) hook(n *node, path string) map[string]any {
	m := &mapping{
		d:    d,
		n:    n,
		path: path,
		m:    map[string]any{},
	}
	d.mark(path, n.off)
	d.attributes(n, append(hookKeys[:], "name")...)
	d.noText(n)
	for _, a := range n.attrs {
		switch {
		case a.name == "name": // the older spelling of id
			m.put("id", a.off, a.value)
		case contains(hookKeys[:], a.name):
			m.put(a.name, a.off, d.hookScalar(option{a.name, a.value, a.off}))
		}
	}
	for _, c := range n.elements() {
		switch c.tag {
		case "condition", "when":
			m.put("condition", c.off, d.condition(c, join(path, "condition")))
		case "action":
			m.put("action", c.off, d.action(c, join(path, "action")))
		case "params", "inputs":
			m.put(c.tag, c.off, d.params(c, join(path, c.tag)))
		case "name":
			m.put("id", c.off, d.text(c))
		default:
			if !contains(hookKeys[:], c.tag) {
				d.unknownElement(c, n, append(
					[]string{"when", "params", "inputs"},
					hookKeys[:]...,
				)...)
				continue
			}
			m.put(c.tag, c.off, d.hookScalar(option{c.tag, d.text(c), c.off}))
		}
	}
	if text(m.m["event"]) == "" {
		d.errorf(n.off, diag.ValidationFailed, "<hook> has no event")
	}
	return m.m
}

func (d *directive) hookScalar(o option) any {
	switch o.key {
	case "layer":
		return d.typed(o, "integer")
	case "delay":
		return d.typed(o, "number")
	}
	return o.value
}

// mapping collects the values of one element.
type mapping struct {
	d    *directive
	n    *node
	path string
	m    map[string]any
}

func (m *mapping) put(key string, off int, v any) {
	if _, twice := m.m[key]; twice {
		m.d.errorf(off, diag.ValidationFailed, "%s is given twice in <%s>", key, m.n.tag)
		return
	}
	m.m[key] = v
	m.d.mark(join(m.path, key), off)
}

// condition reads a text, or path, op and value as attributes or elements, or
// any, all and not around other conditions.
func (d *directive) condition(n *node, path string) any {
	known := []string{"path", "op", "value"}
	d.attributes(n, append(known, "operator")...)
	if len(n.attrs) == 0 && len(n.elements()) == 0 {
		return n.ownText()
	}
	d.noText(n)
	m := &mapping{
		d:    d,
		n:    n,
		path: path,
		m:    map[string]any{},
	}
	for _, a := range n.attrs {
		m.conditionPart(option{a.name, a.value, a.off})
	}
	for _, c := range n.elements() {
		at := join(path, c.tag)
		switch c.tag {
		case "any", "all":
			m.put(c.tag, c.off, d.conditions(c, func(i int) string {
				return index(at, i)
			}))
		case "not":
			list := d.conditions(c, func(int) string { return at })
			if len(list) == 1 {
				m.put("not", c.off, list[0])
			} else {
				d.errorf(c.off, diag.ValidationFailed, "<not> must contain one condition, not %d", len(list))
			}
		case "path", "op", "operator", "value":
			m.conditionPart(option{c.tag, d.text(c), c.off})
		default:
			d.unknownElement(c, n, append(known, "any", "all", "not")...)
		}
	}
	return m.m
}

func (m *mapping) conditionPart(o option) {
	switch o.key {
	case "path", "op":
		m.put(o.key, o.off, o.value)
	case "operator":
		m.put("op", o.off, o.value)
	case "value":
		m.put(o.key, o.off, m.d.guess(o.value))
	}
}

// conditions reads the conditions inside any, all and not. An any, all or not
// without a <condition> around it is a condition too, and
// <not path= op= value=/> is a not around that comparison.
func (d *directive) conditions(n *node, path func(i int) string) []any {
	list := []any{}
	if len(n.attrs) > 0 && n.tag == "not" {
		return append(list, d.condition(n, path(0)))
	}
	d.attributes(n)
	d.noText(n)
	for _, c := range n.elements() {
		at := path(len(list))
		d.mark(at, c.off)
		switch c.tag {
		case "condition":
			list = append(list, d.condition(c, at))
		case "any", "all", "not":
			list = append(list, d.condition(
				&node{tag: n.tag, off: c.off, children: []*node{c}},
				at,
			))
		default:
			d.unknownElement(c, n, "condition", "any", "all", "not")
		}
	}
	return list
}

// guess reads a number, true, false, null, quoted text or list of a condition
// as JSON, and everything else as text.
func (d *directive) guess(s string) any {
	v, fs := jsonx.ParseValue([]byte(s))
	_, object := v.(map[string]any)
	if object || len(fs) > 0 {
		return s
	}
	return v
}

func (d *directive) action(n *node, path string) any {
	if len(n.attrs) == 0 && len(n.elements()) == 0 {
		return n.ownText()
	}
	d.noText(n)
	known := []string{"primary", "item_type", "item_id"}
	d.attributes(n, known...)
	m := &mapping{
		d:    d,
		n:    n,
		path: path,
		m:    map[string]any{},
	}
	for _, a := range n.attrs {
		if contains(known, a.name) {
			m.put(a.name, a.off, a.value)
		}
	}
	for _, c := range n.elements() {
		switch {
		case c.tag == "params":
			m.put("params", c.off, d.params(c, join(path, "params")))
		case contains(known, c.tag):
			m.put(c.tag, c.off, d.text(c))
		default:
			d.unknownElement(c, n, append(known, "params")...)
		}
	}
	return m.m
}

// params reads <param name="x" type="integer">5</param>, <x type="integer">5</x>
// and nested elements. Without a type a value is text.
func (d *directive) params(n *node, path string) any {
	d.noText(n)
	d.attributes(n, "name", "type")
	m := &mapping{
		d:    d,
		n:    n,
		path: path,
		m:    map[string]any{},
	}
	for _, c := range n.elements() {
		key := c.tag
		a, ok := c.attr("name")
		if ok && (c.tag == "param" || c.tag == "input") {
			key = a.value
		}
		m.put(key, c.off, d.param(c, join(path, key)))
	}
	return m.m
}

func (d *directive) param(c *node, path string) any {
	if len(c.elements()) > 0 {
		return d.params(c, path)
	}
	d.attributes(c, "name", "type", "value")
	o := option{c.tag, c.ownText(), c.off}
	if a, ok := c.attr("value"); ok {
		o.value = a.value
		o.off = a.off
	}
	kind := "string"
	if a, ok := c.attr("type"); ok {
		kind = a.value
	}
	return d.typed(o, kind)
}

// typed converts a text to the kind. It reports a text that is not of the kind
// and returns it unchanged.
func (d *directive) typed(o option, kind string) any {
	if kind == "string" {
		return o.value
	}
	v, _ := jsonx.ParseValue([]byte(o.value))
	ok := false
	switch v.(type) {
	case int64:
		ok = kind == "integer" || kind == "number"
	case float64:
		ok = kind == "number"
	case bool:
		ok = kind == "boolean"
	case []any:
		ok = kind == "array"
	case map[string]any:
		ok = kind == "object"
	}
	if !ok {
		d.errorf(
			o.off,
			diag.ValidationFailed,
			"%s: %s is not of type %s",
			o.key,
			strconv.Quote(o.value),
			kind,
		)
		return o.value
	}
	return v
}

// open reads an element of any content: its text, or a map of its attributes
// and elements, with the text between them under "text". Elements with the same
// name become a list.
func (d *directive) open(n *node, path string) any {
	elements := n.elements()
	if len(n.attrs) == 0 && len(elements) == 0 {
		return n.ownText()
	}
	m := map[string]any{}
	counts := map[string]int{}
	for _, a := range n.attrs {
		counts[a.name]++
	}
	for _, c := range elements {
		counts[c.tag]++
	}
	put := func(key string, off int, read func(at string) any) {
		at := join(path, key)
		if counts[key] < 2 {
			d.mark(at, off)
			m[key] = read(at)
			return
		}
		list, _ := m[key].([]any)
		at = index(at, len(list))
		d.mark(at, off)
		m[key] = append(list, read(at))
	}
	for _, a := range n.attrs {
		put(a.name, a.off, func(string) any { return a.value })
	}
	for _, c := range elements {
		put(c.tag, c.off, func(at string) any {
			return d.open(c, at)
		})
	}
	if t := n.ownText(); t != "" && counts["text"] == 0 {
		m["text"] = t
	}
	return m
}
