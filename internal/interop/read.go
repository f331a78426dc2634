package interop

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
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
// reader. Their front matter is often not YAML, such as a description with a colon and a
// blank: then each unindented "key: rest" is a key and a text, other lines belong to the
// text before them, and loose states the mistake with its line.
func readMarkdown(s Source, file *File) (m markdown, loose string, err error) {
	src := bytes.TrimPrefix(file.Bytes, []byte("\ufeff"))
	head := src[:len(src)-len(afterComments(src))]
	meta, line, body, ok := mdmeta.FrontMatter(src[len(head):])
	if len(head) > 0 && (!ok || len(lines(string(meta))) == 0) { // an ordinary text
		return markdown{fields: map[string]any{}, body: string(src)}, "", nil
	}
	line += bytes.Count(head, []byte("\n"))
	m = markdown{map[string]any{}, string(body), string(bytes.TrimSpace(head))}
	if m.comment != "" {
		m.body = m.comment + "\n\n" + m.body
	}
	if !ok {
		if line > 0 {
			f := diag.Errorf(diag.ValidationFailed, line, 1, "the front matter has no closing line ---")
			return m, "", diag.FromFindings("importing "+s.Path, diag.WithPath(
				[]diag.Finding{f},
				s.PathOf(file),
			))
		}
		return m, "", nil
	}
	if len(bytes.TrimSpace(meta)) == 0 {
		return m, "", nil
	}
	doc, fs := yamlx.Parse(meta)
	if !diag.Failed(fs) {
		m.fields = doc.Root
		return m, "", nil
	}
	for i := range fs {
		fs[i].Line += line - 1
	}
	if m.fields = lines(string(meta)); len(m.fields) == 0 {
		return m, "", diag.FromFindings("importing "+s.Path, diag.WithPath(fs, s.PathOf(file)))
	}
	return m, fmt.Sprintf(
		"%s:%d:%d: it is not YAML (%s): each line was read as a key and its value",
		s.PathOf(file),
		fs[0].Line,
		fs[0].Column,
		fs[0].Message,
	), nil
}

// afterComments returns the text below the empty lines and the comments at its beginning:
// generated files have them before their front matter. A signature line is kept.
func afterComments(src []byte) []byte {
	for rest := src; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		inner, comment := bytes.CutPrefix(rest, []byte("<!--"))
		if !comment {
			return rest
		}
		_, after, closed := bytes.Cut(inner, []byte("-->"))
		if !closed || bytes.HasPrefix(inner, []byte(" rye:signed:")) {
			return src
		}
		rest = after
	}
}

// PathOf returns the path of a file of a source as people read it.
func (s Source) PathOf(file *File) string {
	if s.Dir {
		return s.Path + "/" + file.Path
	}
	return s.Path
}

// lines reads front matter that is not YAML. A line in an element such as <example> is
// part of the text before it, whatever it looks like.
func lines(meta string) map[string]any {
	out := map[string]any{}
	last := ""
	within := false
	for text := range strings.SplitSeq(meta, "\n") {
		text = strings.TrimSuffix(text, "\r")
		key, value, found := strings.Cut(text, ":")
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#") && last == "":
		case found && !within && plainKey(key):
			last = key
			out[key] = strings.Trim(strings.TrimSpace(value), `"'`)
		case last != "":
			out[last] = strings.TrimSpace(textOf(out[last]) + "\n" + trimmed)
			within = (within || strings.HasPrefix(trimmed, "<")) && !strings.Contains(trimmed, "</")
		}
	}
	return out
}

// plainKey reports whether the text before a colon is a key.
func plainKey(s string) bool {
	for i, r := range s {
		if r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z' ||
			i > 0 && (r == '-' || r == '_' || r >= '0' && r <= '9') {
			continue
		}
		return false
	}
	return s != ""
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
