// Package frontmatter reads the front matter of texts that agents of different programs
// read: skills, agents, commands and rules.
//
// It decides about no field and opens no files.
package frontmatter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// MaxSize is how many bytes the front matter of one text may have.
const MaxSize = 64 << 10

// Text is a text divided into its front matter and the rest.
type Text struct {
	Doc     *tree.Doc     // the fields, with positions in the text; never nil
	Body    string        // with Comment in front of it
	Comment string        // that was before the front matter
	Line    int           // where the fields begin, 0 without front matter
	Loose   *diag.Finding // the warning about fields that are not YAML, else nil
}

// Read divides a text. Front matter is often not YAML, such as a description with a colon
// and a blank: then each unindented "key: rest" is a key and a text, and other lines belong
// to the text before them. A finding is an error: the text has no closing line, no field
// can be read, or the fields have more than MaxSize bytes.
func Read(src []byte) (Text, []diag.Finding) {
	mark := []byte("\ufeff")
	src = bytes.TrimPrefix(src, mark)
	rest := afterComments(src)
	head := src[:len(src)-len(rest)]
	meta, line, body, ok := mdmeta.FrontMatter(rest)
	fields := ok && len(Lines(string(meta))) > 0
	if len(head) > 0 && !fields {
		// lines --- below a comment divide an ordinary text
		return Text{Doc: tree.New(), Body: string(src)}, nil
	}
	t := Text{
		Doc:     tree.New(),
		Body:    string(body),
		Comment: string(bytes.TrimSpace(head)),
	}
	if line > 0 {
		t.Line = line + bytes.Count(head, []byte("\n"))
	}
	if t.Comment != "" {
		t.Body = t.Comment + "\n\n" + t.Body
	}
	empty := len(bytes.TrimSpace(meta)) == 0
	switch {
	case !ok && line > 0:
		return t, t.refused(diag.ValidationFailed, "the front matter has no closing line ---")
	case len(meta) > MaxSize:
		return t, t.refused(diag.TooLarge, "the front matter has more than 64 KiB")
	case empty:
		return t, nil
	}
	return t, t.parse(meta)
}

// refused is the finding about the front matter as a whole.
func (t *Text) refused(code diag.Code, why string) []diag.Finding {
	f := diag.Errorf(code, t.Line, 1, "%s", why)
	return []diag.Finding{f}
}

// parse reads the fields as YAML, else line by line.
func (t *Text) parse(meta []byte) []diag.Finding {
	doc, fs := yamlx.Parse(meta)
	above := t.Line - 1
	yaml := !diag.Failed(fs)
	if yaml {
		t.Doc = doc
		for key, pos := range maps.Clone(doc.Pos) {
			pos.Line += above
			doc.Pos[key] = pos
		}
		return nil
	}
	// YAML has rules for texts that authors do not expect: a colon, @ or { in a description
	for i := range fs {
		fs[i].Line += above
	}
	t.Doc = byLine(string(meta), above)
	if len(t.Doc.Root) == 0 {
		return fs
	}
	loose := diag.Warnf(
		diag.ValidationFailed,
		fs[0].Line,
		fs[0].Column,
		"it is not YAML (%s): each line was read as a key and its value",
		fs[0].Message,
	)
	t.Loose = &loose
	return nil
}

// String returns the text of a field, "" if it is missing or not a text.
func (t *Text) String(key string) string {
	s, _ := t.Doc.Root[key].(string)
	return s
}

// Expands reports whether the fields have a YAML alias of an anchor that they define: a
// program that reads them as YAML may need memory without bound.
func Expands(src []byte) bool {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	src = afterComments(src)
	meta, _, _, ok := mdmeta.FrontMatter(src)
	if !ok {
		return false
	}
	// an alias without an anchor is an error of YAML, not an expansion
	anchors := map[string]bool{}
	for _, name := range yamlNames(meta, '&') {
		anchors[name] = true
	}
	return slices.ContainsFunc(yamlNames(meta, '*'), func(name string) bool {
		return anchors[name]
	})
}

// yamlNames returns the names of anchors (&) or aliases (*): where a value can begin.
func yamlNames(meta []byte, sign byte) (out []string) {
	for i := 1; i < len(meta); i++ {
		before := rune(meta[i-1])
		begins := strings.ContainsRune(" \t\n[,{", before)
		if meta[i] != sign || !begins {
			continue
		}
		// a lone * is text: lists of tools have it
		rest := meta[i+1:]
		end := bytes.IndexAny(rest, " \t\r\n,[]{}")
		if end < 0 {
			end = len(rest)
		}
		name := string(rest[:end])
		if name != "" {
			out = append(out, name)
		}
	}
	return out
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
		signed := bytes.HasPrefix(inner, []byte(" rye:signed:"))
		if !closed || signed {
			return src
		}
		rest = after
	}
}

// Lines reads front matter that is not YAML. A line in an element such as <example> is
// part of the text before it, whatever it looks like.
func Lines(meta string) map[string]any {
	return byLine(meta, 0).Root
}

// byLine is Lines with the positions of the keys, whose first line is below the others
// above.
func byLine(meta string, above int) *tree.Doc {
	out := tree.New()
	last := ""
	within := false
	line := above
	for text := range strings.SplitSeq(meta, "\n") {
		line++
		key, value, found := strings.Cut(text, ":")
		trimmed := strings.TrimSpace(text)
		comment := strings.HasPrefix(trimmed, "#") && last == ""
		switch {
		case trimmed == "" || comment:
		case found && !within && PlainKey(key):
			last = key
			value = strings.TrimSpace(value)
			out.Root[key] = strings.Trim(value, `"'`)
			out.Pos[key] = diag.Position{Line: line, Column: 1}
		case last != "":
			before, _ := out.Root[last].(string)
			out.Root[last] = strings.TrimSpace(before + "\n" + trimmed)
			opened := within || strings.HasPrefix(trimmed, "<")
			closed := strings.Contains(trimmed, "</")
			within = opened && !closed
		}
	}
	return out
}

// PlainKey reports whether the text before a colon is a key.
func PlainKey(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		inner := digit || r == '-' || r == '_'
		if letter || i > 0 && inner {
			continue
		}
		return false
	}
	return s != ""
}

// Note returns the warning about fields that are not YAML with its path and position, ""
// if they are YAML.
func (t *Text) Note(path string) string {
	if t.Loose == nil {
		return ""
	}
	return fmt.Sprintf(
		"%s:%d:%d: %s",
		path,
		t.Loose.Line,
		t.Loose.Column,
		t.Loose.Message,
	)
}
