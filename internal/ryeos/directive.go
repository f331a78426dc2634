package ryeos

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/resolve"
)

// element is one element of the XML of a directive, with its offsets in the file.
type element struct {
	tag, parent string
	from        int // of the first tag
	inner       int // after the first tag
	end         int // after the last tag
}

// elements returns the elements of the XML, in the order of their ends. The original
// read XML strictly, so what is behind an error is left out.
func elements(src []byte) []element {
	block, ok := mdmeta.DirectiveFence(src)
	if !ok {
		return nil
	}
	base, _ := lineAt(src, block.Line)
	d := xml.NewDecoder(bytes.NewReader(block.Inner))
	var open, out []element
	for {
		from := int(d.InputOffset())
		token, err := d.RawToken()
		if err != nil {
			return out
		}
		at := int(d.InputOffset())
		switch t := token.(type) {
		case xml.StartElement:
			e := element{tag: t.Name.Local, from: base + from, inner: base + at}
			if len(open) > 0 {
				e.parent = open[len(open)-1].tag
			}
			open = append(open, e)
		case xml.EndElement:
			if len(open) == 0 {
				return out
			}
			e := open[len(open)-1]
			e.end = base + at
			open = open[:len(open)-1]
			out = append(out, e)
		}
	}
}

// directive rewrites what the original accepted in the XML and rye does not.
func (t *translation) directive() {
	for _, rewrite := range []func(element) bool{t.inputType, t.fetch, t.aside} {
		for t.once(rewrite) {
		}
	}
}

// once tries a rewrite on every element until one is made.
func (t *translation) once(rewrite func(element) bool) bool {
	if errorsOf(t.it) == 0 {
		return false
	}
	for _, e := range elements(t.it.Bytes) {
		if rewrite(e) {
			return true
		}
	}
	return false
}

// fewer accepts an item with fewer errors than the one before.
func (t *translation) fewer() func(*resolve.Item) bool {
	n := errorsOf(t.it)
	return func(next *resolve.Item) bool {
		return errorsOf(next) < n
	}
}

func (t *translation) position(offset int) diag.Position {
	before := t.it.Bytes[:offset]
	return diag.Position{Line: 1 + bytes.Count(before, []byte("\n")), Column: offset - bytes.LastIndexByte(before, '\n')}
}

// types are the other names of the types of inputs. The original never checked a type.
func types() map[string]string {
	return map[string]string{
		"str": "string", "text": "string", "path": "string", "file": "string", "directory": "string", "url": "string", "enum": "string",
		"date": "string", "datetime": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean",
		"list": "array", "dict": "object", "map": "object", "json": "object",
	}
}

var typeAttribute = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\btype[ \t\r\n]*=[ \t\r\n]*["']([^"']*)["']`)
})

// inputType gives an input the name that rye has for its type.
func (t *translation) inputType(e element) bool {
	if e.tag != "input" || e.parent != "inputs" {
		return false
	}
	m := typeAttribute().FindSubmatchIndex(t.it.Bytes[e.from:e.inner])
	if m == nil {
		return false
	}
	from, to := e.from+m[2], e.from+m[3]
	old := string(t.it.Bytes[from:to])
	now := types()[strings.ToLower(old)]
	return now != "" &&
		t.try(
			edit{from, to, now},
			t.position(from),
			t.fewer(),
			"the type %s of an input is now %s",
			old,
			now,
		)
}

// fetch writes a permission of later versions, to load and to search, as the two that it
// consists of.
func (t *translation) fetch(e element) bool {
	if e.tag != "fetch" || e.parent != "permissions" || e.inner == e.end {
		return false
	}
	text := string(t.it.Bytes[e.from:e.end])
	as := func(tag string) string {
		return strings.ReplaceAll(strings.Replace(text, "<fetch", "<"+tag, 1), "</fetch", "</"+tag)
	}
	return t.try(
		edit{e.from, e.end, as("search") + as("load")},
		t.position(e.from),
		t.fewer(),
		"the permission <fetch> is now <search> and <load>",
	)
}

// aside makes an element of the metadata a comment if rye does not know it: the original
// kept its text and did nothing with it. Hooks of the original could not name an action.
func (t *translation) aside(e element) bool {
	text := string(t.it.Bytes[e.from:e.end])
	if e.parent != "metadata" || strings.Contains(text, "--") {
		return false
	}
	same := fields(t.it.Meta.Fields)
	fewer := t.fewer()
	note := "<%s> is now a comment: the original did nothing with it"
	if e.tag == "hooks" {
		same = fields(without(t.it.Meta.Fields, "hooks"))
		note = "<%s> is now a comment: a hook of the original did not run; write it again if you need it"
	}
	return t.try(
		edit{e.from, e.end, "<!-- " + text + " -->"},
		t.position(e.from),
		func(next *resolve.Item) bool {
			return fewer(next) && same(next)
		},
		note,
		e.tag,
	)
}
