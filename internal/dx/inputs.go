package dx

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// valueTypes are the types of outputs. An input can also be the path of a file.
func valueTypes() []string {
	return []string{"string", "integer", "number", "boolean", "array", "object"}
}

// inputs reads <input name type required default>description</input>.
func (d *directive) inputs(n *node) {
	d.attributes(n)
	d.noText(n)
	list := []any{}
	seen := map[string]bool{}
	for _, c := range n.elements() {
		if c.tag != "input" {
			d.unknownElement(c, n, "input")
			continue
		}
		path := index("inputs", len(list))
		in := map[string]any{"type": "string", "required": false}
		d.parameter(c, in, path, "name", "type", "required", "default")
		name, _ := in["name"].(string)
		if seen[name] && name != "" {
			d.errorf(c.off, diag.ValidationFailed, "the input %q is declared twice", name)
			continue
		}
		seen[text(in["name"])] = true
		list = append(list, in)
	}
	d.set("inputs", n.off, list)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// parameter reads the attributes and the description of an input or output.
func (d *directive) parameter(n *node, into map[string]any, path string, known ...string) {
	d.mark(path, n.off)
	if desc := d.text(n, known...); desc != "" {
		into["description"] = desc
		d.mark(join(path, "description"), n.in)
	}
	for _, a := range n.attrs {
		if !contains(known, a.name) {
			continue
		}
		into[a.name] = a.value
		d.mark(join(path, a.name), a.off)
		switch a.name {
		case "required":
			into[a.name] = d.boolean(option{a.name, a.value, a.off})
		case "type":
			types := valueTypes()
			if n.tag == "input" {
				types = append(types, "image", "file")
			}
			if !contains(types, a.value) {
				f := d.errorf(
					a.off,
					diag.ValidationFailed,
					"unknown type %q, not one of %s",
					a.value,
					strings.Join(types, ", "),
				)
				near(f, a.value, types, "", "")
			}
		case "name":
			d.name(n, a)
		}
	}
	_, ok := n.attr("name")
	if !ok && contains(known, "name") {
		d.errorf(n.off, diag.ValidationFailed, "<%s> has no name", n.tag)
	}
}

// name reports a name that {input:name} cannot refer to.
func (d *directive) name(n *node, a attr) {
	for i := range len(a.value) {
		c := a.value[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= '0' && c <= '9') {
			d.errorf(a.off, diag.ValidationFailed, "the name %q must have letters, digits and _ only", a.value)
			return
		}
	}
	if a.value == "" {
		d.errorf(a.off, diag.ValidationFailed, "<%s> has an empty name", n.tag)
	}
}

// outputs reads <output name type required>description</output>, directly or
// inside <success> and <failure>, which may also contain only a text, and
// <check tool="a/b" attempts="2"/>, which is the field checks.
func (d *directive) outputs(n *node) {
	list := []any{}
	d.lenient = true
	d.outputList(n, "", &list)
	d.lenient = false
	d.set("outputs", n.off, list)
	if len(d.checks) > 0 {
		d.doc.Root["checks"] = d.checks
	}
}

func (d *directive) check(c *node) {
	d.lenient = false
	path := index("checks", len(d.checks))
	d.mark(path, c.off)
	d.noText(c)
	m := map[string]any{}
	for _, o := range d.options(c, []string{"tool", "attempts"}, nil) {
		m[o.key] = any(o.value)
		if o.key == "attempts" {
			m[o.key] = d.typed(o, "integer")
		}
		d.mark(join(path, o.key), o.off)
	}
	d.checks = append(d.checks, m)
	d.lenient = true
}

func (d *directive) outputList(n *node, on string, list *[]any) {
	for _, c := range n.children {
		path := index("outputs", len(*list))
		switch {
		case c.tag == "output":
			out := map[string]any{}
			if on != "" {
				out["on"] = on
			}
			d.parameter(c, out, path, "name", "type", "required")
			*list = append(*list, out)
		case on == "" && c.tag == "check":
			d.check(c)
		case on == "" && (c.tag == "success" || c.tag == "failure"):
			d.outcome(c, path, list)
		case c.tag != "":
			d.warnf(c.off, diag.ValidationFailed, "<%s> in <%s> is not read, only <output>, <success>, <failure> and <check> are", c.tag, n.tag)
		case strings.TrimSpace(c.text) != "":
			d.warnf(c.off+blankPrefix(c.text), diag.ValidationFailed, "text in <%s> is not read", n.tag)
		}
	}
}

func (d *directive) outcome(c *node, path string, list *[]any) {
	if len(c.elements()) > 0 {
		d.outputList(c, c.tag, list)
		return
	}
	out := map[string]any{"name": c.tag, "on": c.tag}
	d.parameter(c, out, path, "type")
	*list = append(*list, out)
}
