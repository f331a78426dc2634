package server

import (
	"html"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/sign"
)

// Limits of rendering. What exceeds them is shown as text.
const (
	maxBlocks = 8    // quotes and lists in each other
	maxSpan   = 1000 // bytes between the marks of emphasis, code or a link
	maxMarks  = 4    // emphasis in emphasis
)

// markdown renders the text of a publisher. The result has a fixed set of elements: every
// character of the text is escaped, raw HTML is shown as text, images are their alternative
// text, and links lead to web and mail addresses only and show their host. It is a part of
// Markdown, not CommonMark: what it does not know stays a paragraph.
//
// The renderers of other modules work 0.9 ms before main, where a package may need 0.3 ms.
func markdown(text string) template.HTML {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if sign.LooksSigned([]byte(lines[0])) { // its content is verified, not read
		lines = lines[1:]
	}
	r := &renderer{}
	r.blocks(lines, 0)
	return template.HTML(r.out.String())
}

type renderer struct{ out strings.Builder }

// escaped returns a text for a position between elements.
func escaped(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = html.EscapeString(hidden.Visible(line))
	}
	return strings.Join(lines, "\n")
}

func (r *renderer) element(name, inner string) {
	r.out.WriteString("<" + name + ">" + inner + "</" + name + ">\n")
}

// blocks renders lines. Each branch takes at least one line.
func (r *renderer) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		line := strings.TrimRight(lines[0], " \t")
		lead := strings.TrimLeft(line, " ")
		switch mark := fence(lead); {
		case lead == "":
			lines = lines[1:]
		case mark != "":
			lines = r.code(lines[1:], mark)
		case heading(lead) > 0:
			n := heading(lead)
			// The page has the first three levels.
			r.element(
				"h"+strconv.Itoa(min(n+3, 6)),
				inline(strings.TrimSpace(strings.TrimRight(lead[n:], "# ")), 0),
			)
			lines = lines[1:]
		case rule(lead):
			r.out.WriteString("<hr>\n")
			lines = lines[1:]
		case strings.HasPrefix(lead, ">") && depth < maxBlocks:
			lines = r.quote(lines, depth)
		case bullet(line) != nil && depth < maxBlocks:
			lines = r.list(lines, depth)
		case strings.HasPrefix(lead, "|"):
			lines = r.table(lines)
		default:
			lines = r.paragraph(lines)
		}
	}
}

// fence returns the mark that ends a block of code which the line begins, or "".
func fence(lead string) string {
	for _, c := range []string{"`", "~"} {
		n := len(lead) - len(strings.TrimLeft(lead, c))
		if n >= 3 {
			return lead[:n]
		}
	}
	return ""
}

// heading returns the level of a heading, 0 for another line.
func heading(lead string) int {
	n := len(lead) - len(strings.TrimLeft(lead, "#"))
	if n < 1 || n > 6 || len(lead) > n && lead[n] != ' ' {
		return 0
	}
	return n
}

func rule(lead string) bool {
	bare := strings.ReplaceAll(lead, " ", "")
	return len(bare) >= 3 &&
		strings.ContainsRune("-*_", rune(bare[0])) &&
		strings.Trim(bare, bare[:1]) == ""
}

// listItem is a line that begins an item of a list.
type listItem struct {
	indent  int
	ordered bool
	text    string
}

// maxIndent is the deepest indentation of an item.
const maxIndent = 12

// bullet reads a line that begins an item of a list, nil for another line.
func bullet(line string) *listItem {
	lead := strings.TrimLeft(line, " ")
	out := &listItem{indent: len(line) - len(lead)}
	if lead == "" || out.indent > maxIndent || rule(lead) {
		return nil
	}
	rest := lead[1:]
	if !strings.ContainsRune("-*+", rune(lead[0])) {
		digits := len(lead) - len(strings.TrimLeft(lead, "0123456789"))
		if digits == 0 ||
			digits > 9 ||
			digits == len(lead) ||
			lead[digits] != '.' && lead[digits] != ')' {
			return nil
		}
		out.ordered = true
		rest = lead[digits+1:]
	}
	if out.text = strings.TrimLeft(rest, " "); rest != "" && rest[0] != ' ' {
		return nil
	}
	return out
}

