package dx

import (
	"fmt"
	"strings"
)

// Limits of one directive.
const (
	maxDepth = 64
	maxNodes = 20000
	maxAttrs = 64 // of one element
)

// reader turns source into nodes. Every "<" and "&" that does not begin markup
// is kept as text and recorded as a repair. The work is linear in the source: a
// search that failed is not repeated.
type reader struct {
	src       string
	i         int
	stack     []*node // stack[0] is the document
	nodes     int
	buf       strings.Builder
	bufOff    int
	lastClose map[string]int // offset of the last end tag of a name
	unended   map[string]bool
	strictTo  int // before this offset "<" ends an attribute's value
	repairs   []repair
	pending   []repair // of the start tag just read, unless it becomes text
	fault     *fault
}

// read returns the document node of src.
func read(src string) (*node, []repair, *fault) {
	r := &reader{
		src:       src,
		stack:     []*node{{end: len(src)}},
		lastClose: endTags(src),
		unended:   map[string]bool{},
	}
	r.prolog()
	for r.i < len(src) && r.fault == nil {
		r.step()
	}
	r.flush()
	if len(r.stack) > 1 && r.fault == nil {
		r.stop(r.stack[1].off, "<%s> is never closed", r.stack[1].tag)
	}
	return r.stack[0], r.repairs, r.fault
}

// endTags finds the last end tag of every name.
func endTags(src string) map[string]int {
	last := map[string]int{}
	for i := 0; ; {
		j := strings.Index(src[i:], "</")
		if j < 0 {
			return last
		}
		i += j + 2
		if n := nameLen(src[i:]); n > 0 {
			last[src[i:i+n]] = i - 2
		}
	}
}

func (r *reader) top() *node {
	return r.stack[len(r.stack)-1]
}

func (r *reader) repair(off int, format string, args ...any) {
	r.repairs = append(r.repairs, repair{off, fmt.Sprintf(format, args...)})
}

func (r *reader) stop(off int, format string, args ...any) {
	r.fault = &fault{off, fmt.Sprintf(format, args...)}
}

// prolog skips an XML declaration.
func (r *reader) prolog() {
	blank := len(r.src) - len(strings.TrimLeft(r.src, " \t\r\n"))
	if strings.HasPrefix(r.src[blank:], "<?xml ") {
		n := strings.Index(r.src[blank:], "?>")
		if n >= 0 {
			r.i = blank + n + 2
		}
	}
}

// step reads one piece of text or markup.
func (r *reader) step() {
	rest := r.src[r.i:]
	switch {
	case rest[0] != '<':
		n := strings.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		r.keep(r.decode(rest[:n], r.i), n)
	case strings.HasPrefix(rest, "<!--"):
		r.section("<!--", "-->", func(int) {}) // "<!-->" begins a comment, as in HTML it does not end one
	case strings.HasPrefix(rest, "<![CDATA["):
		r.section("<![CDATA[", "]]>", func(n int) {
			r.keep(newlines(rest[len("<![CDATA["):n]), 0)
		})
	case strings.HasPrefix(rest, "<!") && isDeclaration(rest[2:]):
		r.stop(r.i, "document type declarations are refused")
	case strings.HasPrefix(rest, "</") && nameLen(rest[2:]) > 0:
		r.endTag(rest)
	default:
		r.startTag()
	}
}

func isDeclaration(s string) bool {
	for _, word := range [...]string{"doctype", "entity", "element", "attlist", "notation"} {
		if len(s) >= len(word) && strings.EqualFold(s[:len(word)], word) {
			return true
		}
	}
	return false
}

// keep adds text that took n bytes of source.
func (r *reader) keep(text string, n int) {
	if r.buf.Len() == 0 {
		r.bufOff = r.i
	}
	r.buf.WriteString(text)
	r.i += n
}

// flush turns the kept text into a node.
func (r *reader) flush() {
	if r.buf.Len() > 0 {
		r.top().add(&node{text: r.buf.String(), off: r.bufOff, end: r.i})
		r.buf.Reset()
	}
}

