package item

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/ryeos/rye/diag"
)

// Metadata is the metadata in an item's file. All kinds use the struct; fields
// that a kind does not have are zero. Fields has every extracted value by field
// name, including the typed ones, as plain values (nil, bool, int64, float64,
// string, []any, map[string]any).
type Metadata struct {
	Name        string
	Title       string
	Version     string // semantic version without the leading v
	Description string
	Category    string
	Author      string
	Tags        []string
	Extends     string

	ToolType    string // "" marks a support file below tools/, Library a helper
	HasExecutor bool   // executor_id was given, null included
	ExecutorID  string // "" with HasExecutor marks a primitive
	Schema      map[string]any
	Config      map[string]any

	Inputs      []Input
	Outputs     []Input
	Permissions []string

	Fields map[string]any
	Pos    map[string]diag.Position // by field path, as in tree.Doc
	Keys   map[string]string        // what the file calls a field, where that differs
	Body   []byte                   // text after the metadata, for prose kinds
	// Fallback marks metadata read by the line scan because the file does
	// not parse in its language.
	Fallback bool
}

// Library is the tool_type of a helper with metadata: it is signed, verified and listed,
// and never run.
const Library = "library"

// Primitive reports whether the metadata ends a chain.
func (m *Metadata) Primitive() bool {
	return m.HasExecutor && m.ExecutorID == ""
}

// Input is one declared input or output of a directive.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // string, integer, number, boolean, array, object, image, file
	Required    bool   `json:"required"`
	HasDefault  bool   `json:"-"`
	Default     string `json:"default,omitempty"`
	Description string `json:"description,omitempty"`
}

// The types of inputs whose value is the path of a file.
const (
	ImageInput = "image"
	FileInput  = "file"
)

// IsFile reports whether the value of the input is the path of a file that a model reads.
func (in Input) IsFile() bool {
	return in.Type == ImageInput || in.Type == FileInput
}

// SchemaType returns the type of the value in JSON Schema.
func (in Input) SchemaType() string {
	if in.IsFile() {
		return "string"
	}
	return in.Type
}

// CheckVersion returns nil when v is a full semantic version (MAJOR.MINOR.PATCH
// with optional pre-release and build), without a leading v.
func CheckVersion(v string) error {
	core, _, _ := strings.Cut(v, "+")
	core, _, _ = strings.Cut(core, "-")
	if strings.HasPrefix(v, "v") ||
		!semver.IsValid("v"+v) ||
		strings.Count(core, ".") != 2 {
		return diag.New(diag.VersionMismatch, "reading version %q: it is not MAJOR.MINOR.PATCH", v)
	}
	return nil
}

// CompareVersions orders two valid versions; pre-releases come before their
// release.
func CompareVersions(a, b string) int {
	return semver.Compare("v"+a, "v"+b)
}

// IsDecimal reports whether s is a plain decimal number such as "0.05".
func IsDecimal(s string) bool {
	whole, frac, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	digits := func(t string) bool {
		return t != "" && strings.Trim(t, "0123456789") == ""
	}
	return digits(whole) && (!point || digits(frac))
}

// FromFields fills the typed fields from m.Fields. A value of the wrong type
// leaves its field zero; the validation schema reports it.
func (m *Metadata) FromFields() {
	f := m.Fields
	text := func(key string) string { s, _ := f[key].(string); return s }
	object := func(key string) map[string]any { o, _ := f[key].(map[string]any); return o }
	m.Name = text("name")
	m.Title = text("title")
	m.Version = text("version")
	m.Description = text("description")
	m.Category = text("category")
	m.Author = text("author")
	m.Extends = text("extends")
	m.ToolType = text("tool_type")
	m.ExecutorID = text("executor_id")
	id, given := f["executor_id"]
	_, isText := id.(string)
	m.HasExecutor = given && (isText || id == nil)
	m.Schema = object("config_schema")
	m.Config = object("config")
	m.Tags = texts(f["tags"])
	m.Permissions = texts(f["permissions"])
	m.Inputs = inputs(f["inputs"])
	m.Outputs = inputs(f["outputs"])
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func inputs(v any) []Input {
	list, _ := v.([]any)
	var out []Input
	for _, e := range list {
		o, ok := e.(map[string]any)
		if !ok {
			continue
		}
		in := Input{Type: "string"}
		in.Name, _ = o["name"].(string)
		if t, ok := o["type"].(string); ok && t != "" {
			in.Type = t
		}
		in.Required, _ = o["required"].(bool)
		in.Default, in.HasDefault = o["default"].(string)
		in.Description, _ = o["description"].(string)
		out = append(out, in)
	}
	return out
}
