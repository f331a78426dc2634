package dx

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/suggest"
)

// permissions reads capability strings: "*" is every action but draft, which has to be
// named; below an action "*" is
// rye.<action>.*, plain text rye.<action>.<text>, an element of a kind
// rye.<action>.<kind>.<id> and <type>kind</type> in search rye.search.<kind>.*,
// each "/" written as ".".
func (d *directive) permissions(n *node) {
	d.attributes(n)
	p := &permissions{d: d, caps: []any{}}
	actions := []string{"execute", "search", "load", "sign", "draft"}
	switch text := n.ownText(); {
	case text == "*" && len(n.elements()) == 0:
		for _, action := range actions {
			if action != "draft" {
				p.add(n.off, "rye."+action+".*")
			}
		}
	default:
		d.noText(n)
	}
	for _, c := range n.elements() {
		if !contains(actions, c.tag) {
			d.unknownElement(c, n, actions...)
			continue
		}
		p.action(c)
	}
	if len(p.caps) > glob.MaxPatterns {
		d.errorf(n.off, diag.ValidationFailed, "<permissions> has %d patterns, more than %d", len(p.caps), glob.MaxPatterns)
	}
	d.set("permissions", n.off, p.caps)
}

type permissions struct {
	d    *directive
	caps []any
}

func (p *permissions) add(off int, capability string) {
	p.d.mark(index("permissions", len(p.caps)), off)
	p.caps = append(p.caps, capability)
}

func (p *permissions) action(n *node) {
	p.d.attributes(n)
	elements := n.elements()
	if len(elements) == 0 {
		if c, ok := p.pattern(n, "rye."+n.tag+".", n.ownText()); ok {
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
	if pattern, ok := p.pattern(c, "rye."+action.tag+"."+c.tag+".", text); ok {
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
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
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
	if len(text) > glob.MaxDotted {
		return strings.ToValidUTF8(text[:glob.MaxDotted], "") + "…"
	}
	return text
}
