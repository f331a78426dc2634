package extract

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/header"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// anyType is the entry of Extractor.Keys for items of every tool_type.
const anyType = "any"

func readKeys(r *tree.Reader) map[string][]string {
	if len(r.Keys()) == 0 {
		return nil
	}
	out := map[string][]string{}
	for _, toolType := range r.Keys() {
		out[toolType] = r.Texts(toolType, nil)
	}
	return out
}

// UnknownKeys returns findings for the top-level keys of an item that no rule knows. It
// returns none if the extractor does not list the keys of its kind. Names that begin
// with x- are the author's own.
//
// In a file of data every other key is unknown, and in a header every other line
// "key: value" next to metadata. Elsewhere in a program a name may be an ordinary
// variable or a comment: there only a name that resembles a key that the file does not
// have is reported.
//
// Unknown keys are refused in every verb, in bundles as well: a key that nothing reads may be a
// restriction.
func (e *Extractor) UnknownKeys(t FileType, src []byte, m *item.Metadata) []diag.Finding {
	if e.Keys == nil {
		return nil
	}
	var out []diag.Finding
	switch t.Codec {
	case CodecYAML, CodecTOML, CodecJSON:
		out = e.unknownData(m)
	case CodecPython, CodecHeaderHash, CodecHeaderSlash:
		out = e.unknownNames(t, src, m)
	}
	diag.Sort(out)
	return out
}

// fields are the names of the fields of an item. Lists of them would be most of what a
// walk over many items allocates.
func (e *Extractor) fields(toolType string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range [...][]string{e.Keys[anyType], e.Keys[toolType]} {
			for _, name := range list {
				if !yield(name) {
					return
				}
			}
		}
		for i := range e.Rules {
			if !yield(e.Rules[i].Field) {
				return
			}
		}
		for i := range e.Schema.Fields {
			if !yield(e.Schema.Fields[i].Name) {
				return
			}
		}
	}
}

// isKey reports whether a name in the header of a program is metadata: one of tools, or
// one that the extractor reads.
func (e *Extractor) isKey(name string) bool {
	return header.ToolKey(name) || slices.Contains(e.Keys[anyType], name) || e.supplies(name) ||
		slices.ContainsFunc(e.Schema.Fields, func(f Field) bool {
			return f.Name == name
		})
}

// names returns the names of the fields of an item and their names in files, without
// constants in code.
func (e *Extractor) names(toolType string) []string {
	out := slices.Collect(e.fields(toolType))
	for _, r := range e.Rules {
		out = append(out, r.From...)
	}
	return slices.DeleteFunc(out, constant)
}

func (e *Extractor) unknownData(m *item.Metadata) []diag.Finding {
	var out []diag.Finding
	for key := range m.Fields {
		if e.hasField(m.ToolType, key) || strings.HasPrefix(key, "x-") {
			continue
		}
		p := (&tree.Doc{Pos: m.Pos}).At(tree.Join("", key))
		f := nearest(
			max(p.Line, 1),
			p.Column,
			key,
			suggest.Nearest(key, e.names(m.ToolType)),
		)
		if f.Facts["nearest"] == "" {
			f = diag.Errorf(diag.ValidationFailed, f.Line, f.Column, "unknown key %q", key).WithReason("own_key")
		}
		out = append(out, f)
	}
	return out
}

// unknownNames compares the constants of a program, and the lines of its header.
func (e *Extractor) unknownNames(t FileType, src []byte, m *item.Metadata) []diag.Finding {
	var out []diag.Finding
	report := func(name string, line, column int) {
		if near := e.resembled(name, m); near != "" {
			out = append(out, nearest(line, column, name, near))
		}
	}
	for name := range m.Fields {
		if constant(name) {
			p := (&tree.Doc{Pos: m.Pos}).At(tree.Join("", name))
			report(name, max(p.Line, 1), 1)
		}
	}
	comment := map[string]string{CodecHeaderHash: "#", CodecHeaderSlash: "//"}[t.Codec]
	if comment == "" {
		return out
	}
	for _, key := range header.Unknown(src, comment, e.isKey) {
		f := nearest(
			key.Pos.Line,
			key.Pos.Column,
			key.Name,
			suggest.Nearest(key.Name, e.names(m.ToolType)),
		)
		if f.Facts["nearest"] == "" {
			f = diag.Errorf(diag.ValidationFailed, f.Line, f.Column, "unknown key %q", key.Name).
				WithReason("header_key")
		}
		out = append(out, f)
	}
	return append(out, e.misspelledLines(src, m, out)...)
}

// misspelledLines compares the lines of a header outside the blocks of metadata.
func (e *Extractor) misspelledLines(
	src []byte,
	m *item.Metadata,
	found []diag.Finding,
) []diag.Finding {
	var out []diag.Finding
	number := 0
	for line := range bytes.Lines(src) {
		text := strings.TrimSpace(string(line))
		if number++; number > maxHeader || !isComment(text) {
			break
		}
		key := keyInComment(text)
		if key == "" ||
			slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Line == number }) {
			continue
		}
		if near := e.resembled(key, m); near != "" {
			out = append(out, nearest(number, 1, key, near))
		}
	}
	return out
}

// constant reports whether a name is written as metadata are in code.
func constant(name string) bool {
	return name == strings.ToUpper(name) || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// hasField reports whether an item has a field of this name.
func (e *Extractor) hasField(toolType, name string) bool {
	for field := range e.fields(toolType) {
		if field == name {
			return true
		}
	}
	return false
}

// resembled returns the name of a field that the file does not have and that a name
// differs from in one or two characters, "" if none. Short names resemble too many words.
func (e *Extractor) resembled(name string, m *item.Metadata) string {
	trimmed := strings.Trim(name, "_")
	if e.hasField(m.ToolType, name) ||
		e.hasField(m.ToolType, trimmed) ||
		e.supplies(name) ||
		e.supplies(trimmed) {
		return ""
	}
	for c := range e.fields(m.ToolType) {
		if resembles(name, trimmed, c, m) {
			return c
		}
	}
	for _, r := range e.Rules {
		if _, has := m.Fields[r.Field]; has {
			continue
		}
		for _, c := range r.From {
			if resembles(name, trimmed, c, m) {
				return c
			}
		}
	}
	return ""
}

// resembles reports whether a name, own without underscores around it, is a spelling of a
// field that the item does not have.
func resembles(name, trimmed, field string, m *item.Metadata) bool {
	plain := strings.Trim(field, "_")
	most := 0 // typing errors
	switch {
	case len(plain) >= 10:
		most = 2
	case len(plain) >= 7:
		most = 1
	default:
		return false
	}
	diff := utf8.RuneCountInString(trimmed) - utf8.RuneCountInString(plain)
	if diff > most || -diff > most {
		return false
	}
	_, has := m.Fields[plain]
	if has || constant(name) != constant(field) {
		return false
	}
	d := suggest.Distance(trimmed, plain)
	return d > 0 && d <= most
}
