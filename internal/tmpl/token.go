package tmpl

import "strings"

type kind int

const (
	literal  kind = iota
	variable      // ${NAME} or ${NAME:-default}
	name          // {name}
	param         // {param:NAME}
	params        // {params:NAME}
	lower         // ${name}: shell syntax, not a template
	broken        // a template with an error, see why
)

// token is one piece of a template.
type token struct {
	kind           kind
	raw            string // as written
	name, def, why string
}

// cut removes the first piece from *s, which is not empty, and returns it.
func cut(s *string) token {
	t := first(*s)
	*s = (*s)[len(t.raw):]
	return t
}

func first(s string) token {
	switch {
	case strings.HasPrefix(s, "${"):
		return dollar(s)
	case s[0] == '{':
		return brace(s)
	}
	i := 1
	for i < len(s) && s[i] != '{' && !strings.HasPrefix(s[i:], "${") {
		i++
	}
	return token{raw: s[:i]}
}

// dollar parses a text that begins with "${".
func dollar(s string) token {
	n := 2 + span(s[2:], isUpper)
	if n == 2 ||
		n < len(s) && isWord(s[n]) ||
		isDigit(s[2]) {
		return foreign(s)
	}
	rest := s[n:]
	switch {
	case strings.HasPrefix(rest, "}"):
		return token{kind: variable, raw: s[:n+1], name: s[2:n]}
	case strings.HasPrefix(rest, ":-"):
		return defaulted(s, n)
	case rest == "":
		return token{kind: broken, raw: s, why: "the variable does not end with }"}
	}
	return foreign(s)
}

// defaulted parses ${NAME:-default}, whose name ends at n.
func defaulted(s string, n int) token {
	def := s[n+2:]
	i := strings.IndexAny(def, "{}")
	switch {
	case i < 0:
		return token{kind: broken, raw: s, why: "the variable does not end with }"}
	case def[i] == '{':
		return token{kind: broken, raw: s[:n+2+i+1], why: "a default may not contain a template"}
	}
	return token{
		kind: variable,
		raw:  s[:n+2+i+1],
		name: s[2:n],
		def:  def[:i],
	}
}

// foreign parses a ${...} that is not a template. A {name} in it is not one either.
func foreign(s string) token {
	n := 2 + span(s[2:], isWord)
	if n > 2 && n < len(s) && s[n] == '}' {
		return token{kind: lower, raw: s[:n+1], name: s[2:n]}
	}
	return token{raw: s[:2]}
}

// brace parses a text that begins with "{".
func brace(s string) token {
	n := 1 + span(s[1:], isWord)
	id := s[1:n]
	switch {
	case n == len(s) || id == "":
	case s[n] == '}' && isLowerName(id):
		return token{kind: name, raw: s[:n+1], name: id}
	case s[n] == ':' && id == "param":
		return parameter(s, "{param:", param)
	case s[n] == ':' && id == "params":
		return parameter(s, "{params:", params)
	}
	return token{raw: s[:1]}
}

func parameter(s, head string, k kind) token {
	i := strings.IndexAny(s[len(head):], "{}")
	switch {
	case i < 0 || s[len(head)+i] == '{':
		return token{kind: broken, raw: s[:len(head)], why: "the parameter does not end with }"}
	case i == 0:
		return token{kind: broken, raw: s[:len(head)+1], why: "the parameter has no name"}
	}
	return token{kind: k, raw: s[:len(head)+i+1], name: s[len(head) : len(head)+i]}
}

func span(s string, in func(byte) bool) int {
	i := 0
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool {
	return '0' <= c && c <= '9'
}
func isUpper(c byte) bool {
	return 'A' <= c && c <= 'Z' || c == '_' || isDigit(c)
}
func isWord(c byte) bool {
	return isUpper(c) || 'a' <= c && c <= 'z'
}

// isLowerName reports whether id, made of word bytes, is the name of a template.
func isLowerName(id string) bool {
	return !isDigit(id[0]) && strings.ToLower(id) == id
}
