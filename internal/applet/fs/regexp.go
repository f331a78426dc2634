package fs

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
)

// maxRegexp is the length of a regular expression, in bytes.
const maxRegexp = 10_000

// compileRegexp compiles a regular expression in RE2's syntax. A problem is
// added with its column.
func compileRegexp(a wire.Args, expr string, ignoreCase bool) *regexp.Regexp {
	if len(expr) > maxRegexp {
		a.Reject("pattern", "has more than %d bytes", maxRegexp)
		return nil
	}
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		addRegexpProblem(a, expr, err)
		return nil
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		addRegexpProblem(a, expr, err)
	}
	return re
}

func addRegexpProblem(a wire.Args, expr string, err error) {
	var se *syntax.Error
	if !errors.As(err, &se) {
		a.Reject("pattern", "is not a regular expression: %v", err)
		return
	}
	at := regexpColumn(expr, se)
	syntaxNote := `RE2 syntax; \( \[ \{ are the characters themselves`
	if strings.HasPrefix(se.Expr, "(?") {
		syntaxNote = "RE2 syntax has no look-around and no back-references"
	}
	a.Add(diag.Errorf(
		diag.ValidationFailed,
		1,
		at+1,
		"pattern is not a regular expression: %s at column %d: %q (%s)",
		se.Code,
		at+1,
		near(expr, at),
		syntaxNote,
	))
}

func near(expr string, at int) string {
	return wire.Valid(expr[at:min(len(expr), at+20)])
}

// regexpColumn returns the position of the error in expr, counted from 0.
// Package syntax returns only the fragment, and no fragment for parentheses.
func regexpColumn(expr string, e *syntax.Error) int {
	switch e.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return oddParen(expr)
	case syntax.ErrInvalidUTF8:
		return max(0, strings.IndexFunc(expr, func(r rune) bool { return r == '\uFFFD' }))
	}
	return max(0, strings.Index(expr, e.Expr))
}

// oddParen returns the position of the unmatched parenthesis: the first extra
// ")", else the last "(" that is not closed.
func oddParen(expr string) int {
	var open []int
	class := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			i += len(classStart(expr[i+1:]))
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) == 0:
			return i
		case c == ')':
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// classStart returns the characters at the start of a class that do not end it.
func classStart(s string) string {
	for _, p := range []string{"^]", "]", "^"} {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}
