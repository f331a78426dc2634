package extract

import (
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Parse reads an extractor item's values. codecOf maps the id of a parser item
// to the codec it chooses. Every problem is a finding with its place.
func Parse(doc *tree.Doc, codecOf func(parserID string) (string, error)) (*Extractor, []diag.Finding) {
	p := &parser{doc: doc, codecOf: codecOf}
	e := &Extractor{
		Kind:   item.Kind(p.text(doc.Root, "", "kind", true)),
		Folder: p.text(doc.Root, "", "folder", true),
		ID:     IDForm(p.text(doc.Root, "", "item_id", false)),
		File:   p.text(doc.Root, "", "item_file", false),
		Search: p.weights(),
	}
	p.identity(e)
	e.Types = p.fileTypes()
	p.file(e)
	e.Rules = p.rules()
	p.schema(e)
	seal(e)
	return e, p.out
}

type parser struct {
	doc     *tree.Doc
	codecOf func(string) (string, error)
	out     []diag.Finding
}

func (p *parser) bad(at, format string, args ...any) {
	pos := p.doc.At(at)
	p.out = append(p.out, diag.Errorf(diag.ConfigError, max(pos.Line, 1), pos.Column, format, args...))
}

// fault is bad for an error that has a code of its own, so that a parser item
// that does not verify is refused as such.
func (p *parser) fault(err error, at string) {
	p.bad(at, "%s", err)
	if code := diag.CodeOf(err); code != "" {
		p.out[len(p.out)-1].Code = code
	}
}

func (p *parser) text(m map[string]any, at, key string, required bool) string {
	v, present := m[key]
	s, ok := v.(string)
	if present && !ok || required && s == "" {
		p.bad(tree.Join(at, key), "field %q must be a text", tree.Join(at, key))
	}
	return s
}

func (p *parser) list(key string) []any {
	l, ok := p.doc.Root[key].([]any)
	if !ok && p.doc.Root[key] != nil {
		p.bad(key, "field %q must be a list", key)
	}
	return l
}

func (p *parser) identity(e *Extractor) {
	if e.ID == "" {
		e.ID = IDPath
	}
	if e.ID != IDPath && e.ID != IDParentDir {
		p.bad("item_id", "field \"item_id\" is %q, must be path or parent_dir", e.ID)
	}
	if item.CheckKind(e.Kind) != nil {
		p.bad("kind", "field \"kind\" is %q, which is not a kind", e.Kind)
	}
	if e.Folder == "" {
		return // reported as missing
	}
	folder := strings.ToLower(e.Folder)
	if item.CheckID(e.Folder) != nil || strings.Contains(e.Folder, "/") || folder == "bundles" || Own(folder) {
		p.bad("folder", "field \"folder\" is %q, must be one plain segment that rye does not use itself", e.Folder)
	}
	for _, b := range Boot().All() {
		if b.Kind != e.Kind && b.Folder == folder {
			p.bad("folder", "field \"folder\" is %q, which is the folder of kind %s", e.Folder, b.Kind)
		}
	}
}

// file checks the name that marks an item: a plain one, of a declared type.
func (p *parser) file(e *Extractor) {
	if e.ID != IDParentDir {
		return
	}
	t, known := e.Type(e.File)
	if !known || item.CheckID(strings.TrimSuffix(e.File, t.Ext)) != nil || strings.Contains(e.File, "/") {
		p.bad("item_file", "field \"item_file\" is %q, must name the file that marks an item, such as SKILL.md, with one of the extensions", e.File)
	}
}

func (p *parser) fileTypes() []FileType {
	detached := p.signature(p.doc.Root, "")
	var out []FileType
	for i, entry := range p.list("extensions") {
		at := tree.Index("extensions", i)
		t, ok := p.fileType(entry, at, detached)
		if ok && slices.ContainsFunc(out, func(o FileType) bool { return o.Ext == t.Ext }) {
			p.bad(at, "extension %q is listed twice", t.Ext)
		} else if ok {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		p.bad("extensions", "field \"extensions\" must list at least one extension")
	}
	return out
}

// schema reads the validation schema. A kind of the boot table that declares
// none keeps the built-in minimum.
func (p *parser) schema(e *Extractor) {
	s := p.mapping("validation_schema")
	for _, key := range sortedKeys(s) {
		if key != "fields" {
			p.bad(tree.Join("validation_schema", key), "unknown key %q, only fields is known", key)
		}
	}
	e.Schema.Fields = p.fields(s["fields"], "validation_schema.fields")
	if b := Boot().Kind(e.Kind); s == nil && b != nil {
		e.Schema = b.Schema
	}
}

// mapping returns a top-level mapping, nil when it is absent.
func (p *parser) mapping(key string) map[string]any {
	m, ok := p.doc.Root[key].(map[string]any)
	if _, present := p.doc.Root[key]; present && !ok {
		p.bad(key, "field %q must be a mapping", key)
	}
	return m
}

func (p *parser) signature(m map[string]any, at string) (detached bool) {
	switch s := p.text(m, at, "signature", false); s {
	case "", "inline":
	case "detached":
		return true
	default:
		p.bad(tree.Join(at, "signature"), "field \"signature\" is %q, must be inline or detached", s)
	}
	return false
}

func (p *parser) fileType(entry any, at string, detached bool) (FileType, bool) {
	m, ok := entry.(map[string]any)
	if !ok {
		p.bad(at, "an extension must be a mapping with ext, parser and comment")
		return FileType{}, false
	}
	t := FileType{Ext: p.text(m, at, "ext", true), Detached: detached}
	if t.Ext == "" {
		return t, false // reported as missing
	}
	if !plainExt(t.Ext) {
		p.bad(tree.Join(at, "ext"), "field \"ext\" is %q, must be a dot and lower-case letters, digits, - or _, and not %s", t.Ext, DetachedExt)
		return t, false
	}
	if m["signature"] != nil {
		t.Detached = p.signature(m, at)
	}
	codec, err := p.codecOf(p.text(m, at, "parser", true))
	if err != nil {
		p.fault(err, tree.Join(at, "parser"))
	}
	t.Codec = codec
	t.Style = p.style(m, at, t.Detached)
	return t, err == nil
}

func plainExt(ext string) bool {
	name, dot := strings.CutPrefix(ext, ".")
	return dot && ext != DetachedExt && ext == strings.ToLower(ext) && item.CheckID(name) == nil && !strings.Contains(name, "/")
}

func (p *parser) style(m map[string]any, at string, detached bool) sign.Style {
	name := p.text(m, at, "comment", false)
	if detached {
		name = "bare"
	}
	s, known := sign.StyleByName(name)
	if !known || name == "bare" && !detached {
		p.bad(tree.Join(at, "comment"), "field \"comment\" is %q, must be one of # // <!-- -- ; /*", name)
	}
	return s
}

func (p *parser) rules() []Rule {
	m := p.mapping("extraction_rules")
	var out []Rule
	for _, field := range sortedKeys(m) {
		at := tree.Join("extraction_rules", field)
		r := Rule{Field: field}
		switch v := m[field].(type) {
		case string:
			r.From = []string{v}
		case []any:
			for _, e := range v {
				s, _ := e.(string)
				r.From = append(r.From, s)
			}
		}
		if len(r.From) == 0 || slices.Contains(r.From, "") {
			p.bad(at, "rule %q must be the name of a source, or a list of names", field)
		}
		out = append(out, r)
	}
	return out
}

func (p *parser) weights() map[string]float64 {
	m := p.mapping("search_fields")
	out := make(map[string]float64, len(m))
	for _, k := range sortedKeys(m) {
		w, ok := number(m[k])
		if !ok || w < 0 {
			p.bad(tree.Join("search_fields", k), "weight of %q must be a number, at least 0", k)
		}
		out[k] = w
	}
	return out
}

func (p *parser) fields(v any, at string) []Field {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		p.bad(at, "%s must be a mapping of field names", at)
	}
	var out []Field
	for _, name := range sortedKeys(m) {
		here := tree.Join(at, name)
		rule, ok := m[name].(map[string]any)
		if !ok {
			p.bad(here, "the rule of field %q must be a mapping", name)
			continue
		}
		out = append(out, p.field(name, rule, here))
	}
	return out
}

func (p *parser) field(name string, rule map[string]any, at string) Field {
	f := Field{Name: name, Type: p.text(rule, at, "type", false)}
	types := []string{"", "string", "integer", "number", "boolean", "object", "array", "semver", "enum"}
	if !slices.Contains(types, f.Type) {
		p.bad(tree.Join(at, "type"), "type %q is not one of %s", f.Type, strings.Join(types[1:], ", "))
	}
	if f.Type == "enum" && rule["values"] == nil {
		p.bad(at, "an enum needs values")
	}
	for _, key := range sortedKeys(rule) {
		here := tree.Join(at, key)
		switch key {
		case "type":
		case "required":
			f.Required = p.flag(rule[key], here)
		case "nullable":
			f.Nullable = p.flag(rule[key], here)
		case "match_filename":
			f.MatchFilename = p.flag(rule[key], here)
		case "match_path":
			f.MatchPath = p.flag(rule[key], here)
		case "values":
			f.Values = p.texts(rule[key], here)
		case "pattern":
			f.Pattern = p.pattern(rule[key], here)
		case "minimum":
			f.Minimum = p.bound(rule[key], here)
		case "maximum":
			f.Maximum = p.bound(rule[key], here)
		case "items":
			o, ok := rule[key].(map[string]any)
			if !ok {
				p.bad(here, "%s must be a mapping", here)
			}
			sub := p.field("items", o, here)
			f.Item = &sub
		case "fields":
			f.Nested = p.fields(rule[key], here)
		default:
			p.bad(here, "unknown rule %q", key)
		}
	}
	return f
}

func (p *parser) flag(v any, at string) bool {
	b, ok := v.(bool)
	if !ok {
		p.bad(at, "%s must be true or false", at)
	}
	return b
}

func (p *parser) texts(v any, at string) []string {
	var out []string
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	if len(out) == 0 || len(out) != len(list) {
		p.bad(at, "%s must be a list of texts", at)
	}
	return out
}

func (p *parser) pattern(v any, at string) *regexp.Regexp {
	s, _ := v.(string)
	re, err := regexp.Compile(s)
	if err != nil || s == "" {
		p.bad(at, "%s is not a regular expression", at)
		return nil
	}
	return re
}

func (p *parser) bound(v any, at string) *float64 {
	n, ok := number(v)
	if !ok {
		p.bad(at, "%s must be a number", at)
		return nil
	}
	return &n
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
