package interop

import (
	"path"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/frontmatter"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// parseData parses a source in JSON or YAML.
func parseData(s Source) (map[string]any, error) {
	var doc *tree.Doc
	var fs []diag.Finding
	switch path.Ext(s.Name) {
	case ".json":
		doc, fs = jsonx.Parse(s.Bytes())
	case ".yaml", ".yml":
		doc, fs = yamlx.Parse(s.Bytes())
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
	fields  map[string]any
	body    string
	comment string // that was before the front matter, and is a part of the body
}

// readMarkdown splits a text of any format: skills, agents, commands and rules have one
// reader. loose states why its front matter is not YAML, with the line.
func readMarkdown(s Source, file *File) (m markdown, loose string, err error) {
	text, fs := frontmatter.Read(file.Bytes)
	m = markdown{text.Doc.Root, text.Body, text.Comment}
	return m, text.Note(s.PathOf(file)), diag.FromFindings("importing "+s.Path, diag.WithPath(fs, s.PathOf(file)))
}

// PathOf returns the path of a file of a source as people read it.
func (s Source) PathOf(file *File) string {
	if s.Dir {
		return s.Path + "/" + file.Path
	}
	return s.Path
}

func (m markdown) text(key string) string {
	return textOf(m.fields[key])
}

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

// firstLine is a title or the text of an input in one line of at most 200 characters.
func firstLine(text, otherwise string) string {
	return cutLine(text, otherwise, 200)
}

// maxDescription is how many characters of a description are kept: as many as the format of
// skills permits. Search and models choose by it.
const maxDescription = 1024

// description is the description of an item in one line.
func (r *Result) description(text, otherwise string) string {
	out := cutLine(text, otherwise, maxDescription)
	if strings.HasSuffix(out, "…") && !strings.HasSuffix(strings.TrimSpace(text), "…") {
		r.left("the rest of the description", "it has at most "+strconv.Itoa(maxDescription)+" characters")
	}
	return out
}

func cutLine(text, otherwise string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return otherwise
	}
	if r := []rune(text); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return text
}