// code renders the lines up to the mark. A block that is not closed ends with the text.
func (r *renderer) code(lines []string, mark string) []string {
	var b strings.Builder
	for i, line := range lines {
		lead := strings.TrimSpace(line)
		if strings.HasPrefix(lead, mark) && strings.Trim(lead, mark[:1]) == "" {
			r.element("pre", b.String())
			return lines[i+1:]
		}
		b.WriteString(escaped(line) + "\n")
	}
	r.element("pre", b.String())
	return nil
}

func (r *renderer) quote(lines []string, depth int) []string {
	var inner []string
	for len(lines) > 0 {
		text, ok := strings.CutPrefix(strings.TrimLeft(lines[0], " "), ">")
		if !ok {
			break
		}
		inner = append(inner, strings.TrimPrefix(text, " "))
		lines = lines[1:]
	}
	r.out.WriteString("<blockquote>\n")
	r.blocks(inner, depth+1)
	r.out.WriteString("</blockquote>\n")
	return lines
}

// list renders items of one indentation. What is indented below an item belongs to it.
func (r *renderer) list(lines []string, depth int) []string {
	first := bullet(strings.TrimRight(lines[0], " \t"))
	name := "ul"
	if first.ordered {
		name = "ol"
	}
	r.out.WriteString("<" + name + ">\n")
	for len(lines) > 0 {
		m := bullet(strings.TrimRight(lines[0], " \t"))
		if m == nil || m.indent != first.indent || m.ordered != first.ordered {
			break
		}
		inner := []string{m.text}
		for lines = lines[1:]; len(lines) > 0; lines = lines[1:] {
			indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
			blank := strings.TrimSpace(lines[0]) == ""
			if !blank && indent <= first.indent ||
				blank && (len(lines) == 1 || !strings.HasPrefix(lines[1], strings.Repeat(" ", first.indent+1))) {
				break
			}
			inner = append(inner, strings.TrimPrefix(lines[0], strings.Repeat(" ", min(indent, first.indent+2))))
		}
		r.out.WriteString("<li>")
		if len(inner) == 1 {
			r.out.WriteString(inline(inner[0], 0))
		} else {
			r.blocks(inner, depth+1)
		}
		r.out.WriteString("</li>\n")
	}
	r.out.WriteString("</" + name + ">\n")
	return lines
}

// table renders the lines of a table as they are.
func (r *renderer) table(lines []string) []string {
	var b strings.Builder
	for len(lines) > 0 && strings.HasPrefix(strings.TrimLeft(lines[0], " "), "|") {
		b.WriteString(escaped(lines[0]) + "\n")
		lines = lines[1:]
	}
	r.element("pre", b.String())
	return lines
}

// paragraph takes lines up to one that begins another block.
func (r *renderer) paragraph(lines []string) []string {
	text := []string{strings.TrimSpace(lines[0])}
	for lines = lines[1:]; len(lines) > 0; lines = lines[1:] {
		lead := strings.TrimSpace(lines[0])
		if lead == "" ||
			fence(lead) != "" ||
			heading(lead) > 0 ||
			rule(lead) ||
			lead[0] == '>' ||
			lead[0] == '|' ||
			bullet(strings.TrimRight(lines[0], " \t")) != nil {
			break
		}
		text = append(text, lead)
	}
	r.element("p", inline(strings.Join(text, "\n"), 0))
	return lines
}

// inline renders code, emphasis and links in a text.
func inline(s string, depth int) string {
	var out strings.Builder
	plain := 0 // the text from here on is not written yet
	for i := 0; i < len(s); {
		element, n := markup(s[i:], depth)
		if n == 0 {
			i++
			continue
		}
		out.WriteString(escaped(s[plain:i]) + element)
		i += n
		plain = i
	}
	return out.String() + escaped(s[plain:])
}