// section reads a comment or CDATA up to its end mark.
func (r *reader) section(begin, end string, use func(n int)) {
	n := -1
	if !r.unended[end] {
		n = strings.Index(r.src[r.i+len(begin):], end)
	}
	if n < 0 {
		r.unended[end] = true
		r.less("the section that begins here is never closed with %s", end)
		return
	}
	n += len(begin)
	use(n)
	r.i += n + len(end)
}

// less keeps a "<" as text.
func (r *reader) less(format string, args ...any) {
	r.repair(r.i, format, args...)
	r.keep("<", 1)
}

// endTag closes an element. The tags of elements inside it that are still open
// become text.
func (r *reader) endTag(rest string) {
	n := nameLen(rest[2:])
	name := rest[2 : 2+n]
	after := strings.TrimLeft(rest[2+n:], " \t\r\n")
	d := len(r.stack) - 1
	for d > 0 && r.stack[d].tag != name {
		d--
	}
	if after == "" || after[0] != '>' {
		r.less("the end tag </%s has no >, kept as text", name)
		return
	}
	if d == 0 {
		r.less("</%s> closes nothing, kept as text", name)
		return
	}
	r.flush()
	for len(r.stack)-1 > d {
		r.demote()
	}
	closed := r.stack[d]
	closed.out = r.i
	r.i += len(rest) - len(after) + 1
	closed.end = r.i
	r.stack = r.stack[:d]
}

// demote turns the innermost open tag into text of its parent.
func (r *reader) demote() {
	n := r.top()
	r.stack = r.stack[:len(r.stack)-1]
	r.repair(n.off, "<%s> is never closed, kept as text", n.tag)
	parent := r.top()
	parent.children = parent.children[:len(parent.children)-1]
	parent.add(&node{text: newlines(r.src[n.off:n.in]), off: n.off, end: n.in})
	for _, c := range n.children {
		parent.add(c)
	}
}

// startTag opens an element, or keeps "<" as text.
func (r *reader) startTag() {
	n, self, why := r.tag()
	if n == nil {
		r.less("%s", why)
		return
	}
	if !self && r.lastClose[n.tag] < n.in {
		if len(r.stack) == 1 {
			r.stop(n.off, "<%s> is never closed", n.tag)
			return
		}
		r.strictTo = max(r.strictTo, n.in)
		r.less("<%s> is never closed, kept as text", n.tag)
		return
	}
	if r.nodes++; r.nodes > maxNodes {
		r.stop(n.off, "more than %d elements", maxNodes)
		return
	}
	if len(r.stack) > maxDepth {
		r.stop(n.off, "elements are nested deeper than %d", maxDepth)
		return
	}
	r.flush()
	r.repairs = append(r.repairs, r.pending...)
	r.top().children = append(r.top().children, n)
	r.i = n.in
	switch {
	case self:
		n.end = n.in
		n.out = n.in
	case isOpaque(n.tag):
		r.opaque(n)
	default:
		r.stack = append(r.stack, n)
	}
}

// isOpaque reports whether the text of an element is never read as markup.
func isOpaque(tag string) bool {
	return tag == "template" || tag == "example" || tag == "raw"
}

// opaque keeps everything up to the element's first end tag as its text. startTag
// has checked that there is one.
func (r *reader) opaque(n *node) {
	for at := n.in; ; {
		at += strings.Index(r.src[at:], "</"+n.tag)
		after := strings.TrimLeft(r.src[at+2+len(n.tag):], " \t\r\n")
		if strings.HasPrefix(after, ">") {
			n.text = r.src[n.in:at]
			n.out = at
			n.end = len(r.src) - len(after) + 1
			r.i = n.end
			return
		}
		if at++; at > r.lastClose[n.tag] {
			r.stop(n.off, "<%s> is never closed", n.tag)
			return
		}
	}
}
