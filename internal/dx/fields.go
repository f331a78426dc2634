package dx

import (
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// fields reads the children of <directive>.
func (d *directive) fields(root *node) {
	d.attributes(root, "name", "version", "extends")
	for _, a := range root.attrs {
		if contains([]string{"name", "version", "extends"}, a.name) {
			d.set(a.name, a.off, a.value)
		}
	}
	seen := map[string]bool{}
	for _, c := range root.children {
		switch {
		case c.tag == "":
			if strings.TrimSpace(c.text) != "" {
				d.warnf(c.off+blankPrefix(c.text), diag.ValidationFailed, "text directly inside <directive> is not read")
			}
		case seen[c.tag] && contains([]string{"metadata", "inputs", "outputs"}, c.tag):
			d.errorf(c.off, diag.ValidationFailed, "<%s> is given twice", c.tag)
		default:
			seen[c.tag] = true
			d.part(c)
		}
	}
	d.joinProse()
}

// part reads one child of <directive>.
func (d *directive) part(c *node) {
	switch c.tag {
	case "metadata":
		d.metadata(c)
	case "inputs":
		d.inputs(c)
	case "outputs":
		d.outputs(c)
	case "description":
		d.set("description", c.off, c.allText())
	case "process":
		d.prose("process", c)
	case "model", "model_class", "limits", "permissions", "hooks", "tags", "author", "category":
		d.errorf(c.off, diag.ValidationFailed, "<%s> must be inside <metadata>", c.tag)
	default:
		d.section(c)
	}
}

// section keeps an element of the older form as prose. It warns if the name is
// one edit away from a name that has a meaning.
func (d *directive) section(c *node) {
	for _, known := range [...]string{"metadata", "inputs", "outputs", "description", "process", "permissions", "limits"} {
		if nearly(c.tag, known) {
			f := d.warnf(c.off, diag.ValidationFailed, "<%s> is kept as prose", c.tag)
			*f = f.WithReason("nearest", "nearest", "<"+known+">")
		}
	}
	if _, ok := d.doc.Pos["sections"]; !ok {
		d.mark("sections", c.off)
	}
	d.prose(join("sections", c.tag), c)
}

// nearly reports whether a and b differ by one letter, or by two exchanged ones.
func nearly(a, b string) bool {
	if a == b ||
		len(a) > len(b)+1 ||
		len(b) > len(a)+1 {
		return false
	}
	i := 0
	j := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	for j < min(len(a), len(b))-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	x := a[i : len(a)-j]
	y := b[i : len(b)-j]
	return len(x) <= 1 && len(y) <= 1 ||
		len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
}

// prose keeps the inner source of an element.
func (d *directive) prose(path string, n *node) {
	if len(d.parts[n.tag]) == 0 {
		d.mark(path, n.off)
	}
	d.parts[n.tag] = append(d.parts[n.tag], d.source(n))
}

// joinProse sets process and sections; several elements of one name are joined.
func (d *directive) joinProse() {
	sections := map[string]any{}
	for tag, texts := range d.parts {
		sections[tag] = strings.Join(texts, "\n\n")
	}
	if process, ok := sections["process"]; ok {
		d.doc.Root["process"] = process
		delete(sections, "process")
	}
	if len(sections) > 0 {
		d.doc.Root["sections"] = sections
	}
}

var metadataElements = [...]string{"description", "category", "author", "model", "limits", "permissions", "hooks", "context", "tags"}

func (d *directive) metadata(n *node) {
	d.attributes(n)
	d.noText(n)
	for _, c := range n.elements() {
		switch c.tag {
		case "description", "category", "author":
			d.set(c.tag, c.off, d.text(c))
		case "model", "model_class":
			d.model(c)
		case "limits":
			d.limits(c)
		case "permissions":
			d.permissions(c)
		case "hooks":
			d.hooks(c)
		case "context":
			d.set("context", c.off, d.open(c, "context"))
		case "tags":
			d.tags(c)
		default:
			d.unknownElement(c, n, metadataElements[:]...)
		}
	}
}

// option is one value given as an attribute or as a child element.
type option struct {
	key, value string
	off        int
}

// options returns the values of attributes and of child elements. alias maps other names to
// the known ones. A key given twice is an error.
func (d *directive) options(n *node, known []string, alias map[string]string) []option {
	d.attributes(n, append(keys(alias), known...)...)
	var all []option
	for _, a := range n.attrs {
		all = append(all, option{a.name, strings.TrimSpace(a.value), a.off})
	}
	for _, c := range n.elements() {
		if !contains(known, c.tag) && alias[c.tag] == "" {
			d.unknownElement(c, n, append(keys(alias), known...)...)
			continue
		}
		all = append(all, option{c.tag, d.text(c), c.off})
	}
	var out []option
	seen := map[string]bool{}
	for _, o := range all {
		if to := alias[o.key]; to != "" {
			o.key = to
		}
		if seen[o.key] {
			d.errorf(o.off, diag.ValidationFailed, "%s is given twice in <%s>", o.key, n.tag)
		} else if contains(known, o.key) {
			out = append(out, o)
		}
		seen[o.key] = true
	}
	return out
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func (d *directive) model(n *node) {
	m := map[string]any{}
	d.set("model", n.off, m)
	if n.ownText() != "" {
		d.warnf(n.off, diag.ValidationFailed, "text in <%s> is not read", n.tag)
	}
	for _, o := range d.options(n, []string{"tier", "id", "provider", "fallback", "parallel", "max_output_tokens", "effort", "temperature"}, nil) {
		switch o.key {
		case "parallel":
			m[o.key] = d.boolean(o)
		case "max_output_tokens":
			m[o.key] = d.typed(o, "integer")
		case "temperature":
			m[o.key] = d.typed(o, "number")
		default:
			m[o.key] = o.value
		}
		d.mark(join("model", o.key), o.off)
	}
}

func (d *directive) boolean(o option) bool {
	if o.value != "true" && o.value != "false" {
		d.errorf(o.off, diag.ValidationFailed, "%s must be true or false, not %q", o.key, o.value)
	}
	return o.value == "true"
}

func (d *directive) limits(n *node) {
	m := map[string]any{}
	d.set("limits", n.off, m)
	d.noText(n)
	known := []string{"turns", "tokens", "spend", "spend_currency", "spawns", "depth", "duration_seconds"}
	alias := map[string]string{}
	for _, key := range known {
		if key != "spend_currency" {
			alias["max_"+key] = key
		}
	}
	for _, o := range d.options(n, known, alias) {
		if v, ok := d.limit(o); ok {
			m[o.key] = v
			d.mark(join("limits", o.key), o.off)
		}
	}
}

func (d *directive) limit(o option) (any, bool) {
	digits := o.value != "" && strings.Trim(o.value, "0123456789") == ""
	switch o.key {
	case "spend_currency":
		if o.value != "USD" {
			f := d.errorf(o.off, diag.ValidationFailed, "spend_currency must be USD, not %q: prices and limits are in US dollars", o.value)
			*f = f.WithReason("currency")
		}
		return o.value, o.value == "USD"
	case "spend":
		whole, frac, point := strings.Cut(o.value, ".")
		ok := whole != "" &&
			(!point || frac != "") &&
			strings.Trim(whole+frac, "0123456789") == ""
		if !ok {
			d.errorf(o.off, diag.ValidationFailed, "spend must be a decimal number such as 0.05, not %q", o.value)
		}
		return o.value, ok
	}
	v, err := strconv.ParseInt(o.value, 10, 64)
	if !digits || err != nil {
		d.errorf(o.off, diag.ValidationFailed, "%s must be a whole number, not %q", o.key, o.value)
		return nil, false
	}
	return v, true
}

// tags reads <tag> elements, or words between commas or blanks.
func (d *directive) tags(n *node) {
	d.attributes(n)
	tags := []any{}
	add := func(text string, off int) {
		d.mark(index("tags", len(tags)), off)
		tags = append(tags, text)
	}
	for _, c := range n.children {
		switch c.tag {
		case "":
			for _, w := range strings.FieldsFunc(c.text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
				add(w, c.off+blankPrefix(c.text))
			}
		case "tag":
			add(d.text(c), c.off)
		default:
			d.unknownElement(c, n, "tag")
		}
	}
	d.set("tags", n.off, tags)
}