// markup returns the element that begins a text and its length; 0 if it begins with none.
func markup(s string, depth int) (element string, n int) {
	switch {
	case s[0] == '`':
		mark := s[:len(s)-len(strings.TrimLeft(s, "`"))]
		end := within(s[len(mark):], mark)
		if end >= 0 {
			return "<code>" + escaped(strings.TrimSpace(s[len(mark):][:end])) + "</code>", 2*len(mark) + end
		}
		return escaped(mark), len(mark)
	case s[0] == '\\' && len(s) > 1 && strings.IndexByte("\\`*_[]()#+-.!<>|~", s[1]) >= 0:
		return escaped(s[1:2]), 2
	case s[0] == '!' && len(s) > 1 && s[1] == '[':
		if text, _, n := link(s[1:]); n > 0 {
			return "[image: " + escaped(text) + "]", n + 1
		}
	case s[0] == '[':
		if text, to, n := link(s); n > 0 {
			return anchor(text, to, depth), n
		}
	case s[0] == '<':
		// An address has neither of the others, and each "<" of a text of them would read on.
		end := strings.IndexAny(s[1:min(len(s), maxSpan)], "<> \t\n") + 1
		if end > 0 && s[end] == '>' && address(s[1:end]) != nil {
			return anchor(s[1:end], s[1:end], depth), end + 1
		}
	case (s[0] == '*' || s[0] == '_') && depth < maxMarks:
		return emphasis(s, depth)
	}
	return "", 0
}

// within returns the position of a mark in the first maxSpan bytes, -1 without one.
func within(s, mark string) int {
	return strings.Index(s[:min(len(s), maxSpan)], mark)
}

func emphasis(s string, depth int) (string, int) {
	mark := s[:1]
	name := "em"
	if len(s) > 1 && s[1] == s[0] {
		mark = s[:2]
		name = "strong"
	}
	rest := s[len(mark):]
	end := within(rest, mark)
	if end < 1 || rest[0] == ' ' || rest[end-1] == ' ' {
		return escaped(mark), len(mark)
	}
	after := rest[end+len(mark):]
	if mark[0] == '_' &&
		after != "" &&
		(after[0] == '_' || 'a' <= after[0]|0x20 && after[0]|0x20 <= 'z') {
		return escaped(mark), len(mark) // a name such as max_file_size
	}
	return "<" + name + ">" + inline(rest[:end], depth+1) + "</" + name + ">", 2*len(mark) + end
}

// link returns the parts of [text](address "title").
func link(s string) (text, to string, n int) {
	mid := within(s, "](")
	if mid < 1 || strings.Contains(s[1:mid], "[") { // an image in a link is shown as both texts
		return "", "", 0
	}
	rest := s[mid+2:]
	end := within(rest, ")")
	if end < 0 {
		return "", "", 0
	}
	to, _, _ = strings.Cut(strings.TrimSpace(rest[:end]), " ")
	return s[1:mid], strings.Trim(to, "<>"), mid + 2 + end + 1
}

// address returns an absolute address of the web or of mail, nil for any other.
func address(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || hidden.Visible(s) != s || u.User != nil {
		return nil
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() != "" {
			return u
		}
	case "mailto":
		if u.Opaque != "" {
			return u
		}
	}
	return nil
}

// anchor renders a link. Its host follows its text: the text may name a different one.
func anchor(text, to string, depth int) string {
	u := address(to)
	if u == nil {
		return inline(text, maxMarks)
	}
	where := u.Host
	if u.Scheme == "mailto" {
		where = u.Opaque
	}
	out := `<a href="` + html.EscapeString(u.String()) + `" rel="nofollow noopener noreferrer">` + escaped(text) + "</a>"
	if text != to && depth >= 0 {
		out += " (" + escaped(where) + ")"
	}
	return out
}
