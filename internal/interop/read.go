package interop

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// parseData parses a source in JSON or YAML.
func parseData(s Source) (map[string]any, error) {
	var doc *tree.Doc
	var fs []diag.Finding
	switch path.Ext(s.Name) {
	case ".json":
		doc, fs = jsonx.Parse(s.bytes())
	case ".yaml", ".yml":
		doc, fs = yamlx.Parse(s.bytes())
	default:
		return nil, diag.New(diag.Usage, "importing %s: its format is not known", s.Path).WithReason("import_format")
	}
	if diag.Failed(fs) {
		return nil, diag.FromFindings("importing "+s.Path, diag.WithPath(fs, s.Path))
	}
	return doc.Root, nil
}

// markdown is a text with front matter.
type markdown struct {
	fields map[string]any
	body   string
}

// readMarkdown splits a text. Agents of Claude Code often have front matter that is
// not YAML, such as a description with a colon and a blank: then each line is a key
// and the rest of it is the value, and loose is true.
func readMarkdown(s Source, file *File) (m markdown, loose bool, err error) {
	meta, line, body, ok := mdmeta.FrontMatter(file.Bytes)
	m = markdown{map[string]any{}, string(body)}
	if !ok {
		if line > 0 {
			return m, false, diag.New(diag.ValidationFailed, "importing %s: the front matter of %s has no closing line ---", s.Path, file.Path)
		}
		return m, false, nil
	}
	doc, fs := yamlx.Parse(meta)
	if !diag.Failed(fs) {
		m.fields = doc.Root
		return m, false, nil
	}
	for text := range strings.SplitSeq(string(meta), "\n") {
		key, value, found := strings.Cut(strings.TrimSuffix(text, "\r"), ":")
		if !found || key == "" || strings.TrimLeft(key, " \t-#") != key {
			if strings.TrimSpace(text) == "" {
				continue
			}
			for i := range fs {
				fs[i].Line += line - 1
			}
			return m, false, diag.FromFindings("importing "+s.Path, diag.WithPath(fs, s.Path))
		}
		m.fields[key] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return m, true, nil
}

func (m markdown) text(key string) string { return textOf(m.fields[key]) }

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// words returns a list, or a text divided at commas.
func words(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		for w := range strings.SplitSeq(splitOutside(v), "\n") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	case []any:
		for _, w := range v {
			if s, ok := w.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// splitOutside replaces the commas outside parentheses by line feeds: Bash(git add:*), Read.
func splitOutside(s string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				return '\n'
			}
		}
		return r
	}, s)
}

// firstLine is a description in one line of at most 200 characters.
func firstLine(text, otherwise string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return otherwise
	}
	if r := []rune(text); len(r) > 200 {
		return strings.TrimSpace(string(r[:199])) + "…"
	}
	return text
}
