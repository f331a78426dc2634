package extract

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Parse decodes the values of an extractor item. codecOf maps the id of a parser
// item to the codec that it names. Keys that no extractor has are ignored: an
// item may have fields of its own.
func Parse(doc *tree.Doc, codecOf func(parserID string) (string, error)) (*Extractor, []diag.Finding) {
	r := tree.NewReader(doc, diag.ConfigError)
	r.Require("kind", "folder")
	e := &Extractor{
		Kind:   item.Kind(r.Text("kind")),
		Folder: r.Text("folder"),
		ID:     IDForm(r.Enum("item_id", string(IDPath), string(IDPath), string(IDParentDir))),
		File:   r.Text("item_file"),
		Search: readWeights(r.Map("search_fields")),
		Types:  readTypes(r, codecOf),
		Rules:  readRules(r.Map("extraction_rules")),
	}
	e.Keys = readKeys(r.Map("keys"))
	checkIdentity(r, e)
	checkFile(r, e)
	schema := r.Map("validation_schema")
	schema.Only("fields")
	e.Schema.Fields = readFields(schema.Map("fields"))
	b := Boot().Kind(e.Kind)
	if b != nil && !r.Has("validation_schema") {
		e.Schema.Fields = slices.Clone(b.Schema.Fields) // the minimum of a kind of the boot table
	}
	seal(e)
	return e, r.Findings()
}

func checkIdentity(r *tree.Reader, e *Extractor) {
	if e.Kind != "" && item.CheckKind(e.Kind) != nil {
		r.Reject("kind", "is %q, which is not a kind", e.Kind)
	}
	if e.Folder == "" {
		return // reported as missing
	}
	folder := strings.ToLower(e.Folder)
	if item.CheckID(e.Folder) != nil ||
		strings.Contains(e.Folder, "/") ||
		folder == "bundles" ||
		Own(folder) {
		r.Reject("folder", "is %q, must be one plain segment that rye does not use itself", e.Folder)
	}
	for _, b := range Boot().All() {
		if b.Kind != e.Kind && b.Folder == folder {
			r.Reject("folder", "is %q, which is the directory of kind %s", e.Folder, b.Kind)
		}
	}
}

// checkFile checks the name of the file that makes a directory an item.
func checkFile(r *tree.Reader, e *Extractor) {
	if e.ID != IDParentDir {
		return
	}
	t, known := e.Type(e.File)
	if !known ||
		item.CheckID(strings.TrimSuffix(e.File, t.Ext)) != nil ||
		strings.Contains(e.File, "/") {
		r.Reject("item_file", "is %q, must be the name of the file that makes a directory an item, such as SKILL.md, with one of the extensions", e.File)
	}
}

func readTypes(r *tree.Reader, codecOf func(string) (string, error)) []FileType {
	detached := readDetached(r)
	var out []FileType
	for _, m := range r.Maps("extensions") {
		t, ok := readType(m, codecOf, detached)
		switch {
		case !ok:
		case slices.ContainsFunc(out, func(o FileType) bool { return o.Ext == t.Ext }):
			m.Reject("ext", "is %q, which is listed twice", t.Ext)
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		r.Reject("extensions", "must list at least one valid extension")
	}
	return out
}

func readDetached(r *tree.Reader) bool {
	return r.Enum("signature", "inline", "inline", "detached") == "detached"
}

func readType(
	r *tree.Reader,
	codecOf func(string) (string, error),
	detached bool,
) (FileType, bool) {
	r.Require("ext", "parser")
	t := FileType{Ext: r.Text("ext"), Detached: detached}
	if t.Ext == "" {
		return t, false // reported as missing
	}
	if !plainExt(t.Ext) {
		r.Reject("ext", "is %q, must be a dot and lower-case letters, digits, - or _, and not %s", t.Ext, DetachedExt)
		return t, false
	}
	if r.Has("signature") {
		t.Detached = readDetached(r)
	}
	t.Style = readStyle(r, t.Detached)
	parser := r.Text("parser")
	if parser == "" {
		return t, false // reported as missing
	}
	codec, err := codecOf(parser)
	if err != nil {
		// The code of the error stays: a parser item that is not trusted is
		// refused as such.
		r.RejectErr("parser", err)
	}
	t.Codec = codec
	return t, err == nil
}

func plainExt(ext string) bool {
	name, dot := strings.CutPrefix(ext, ".")
	return dot &&
		ext != DetachedExt &&
		ext == strings.ToLower(ext) &&
		item.CheckID(name) == nil &&
		!strings.Contains(name, "/")
}

func readStyle(r *tree.Reader, detached bool) sign.Style {
	name := r.Text("comment")
	if detached {
		name = "bare"
	}
	s, known := sign.StyleByName(name)
	if !known || name == "bare" && !detached {
		r.Reject("comment", "must be one of # // <!-- -- ; /*, not %q", name)
	}
	return s
}

func readRules(r *tree.Reader) []Rule {
	var out []Rule
	for _, field := range r.Keys() {
		rule := Rule{Field: field}
		if _, ok := r.Value(field).(string); ok {
			rule.From = []string{r.Text(field)}
		} else {
			rule.From = r.Texts(field, nil)
		}
		if rule.From != nil &&
			(len(rule.From) == 0 || slices.Contains(rule.From, "")) {
			r.Reject(field, "must be the name of a source, or a list of names")
		}
		out = append(out, rule)
	}
	return out
}

func readWeights(r *tree.Reader) map[string]float64 {
	out := make(map[string]float64, len(r.Keys()))
	for _, key := range r.Keys() {
		out[key] = r.Number(key, 0, 0, math.Inf(1))
	}
	return out
}

func readFields(r *tree.Reader) []Field {
	var out []Field
	for _, name := range r.Keys() {
		out = append(out, readField(name, r.Map(name)))
	}
	return out
}

func readField(name string, r *tree.Reader) Field {
	r.Only("type", "required", "nullable", "advisory", "match_filename", "match_path", "values", "pattern", "minimum", "maximum", "items", "fields")
	f := Field{
		Name:          name,
		Type:          r.Enum("type", "", "string", "integer", "number", "boolean", "object", "array", "semver", "enum"),
		Required:      r.Bool("required", false),
		Nullable:      r.Bool("nullable", false),
		Advisory:      r.Bool("advisory", false),
		MatchFilename: r.Bool("match_filename", false),
		MatchPath:     r.Bool("match_path", false),
		Values:        r.Texts("values", nil),
		Minimum:       readBound(r, "minimum"),
		Maximum:       readBound(r, "maximum"),
		Nested:        readFields(r.Map("fields")),
	}
	if f.Type == "enum" && !r.Has("values") ||
		f.Values != nil && len(f.Values) == 0 {
		r.Reject("values", "must list at least one value")
	}
	r.TextFunc("pattern", func(s string) (err error) {
		if s == "" {
			return errors.New("it is empty")
		}
		f.Pattern, err = regexp.Compile(s)
		return err
	})
	if r.Has("items") {
		sub := readField("items", r.Map("items"))
		f.Item = &sub
	}
	return f
}

func readBound(r *tree.Reader, key string) *float64 {
	n := r.Number(key, 0, math.Inf(-1), math.Inf(1))
	if !r.Has(key) {
		return nil
	}
	return &n
}
