package dx

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/suggest"
)

// permissions reads capability strings: "*" is every action but draft, which has to be
// named; below an action "*" is rye.<action>.*, plain text rye.<action>.<text>, an element of a kind
// rye.<action>.<kind>.<id> and <type>kind</type> in search rye.search.<kind>.*,
// each "/" written as ".". <draft> asks for
// capabilities by name only. <alias>name</alias> is "@name", which a configuration
// expands. <sandbox> is the field sandbox, see sandbox.
func (d *directive) permissions(n *node) {
	d.attributes(n)
	p := &permissions{d: d, caps: []any{}}
	switch text := n.ownText(); {
	case text == "*" && len(n.elements()) == 0:
		for _, action := range actions[:len(actions)-1] {
			p.add(n.off, "rye."+action+".*")
		}
	default:
		d.noText(n)
	}
	for _, c := range n.elements() {
		switch {
		case c.tag == "sandbox":
			d.sandbox(c)
		case c.tag == "alias":
			p.alias(c)
		case contains(actions[:], c.tag):
			p.action(c)
		default:
			d.unknownElement(c, n, append([]string{"alias", "sandbox"}, actions[:]...)...)
		}
	}
	if len(p.caps) > glob.MaxPatterns {
		d.errorf(n.off, diag.ValidationFailed, "<permissions> has %d patterns, more than %d", len(p.caps), glob.MaxPatterns)
	}
	d.set("permissions", n.off, p.caps)
}

var actions = [...]string{"execute", "search", "load", "sign", "draft"}

type permissions struct {
	d    *directive
	caps []any
}

func (p *permissions) add(off int, capability string) {
	p.d.mark(index("permissions", len(p.caps)), off)
	p.caps = append(p.caps, capability)
}

// alias reads <alias>name</alias>.
func (p *permissions) alias(n *node) {
	name := p.d.text(n)
	if !isKind(name) {
		p.d.errorf(n.off, diag.ValidationFailed, "<alias> must be the name of an alias, not %q", name)
		return
	}
	p.add(n.off, "@"+name)
}

// sandbox reads <sandbox net="hosts" hosts="a.b, c.d" read= write= exec= broker=/> as
// the mapping that tools have under the key sandbox. Lists are separated by commas or
// blanks.
func (d *directive) sandbox(n *node) {
	m := map[string]any{}
	fs := map[string]any{}
	d.set("sandbox", n.off, m)
	d.noText(n)
	for _, o := range d.options(n, []string{"net", "hosts", "read", "write", "exec", "broker"}, nil) {
		list := []any{}
		for _, w := range strings.FieldsFunc(o.value, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			list = append(list, w)
		}
		path := join("sandbox", o.key)
		switch o.key {
		case "net":
			m[o.key] = o.value
		case "broker":
			m[o.key] = d.boolean(o)
		case "read", "write":
			m["fs"], fs[o.key] = fs, list
			path = join(join("sandbox", "fs"), o.key)
		case "exec":
			m[o.key] = any(list)
			if o.value == "any" || o.value == "none" {
				m[o.key] = o.value
			}
		default:
			m[o.key] = list
		}
		d.mark(path, o.off)
	}
}

func (p *permissions) action(n *node) {
	p.d.attributes(n)
	elements := n.elements()
	if n.tag == "draft" &&
		(len(elements) == 0 || len(elements) == 1 && elements[0].ownText() == "*") {
		p.d.errorf(n.off, diag.ValidationFailed, "<draft> must name items, such as <tool>drafts/reports/*</tool>")
		return
	}
	if len(elements) == 0 {
		c, ok := p.pattern(n, "rye."+n.tag+".", n.ownText())
		if ok {
			p.add(n.off, c)
		}
		return
	}
	p.d.noText(n)
	for _, c := range elements {
		p.kind(c, n)
	}
}

// kind reads <tool>rye/bash/*</tool>. Extractors declare kinds, so any name may
// be one; a name close to a built-in kind is reported as a typing error.
func (p *permissions) kind(c, action *node) {
	known := []string{"tool", "directive", "knowledge", "config"}
	if action.tag == "search" {
		known = append(known, "type")
	}
	text := p.d.text(c)
	switch {
	case !isKind(c.tag) || !contains(known, c.tag) && (suggest.Nearest(c.tag, known) != "" || c.tag == "type"):
		p.d.unknownElement(c, action, known...)
		return
	case c.tag == "type":
		p.searchType(c, text)
		return
	}
	pattern, ok := p.pattern(c, "rye."+action.tag+"."+c.tag+".", text)
	if ok {
		p.add(c.off, pattern)
	}
}

func (p *permissions) searchType(c *node, text string) {
	switch {
	case text == "*":
		p.add(c.off, "rye.search.*")
	case isKind(text):
		p.add(c.off, "rye.search."+text+".*")
	default:
		p.d.errorf(c.off, diag.ValidationFailed, "<type> must be the name of a kind, not %q", text)
	}
}

func isKind(s string) bool {
	return s != "" &&
		s[0] >= 'a' &&
		s[0] <= 'z' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// pattern checks an id with wildcards, the end of the capability that begins with
// prefix, and returns it with points for slashes.
func (p *permissions) pattern(n *node, prefix, text string) (string, bool) {
	dotted := strings.ReplaceAll(text, "/", ".")
	if text == "" {
		p.d.errorf(n.off, diag.ValidationFailed, "<%s> is empty: it needs an id, or * for every item", n.tag)
		return "", false
	}
	if err := glob.CheckDotted(prefix + dotted); err != nil {
		p.d.errorf(n.off, diag.ValidationFailed, "%q is not one id with wildcards, such as rye/bash/*: %v", clip(text), err)
		return "", false
	}
	return prefix + dotted, true
}

// clip shortens a text for a message.
func clip(text string) string {
	return cuttext.Short(text, glob.MaxDotted)
}
