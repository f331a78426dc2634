package applet

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/ryeos/rye/diag"
)

// maxRegexp is the length of a regular expression, in bytes.
const maxRegexp = 10_000

// compileRegexp reads a regular expression in RE2's syntax; what is wrong with
// it is noted with its column.
func compileRegexp(a args, expr string, ignoreCase bool) *regexp.Regexp {
	if len(expr) > maxRegexp {
		a.bad("pattern", "has more than %d bytes", maxRegexp)
		return nil
	}
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		noteRegexp(a, expr, err)
		return nil
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		noteRegexp(a, expr, err)
	}
	return re
}

func noteRegexp(a args, expr string, err error) {
	var se *syntax.Error
	if !errors.As(err, &se) {
		a.bad("pattern", "is no regular expression: %v", err)
		return
	}
	at := regexpColumn(expr, se)
	f := diag.Errorf(diag.ValidationFailed, 1, at+1, "%spattern is no regular expression: %s at column %d: %q", a.prefix, se.Code, at+1, near(expr, at))
	f.Fix = `the syntax is RE2's; write \( \[ \{ for the characters themselves`
	if strings.HasPrefix(se.Expr, "(?") {
		f.Fix = "the syntax is RE2's: it has no look-around and no back-references"
	}
	a.add(f)
}

func near(expr string, at int) string { return valid(expr[at:min(len(expr), at+20)]) }

// regexpColumn says where in expr the error lies, counted from 0; package
// syntax tells the fragment only, and for parentheses not even that.
func regexpColumn(expr string, e *syntax.Error) int {
	switch e.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return oddParen(expr)
	case syntax.ErrInvalidUTF8:
		return max(0, strings.IndexFunc(expr, func(r rune) bool { return r == '\uFFFD' }))
	}
	return max(0, strings.Index(expr, e.Expr))
}

// oddParen finds the parenthesis without a partner: the first ")" too many,
// else the last "(" never closed.
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

// classStart returns what may stand at the start of a class without ending it.
func classStart(s string) string {
	for _, p := range []string{"^]", "]", "^"} {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}
