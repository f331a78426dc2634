package search

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// document is the searchable content of one item.
type document struct {
	ref    item.Ref
	kind   int
	rel    string
	signer string   // the fingerprint in the signature line, 32 bytes, "" without a line
	fields []tokens // by number
}

// readDocument reads the bytes of an item. ok is false for a support file, which
// is not an item. A file with invalid metadata is not an error: it can still be
// found by its name.
func (f *fields) readDocument(
	p extract.Match,
	rel string,
	b, sig []byte,
) (d *document, ok bool) {
	meta, fs := p.Extractor.Read(p.Type, b)
	if p.Ref.Kind == item.Tool &&
		meta.ToolType == "" &&
		!(diag.Failed(fs) && bytes.Contains(b, []byte("tool_type"))) {
		return nil, false
	}
	d = f.blank(p.Ref, rel)
	text := b
	if p.Type.Detached {
		d.signer = signerOf(firstLine(sig), p.Type.Style)
	} else if sp, err := sign.SplitFile(b, p.Type.Style); err == nil && sp.Signed {
		d.signer = string(sp.Line.Key[:])
		text = sp.Body()
	}
	for i, name := range f.names {
		if f.weights[d.kind][i] > 0 {
			d.read(i, name, &meta, text)
		}
	}
	return d, true
}

// blank returns the document of an item that cannot be read: the words of its
// name, the name, the id and the category.
func (f *fields) blank(ref item.Ref, rel string) *document {
	d := &document{
		ref:    ref,
		kind:   f.kind(ref.Kind),
		rel:    rel,
		fields: make([]tokens, len(f.names)),
	}
	if i := f.number("name"); i >= 0 {
		t := &d.fields[i]
		t.text(ref.Name())
		t.whole(ref.Name())
		t.whole(ref.ID)
	}
	if i := f.number("category"); i >= 0 {
		d.fields[i].text(ref.Category())
	}
	return d
}

func (d *document) read(i int, name string, m *item.Metadata, text []byte) {
	t := &d.fields[i]
	switch name {
	case "name":
		if m.Name != "" &&
			m.Name != d.ref.Name() &&
			m.Name != d.ref.ID {
			t.text(m.Name)
			t.whole(m.Name)
		}
	case "category":
		if m.Category != d.ref.Category() {
			t.text(m.Category)
		}
	case toolTypeField:
		t.whole(m.ToolType)
	case "body":
		t.text(string(m.Body))
	case "content":
		t.text(string(text))
	default:
		t.value(m.Fields[name], 0)
	}
}

// value adds the value of a field, the keys of a mapping in alphabetical order.
func (t *tokens) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
	case string:
		t.text(v)
	case []any:
		for _, e := range v {
			if depth < 8 {
				t.value(e, depth+1)
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if t.text(k); depth < 8 {
				t.value(v[k], depth+1)
			}
		}
	default:
		t.text(fmt.Sprint(v))
	}
}

func signerOf(line []byte, s sign.Style) string {
	l, err := sign.ParseLine(line, s)
	if err != nil {
		return ""
	}
	return string(l.Key[:])
}

func firstLine(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	return b
}

// OneLine returns a text as one line of at most MaxDescription characters.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	n := 0
	for i := range s {
		if n++; n == MaxDescription && len([]rune(s[i:])) > 1 {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}
