package extract

import (
	"bytes"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dx"
	"github.com/ryeos/rye/internal/header"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/internal/pylit"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// The compiled-in codecs. A parser item chooses one by name.
const (
	CodecYAML        = "yaml"
	CodecJSON        = "json"
	CodecTOML        = "toml"
	CodecPython      = "python-literals"
	CodecHeaderHash  = "header-hash"
	CodecHeaderSlash = "header-slash"
	CodecDirective   = "markdown-directive"
	CodecKnowledge   = "markdown-knowledge"
)

// reading is the result of a codec.
type reading struct {
	doc      *tree.Doc
	body     []byte
	fallback bool
	findings []diag.Finding
}

type codec struct {
	name string
	read func(e *Extractor, src []byte) reading
}

// codecs returns the table. It is an array so that a call does not allocate.
func codecs() [8]codec {
	return [8]codec{
		{CodecYAML, func(_ *Extractor, b []byte) reading {
			return data(yamlx.ParseItem(b))
		}},
		{CodecJSON, func(_ *Extractor, b []byte) reading {
			return data(jsonx.Parse(b))
		}},
		{CodecTOML, func(_ *Extractor, b []byte) reading {
			return data(tomlx.Parse(b))
		}},
		{CodecPython, func(_ *Extractor, b []byte) reading {
			return readPython(b)
		}},
		{CodecHeaderHash, func(e *Extractor, b []byte) reading {
			return data(header.Parse(b, "#", e.isKey))
		}},
		{CodecHeaderSlash, func(e *Extractor, b []byte) reading {
			return data(header.ParseJS(b, e.isKey))
		}},
		{CodecDirective, func(_ *Extractor, b []byte) reading {
			return readDirective(b)
		}},
		{CodecKnowledge, func(_ *Extractor, b []byte) reading {
			return readKnowledge(b)
		}},
	}
}

func data(doc *tree.Doc, fs []diag.Finding) reading {
	return reading{doc: doc, findings: fs}
}

// reader returns the function of a codec, nil for an unknown one.
func reader(name string) func(*Extractor, []byte) reading {
	for _, c := range codecs() {
		if c.name == name {
			return c.read
		}
	}
	return nil
}

// Codecs returns the names of the compiled-in codecs.
func Codecs() []string {
	var out []string
	for _, c := range codecs() {
		out = append(out, c.name)
	}
	return out
}

// HasCodec reports whether a codec of that name is compiled in.
func HasCodec(name string) bool {
	return reader(name) != nil
}

// Read extracts the metadata of src with the codec of its file type and the
// extractor's rules. Findings have no path.
func (e *Extractor) Read(t FileType, src []byte) (item.Metadata, []diag.Finding) {
	m := item.Metadata{Fields: map[string]any{}}
	read := reader(t.Codec)
	if read == nil {
		return m, []diag.Finding{diag.Errorf(
			diag.SchemaNotFound,
			1,
			1,
			"unknown codec %q for files of type %s",
			t.Codec,
			t.Ext,
		)}
	}
	r := read(e, sign.WithoutForeignLegacy(src, t.Style))
	m.Body = r.body
	m.Fallback = r.fallback
	if r.doc != nil {
		m.Fields, m.Pos, m.Keys = e.apply(r.doc)
		m.FromFields()
	}
	return m, r.findings
}

// apply maps source keys to fields. A key that a rule uses is not a field of its own
// name; every other key is a field. The last result has the file's name of each
// field that is named differently there.
func (e *Extractor) apply(doc *tree.Doc) (map[string]any, map[string]diag.Position, map[string]string) {
	if len(e.Rules) == 0 {
		return doc.Root, doc.Pos, nil
	}
	out := make(map[string]any, len(doc.Root))
	var keys map[string]string
	for _, r := range e.Rules {
		for _, key := range r.From {
			if v, ok := doc.Root[key]; ok {
				out[r.Field] = v
				copyPos(doc.Pos, key, r.Field, v)
				if key != r.Field {
					if keys == nil {
						keys = map[string]string{}
					}
					keys[r.Field] = key
				}
				break
			}
		}
	}
	for k, v := range doc.Root {
		_, set := out[k]
		if !set && !e.supplies(k) {
			out[k] = v
		}
	}
	return out, doc.Pos, keys
}

// supplies reports whether a rule uses the source key.
func (e *Extractor) supplies(key string) bool {
	return slices.ContainsFunc(e.Rules, func(r Rule) bool {
		return slices.Contains(r.From, key)
	})
}

// copyPos gives a field the positions of a key and of what its value contains.
func copyPos(pos map[string]diag.Position, key, field string, value any) {
	if key == field {
		return
	}
	key = tree.Join("", key)
	field = tree.Join("", field)
	switch value.(type) {
	case map[string]any, []any:
	default:
		if at, ok := pos[key]; ok {
			pos[field] = at
		}
		return
	}
	type entry struct {
		path string
		at   diag.Position
	}
	add := make([]entry, 0, len(pos))
	for p, at := range pos {
		if p == key ||
			len(p) > len(key) && p[:len(key)] == key && p[len(key)] == '.' {
			add = append(add, entry{field + p[len(key):], at})
		}
	}
	for _, e := range add {
		pos[e.path] = e.at
	}
}

func readPython(src []byte) reading {
	doc, res := pylit.Parse(src)
	r := reading{doc: doc, fallback: res.Fallback, findings: res.Findings}
	for name, n := range res.NonLiteral {
		if header.ConstantKey(name) {
			r.findings = append(r.findings, diag.Errorf(diag.ParsingError, n.Pos.Line, n.Pos.Column,
				"%s must be a literal, because rye reads it without running Python (%s)", name, n.Reason))
		}
	}
	diag.Sort(r.findings)
	return r
}

func readDirective(src []byte) reading {
	b, ok := mdmeta.DirectiveFence(src)
	if !ok {
		f := diag.Errorf(diag.ParsingError, 1, 1, "no ```xml block with <directive> found")
		return reading{doc: tree.New(), findings: []diag.Finding{f.WithReason("xml_block")}}
	}
	doc, fs := dx.Directive(b.Inner, b.Line)
	if !b.Closed {
		fs = append(fs, diag.Errorf(diag.ParsingError, b.Line-1, 1, "the ```xml block is never closed"))
	}
	body := bytes.TrimSpace(b.After)
	if doc == nil {
		doc = tree.New()
	}
	p, ok := doc.Root["process"].(string)
	if ok && len(body) == 0 {
		body = []byte(p)
	}
	title, line := mdmeta.Title(b.Before)
	if title != "" && doc.Root["title"] == nil {
		doc.Root["title"], doc.Pos["title"] = title, diag.Position{Line: line, Column: 1}
	}
	return reading{doc: doc, body: body, findings: fs}
}

// readKnowledge reads --- front matter or a yaml fence.
func readKnowledge(src []byte) reading {
	meta, line, body, ok := mdmeta.FrontMatter(src)
	if !ok && line > 0 {
		return reading{doc: tree.New(), findings: []diag.Finding{diag.Errorf(diag.ParsingError, line, 1, "the front matter is never closed by ---")}}
	}
	if !ok {
		b, found := mdmeta.Fence(src, "yaml")
		if !found {
			f := diag.Errorf(diag.ParsingError, 1, 1, "no metadata found")
			return reading{doc: tree.New(), body: src, findings: []diag.Finding{f.
				WithReason("front_matter")}}
		}
		meta = b.Inner
		line = b.Line
		body = b.After
		if !b.Closed {
			return reading{doc: tree.New(), findings: []diag.Finding{diag.Errorf(diag.ParsingError, line-1, 1, "the ```yaml block is never closed")}}
		}
	}
	doc, fs := yamlx.Parse(meta)
	for i := range fs {
		fs[i].Line += line - 1
	}
	if doc == nil {
		return reading{doc: tree.New(), body: body, findings: fs}
	}
	for k, p := range doc.Pos {
		p.Line += line - 1
		doc.Pos[k] = p
	}
	return reading{doc: doc, body: bytes.TrimSpace(body), findings: fs}
}
