// Package dx parses the XML of a directive with a tolerant parser: "<" and "&"
// in prose stay text.
//
// The texts of <template>, <example> and <raw> are opaque: they may contain
// anything but their own end tag. Every element inside <metadata> and <inputs>
// must be a known one, except below <context>, <params> and a hook's <inputs>,
// which are open. Elements other than <metadata>, <inputs>, <outputs> and
// <description> are prose for the model.
//
// The package checks form, not meaning: it validates no schema, limits or
// capabilities. It is not a general XML library.
package dx

import (
	"sort"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
)

// maxFindings bounds the warnings and, separately, the errors of one file.
const maxFindings = 100

// Directive parses the XML of a directive that starts at line firstLine of its
// file and returns its fields with their positions. The Doc has the fields that
// parsed, even if a finding is an error:
//
//	name version extends        attributes of <directive>, as text
//	description category author text
//	model                       {tier id fallback provider effort: text, parallel: bool, max_output_tokens: int64, temperature: number}
//	limits                      {turns tokens spawns depth duration_seconds: int64, spend: decimal text, spend_currency: text}
//	permissions                 capability strings, and "@name" for aliases
//	sandbox                     the mapping of the same key of tools
//	hooks                       see hook
//	context                     open: text, lists and maps by element name
//	tags                        texts
//	inputs                      {name, type, required: bool, default?, description?}
//	outputs                     {name, type?, required?, description?, on?: success or failure}
//	checks                      {tool: text, attempts: int64}
//	process                     the text inside <process>, as written
//	sections                    the other elements of the older form, as written, by name
func Directive(src []byte, firstLine int) (*tree.Doc, []diag.Finding) {
	d := &directive{
		src:       string(src),
		doc:       tree.New(),
		firstLine: firstLine,
		parts:     map[string][]string{},
	}
	d.lines = lineStarts(d.src)
	document, repairs, fault := read(d.src)
	root := d.root(document)
	d.judge(root, repairs)
	if fault != nil {
		d.errorf(fault.off, diag.ParsingError, "%s", fault.msg)
		return d.doc, d.sorted()
	}
	if root != nil {
		d.fields(root)
	}
	return d.doc, d.sorted()
}

// directive maps nodes to fields.
type directive struct {
	src       string
	firstLine int
	lines     []int
	doc       *tree.Doc
	lenient   bool // report unknown names as warnings
	parts     map[string][]string
	checks    []any
	errors    []diag.Finding
	warnings  []diag.Finding
}

