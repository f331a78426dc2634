package extract

import (
	"slices"
	"sync"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Boot returns the compiled-in table: the four kinds with their directories,
// extensions and comment styles. The first extractor is read with it, and sign,
// verify and trust can work with it alone. Its schemas are the built-in minimum. All
// callers get the same extractors and do not change them.
func Boot() *Table {
	return &Table{list: slices.Clone(bootExtractors())}
}

var bootExtractors = sync.OnceValue(func() []*Extractor {
	hash := style("#")
	slash := style("//")
	html := style("<!--")
	text := func(codec string, s sign.Style, exts ...string) []FileType {
		var out []FileType
		for _, ext := range exts {
			out = append(out, FileType{Ext: ext, Style: s, Codec: codec})
		}
		return out
	}
	yaml := text(CodecYAML, hash, ".yaml", ".yml")
	tool := text(CodecPython, hash, ".py")
	tool = append(tool, text(CodecHeaderSlash, slash, ".js", ".mjs", ".cjs", ".ts")...)
	tool = append(tool, text(CodecHeaderHash, hash, ".sh", ".bash", ".rb", ".pl")...)
	tool = append(tool, yaml...)
	tool = append(tool, text(CodecTOML, hash, ".toml")...)
	tool = append(tool, FileType{
		Ext:      ".json",
		Style:    style("bare"),
		Detached: true,
		Codec:    CodecJSON,
	})

	return []*Extractor{
		{Kind: item.Directive, Folder: "directives", ID: IDPath, Boot: true,
			Types: text(CodecDirective, html, ".md"), Schema: minimum("name", "version", "description")},
		{Kind: item.Tool, Folder: "tools", ID: IDPath, Boot: true, Types: tool,
			Rules: bootToolRules(), Schema: minimum("version", "tool_type", "description")},
		{Kind: item.Knowledge, Folder: "knowledge", ID: IDPath, Boot: true,
			Types: append(text(CodecKnowledge, html, ".md"), yaml...), Schema: minimum("version", "title")},
		{
			Kind:   item.Config,
			Folder: "config",
			ID:     IDPath,
			Boot:   true,
			Types:  yaml,
		},
	}
})

func style(name string) sign.Style {
	s, _ := sign.StyleByName(name)
	return s
}

func minimum(required ...string) Schema {
	s := Schema{}
	for _, name := range required {
		f := Field{Name: name, Required: true, Type: "string"}
		if name == "version" {
			f.Type = "semver"
		}
		s.Fields = append(s.Fields, f)
	}
	s.Fields = append(s.Fields,
		Field{Name: "name", Type: "string", MatchFilename: true},
		Field{Name: "category", Type: "string", MatchPath: true})
	return s
}

func bootToolRules() []Rule {
	dunder := func(field string, more ...string) Rule {
		return Rule{Field: field, From: append(
			[]string{field, "__" + field + "__"},
			more...,
		)}
	}
	return []Rule{dunder("version"), dunder("tool_type"), dunder("executor_id"), dunder("category"),
		{Field: "description", From: []string{"description", "__tool_description__"}},
		{Field: "name", From: []string{"tool_id", "name"}},
		// Permissions that the constants of a program restrict are read before any
		// extractor is: a file that asks for less must not get more.
		dunder("sandbox", "SANDBOX"), dunder("calls", "CALLS"), dunder("risk", "RISK")}
}

// seal restores the signature format and the minimum of the boot table: an extractor
// may not move or change the signatures of its file types, and may require more of
// an item, but not less.
func seal(e *Extractor) {
	b := Boot().Kind(e.Kind)
	if b == nil {
		return
	}
	e.Folder = b.Folder
	e.ID = b.ID
	e.File = b.File
	for i, t := range e.Types {
		for _, bt := range b.Types {
			if bt.Ext == t.Ext {
				e.Types[i].Style = bt.Style
				e.Types[i].Detached = bt.Detached
			}
		}
	}
	for _, minimum := range b.Schema.Fields {
		e.Schema.require(minimum)
	}
}

// require adds the minimum of a field.
func (s *Schema) require(minimum Field) {
	i := slices.IndexFunc(s.Fields, func(f Field) bool {
		return f.Name == minimum.Name
	})
	if i < 0 {
		s.Fields = append(s.Fields, minimum)
		return
	}
	f := &s.Fields[i]
	f.Required = f.Required || minimum.Required
	f.Nullable = f.Nullable && minimum.Nullable
	f.MatchFilename = f.MatchFilename || minimum.MatchFilename
	f.MatchPath = f.MatchPath || minimum.MatchPath
	if f.Type == "" || minimum.Type == "semver" {
		f.Type = minimum.Type
	}
}
