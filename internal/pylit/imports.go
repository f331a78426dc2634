package pylit

import (
	"maps"
	"slices"
	"strings"
)

// Imports returns the top-level names of the modules that Python code imports,
// sorted: import a.b, from a.b import c, and a literal name in __import__ or
// import_module, in any block. Relative imports are not among them. A line that is
// not Python is skipped.
func Imports(src []byte) []string {
	s := importScanner{lexer: newLexer(string(src)), found: map[string]bool{}}
	s.advance()
	for start := true; s.tok.kind != eof; {
		switch text := s.text(s.tok); {
		case s.tok.kind == name && start && text == "import":
			start = s.importList()
		case s.tok.kind == name && start && text == "from":
			start = s.importFrom()
		case s.tok.kind == name && (text == "__import__" || text == "import_module"):
			start = s.importCall()
		default:
			start = s.tok.kind == newline || text == ";" || text == ":"
			s.advance()
		}
	}
	return slices.Sorted(maps.Keys(s.found))
}

type importScanner struct {
	lexer
	tok   token
	found map[string]bool
}

// advance reads the next token, and continues with the next line after text that is
// not Python.
func (s *importScanner) advance() {
	for {
		tok, err := s.next()
		if err == nil {
			s.tok = tok
			return
		}
		at := lineEnd(s.src, max(s.i, err.off))
		at += newlineLen(s.src, at)
		s.seek(at)
		if at >= len(s.src) {
			s.tok = token{kind: eof}
			return
		}
	}
}

func (s *importScanner) is(text string) bool {
	return s.tok.kind != str && s.text(s.tok) == text
}

// module records the first name of a dotted name and skips the rest.
func (s *importScanner) module() {
	if s.tok.kind == name {
		s.found[s.text(s.tok)] = true
		s.advance()
	}
	for s.is(".") {
		s.advance()
		s.advance()
	}
}

// importList reads the modules after "import". It reports whether a statement begins
// at the current token.
func (s *importScanner) importList() bool {
	for ok := true; ok; ok = s.is(",") {
		s.advance()
		s.module()
		if s.is("as") {
			s.advance()
			s.advance()
		}
	}
	return false
}

// importFrom reads the module after "from". A relative import begins with dots.
func (s *importScanner) importFrom() bool {
	s.advance()
	if s.tok.kind == name {
		s.module()
	}
	return false
}

// importCall reads a literal name in __import__("name") or import_module("name").
func (s *importScanner) importCall() bool {
	s.advance()
	if !s.is("(") {
		return false
	}
	s.advance()
	if s.tok.kind == str {
		top, _, _ := strings.Cut(
			strings.Trim(s.text(s.tok), `"'`),
			".",
		)
		if top != "" && strings.Trim(top, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
			s.found[top] = true
		}
	}
	return false
}