func lineStarts(src string) []int {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (d *directive) pos(off int) diag.Position {
	n := sort.SearchInts(d.lines, off+1)
	return diag.Position{Line: d.firstLine + n - 1, Column: off - d.lines[n-1] + 1}
}

func (d *directive) errorf(off int, code diag.Code, format string, args ...any) *diag.Finding {
	if len(d.errors) >= maxFindings {
		return &diag.Finding{}
	}
	p := d.pos(off)
	return add(&d.errors, diag.Errorf(
		code,
		p.Line,
		p.Column,
		format,
		args...,
	))
}

func (d *directive) warnf(off int, code diag.Code, format string, args ...any) *diag.Finding {
	if len(d.warnings) >= maxFindings {
		return &diag.Finding{}
	}
	p := d.pos(off)
	return add(&d.warnings, diag.Warnf(
		code,
		p.Line,
		p.Column,
		format,
		args...,
	))
}

// add appends a finding and returns it, so that a caller can set its reason.
func add(fs *[]diag.Finding, f diag.Finding) *diag.Finding {
	*fs = append(*fs, f)
	return &(*fs)[len(*fs)-1]
}

func (d *directive) sorted() []diag.Finding {
	fs := append(d.errors, d.warnings...)
	diag.Sort(fs)
	return fs
}

// set records a field and its position.
func (d *directive) set(key string, off int, v any) {
	if _, twice := d.doc.Root[key]; twice {
		d.errorf(off, diag.ValidationFailed, "%s is given twice, first on line %d", key, d.doc.At(key).Line)
		return
	}
	d.doc.Root[key] = v
	d.mark(join("", key), off)
}

func (d *directive) mark(path string, off int) {
	if path != longPath {
		d.doc.Pos[path] = d.pos(off)
	}
}

// A path longer than maxPath is not kept: its value has the position of an
// ancestor. Otherwise one long name would be copied for every value below it.
const (
	maxPath  = 1024
	longPath = "\x00"
)

func join(parent, key string) string {
	if parent == longPath || len(parent)+len(key) > maxPath {
		return longPath
	}
	return tree.Join(parent, key)
}

func index(parent string, i int) string {
	if parent == longPath {
		return longPath
	}
	return tree.Index(parent, i)
}

// root returns the <directive> element and reports everything outside it.
func (d *directive) root(document *node) *node {
	var root *node
	for _, c := range document.children {
		switch {
		case c.tag == "" && strings.TrimSpace(c.text) != "":
			d.errorf(c.off+blankPrefix(c.text), diag.ParsingError, "text outside <directive>")
		case c.tag != "" && root != nil:
			d.errorf(c.off, diag.ParsingError, "<%s> after the end of <%s>", c.tag, root.tag)
		case c.tag != "":
			root = c
		}
	}
	if root == nil {
		d.errorf(0, diag.ParsingError, "there is no <directive> element")
		return nil
	}
	if root.tag != "directive" {
		d.unknown(
			root.off,
			"element <"+root.tag+">",
			"the XML block",
			root.tag,
			[]string{"directive"},
			"<",
			">",
		)
	}
	return root
}

func blankPrefix(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t\r\n"))
}

// judge turns repairs into findings: warnings in prose, which is every element
// of <directive> other than <metadata> and <inputs>, and errors everywhere else,
// where a repair may hide or forge a field.
func (d *directive) judge(root *node, repairs []repair) {
	var prose []*node
	if root != nil {
		for _, c := range root.elements() {
			if c.tag != "metadata" && c.tag != "inputs" {
				prose = append(prose, c)
			}
		}
	}
	for _, r := range repairs {
		i := sort.Search(len(prose), func(i int) bool {
			return prose[i].off > r.off
		}) - 1
		if i >= 0 &&
			prose[i].in <= r.off &&
			r.off < prose[i].out {
			d.warnf(r.off, diag.ParsingError, "%s", r.msg)
		} else {
			d.errorf(r.off, diag.ParsingError, "%s", r.msg)
		}
	}
}

// unknown reports a name that is not among the known ones.
func (d *directive) unknown(
	off int,
	what, where, word string,
	known []string,
	open, closing string,
) {
	if len(d.errors) >= maxFindings {
		return
	}
	report := d.errorf
	if d.lenient {
		report = d.warnf
	}
	near(report(off, diag.ValidationFailed, "unknown %s in %s", what, where), word, known, open, closing)
}

// near sets the nearest known word as a fact of the finding.
func near(f *diag.Finding, word string, known []string, open, closing string) {
	if n := suggest.Nearest(word, known); n != "" {
		*f = f.WithReason("nearest", "nearest", open+n+closing)
	}
}

func (d *directive) unknownElement(n, parent *node, known ...string) {
	d.unknown(
		n.off,
		"element <"+n.tag+">",
		"<"+parent.tag+">",
		n.tag,
		known,
		"<",
		">",
	)
}

// attributes reports the attributes that are not known.
func (d *directive) attributes(n *node, known ...string) {
	for _, a := range n.attrs {
		if !contains(known, a.name) {
			d.unknown(
				a.off-len(a.name)-2,
				"attribute "+a.name,
				"<"+n.tag+">",
				a.name,
				known,
				"",
				"",
			)
		}
	}
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

func (n *node) attr(name string) (attr, bool) {
	for _, a := range n.attrs {
		if a.name == name {
			return a, true
		}
	}
	return attr{}, false
}

// noText reports text where only elements are read.
func (d *directive) noText(n *node) {
	for _, c := range n.children {
		if c.tag == "" && strings.TrimSpace(c.text) != "" {
			d.errorf(c.off+blankPrefix(c.text), diag.ValidationFailed, "text in <%s> where only elements are read", n.tag)
		}
	}
}

// text returns the text of an element. It reports elements in it.
func (d *directive) text(n *node, attrs ...string) string {
	d.attributes(n, attrs...)
	for _, c := range n.elements() {
		d.unknownElement(c, n)
	}
	return n.ownText()
}

// source returns the content of an element as it is written.
func (d *directive) source(n *node) string {
	return strings.TrimSpace(newlines(d.src[n.in:n.out]))
}
