package extract

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// maxHeader is the number of lines in which Misread searches for a header.
const maxHeader = 100

// Misread returns findings for a file without tool_type that looks like a tool to a
// person: it names executor_id, misspells one of the two keys, or has them where
// they are not read. Without a finding such a file would be signed as a support file.
func (e *Extractor) Misread(t FileType, src []byte, m *item.Metadata) []diag.Finding {
	if _, ok := m.Fields["executor_id"]; ok {
		p := (&tree.Doc{Pos: m.Pos}).At("executor_id")
		f := diag.Errorf(diag.ValidationFailed, max(p.Line, 1), p.Column, "the file names executor_id and has no tool_type")
		return []diag.Finding{f.WithReason("no_tool_type")}
	}
	switch t.Codec {
	case CodecYAML, CodecTOML, CodecJSON:
		return misspelledKeys(m)
	case CodecPython, CodecHeaderHash, CodecHeaderSlash:
		return misreadHeader(t, src)
	}
	return nil
}

func misspelledKeys(m *item.Metadata) []diag.Finding {
	var out []diag.Finding
	for key := range m.Fields {
		if near := nearToolKey(key); near != "" {
			p := (&tree.Doc{Pos: m.Pos}).At(key)
			out = append(out, nearest(max(p.Line, 1), p.Column, key, near))
		}
	}
	diag.Sort(out)
	return out
}

func nearest(line, column int, key, near string) diag.Finding {
	return diag.Errorf(diag.ValidationFailed, line, column, "unknown key %q", key).WithReason("nearest", "nearest", near)
}

// nearToolKey returns which of the two keys that make a tool a name resembles, "" if
// none.
func nearToolKey(name string) string {
	plain := strings.ReplaceAll(strings.ToLower(strings.Trim(name, "_")), "-", "_")
	for _, key := range []string{"tool_type", "executor_id"} {
		if len(plain)+2 >= len(key) && suggest.Distance(plain, key) <= 2 {
			return key
		}
	}
	return ""
}

// namedConstant is a constant with underscores around its name. Few runs need it.
var namedConstant = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:export[ \t]+)?(?:const|let|var)[ \t]+)?(__?[A-Za-z_]+__?)[ \t]*(?::[^=]*)?=([^=]|$)`)
})

// keyInComment returns the key of a line such as "# key: value", "" for any other line. The
// sign of the comment may be missing.
func keyInComment(text string) string {
	for _, open := range [...]string{"#", "//", "/*", "*", "--", ";"} {
		if rest, ok := strings.CutPrefix(text, open); ok {
			if text = rest; open == "/*" {
				text = strings.TrimLeft(text, "*")
			}
			break
		}
	}
	text = strings.TrimLeft(text, " \t")
	n := 0
	for n < len(text) && (text[n] == '_' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || n > 0 && text[n] == '-') {
		n++
	}
	rest := strings.TrimLeft(text[n:], " \t")
	if rest == "" ||
		rest[0] != ':' && rest[0] != '=' ||
		len(rest) > 1 && rest[1] == '=' {
		return ""
	}
	return text[:n]
}

// misreadHeader searches the comments at the top, and constants below them.
// Only the comments at the top and constants of code are read, and the top level of data: a
// variable of a Python helper such as tool_types is no such key.
func misreadHeader(t FileType, src []byte) []diag.Finding {
	top := true
	number := 0
	for line := range bytes.Lines(src) {
		if number++; number > maxHeader {
			return nil
		}
		text := strings.TrimFunc(string(line), unicode.IsSpace)
		comment := isComment(text)
		key := ""
		m := namedConstant().FindStringSubmatch(text)
		if m != nil && t.Codec != CodecHeaderHash {
			key = m[1]
		} else if top && comment {
			key = keyInComment(withoutSpaces(text))
		}
		switch near := nearToolKey(key); {
		case near == "":
		case strings.Trim(key, "_") != near:
			return []diag.Finding{nearest(number, 1, key, near)}
		default:
			f := diag.Errorf(diag.ValidationFailed, number, 1, "%q is not read on this line, so the file would not be a tool", key)
			return []diag.Finding{f.WithReason("header_unread", "form", headerForm(t))}
		}
		top = top && (comment || text == "" || directive(text))
	}
	return nil
}

// withoutSpaces replaces the spaces after a comment sign that are not ASCII: they look
// like one and are not one to the reader.
func withoutSpaces(text string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x7f && unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
}

func isComment(text string) bool {
	return slices.ContainsFunc(
		[]string{"#", "//", "/*", "*", "--", ";"},
		func(open string) bool { return strings.HasPrefix(text, open) },
	)
}

// directive reports whether a line is a directive of JavaScript such as "use strict".
func directive(text string) bool {
	return strings.HasPrefix(text, `"use `) || strings.HasPrefix(text, `'use `)
}

// headerForm returns how metadata are written in files of the type.
func headerForm(t FileType) string {
	switch t.Codec {
	case CodecPython:
		return `__tool_type__ = "script" at the start of a line`
	case CodecHeaderSlash:
		return "// tool_type: script in the comment lines at the top"
	}
	return "# tool_type: script in the comment lines at the top"
}
