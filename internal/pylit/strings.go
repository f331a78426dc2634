package pylit

import "strings"

// delimiter is the end of a string literal.
type delimiter struct {
	quote  byte
	triple bool
}

func (d delimiter) at(s string, i int) int {
	if s[i] != d.quote {
		return 0
	}
	if !d.triple {
		return 1
	}
	if i+2 < len(s) &&
		s[i+1] == d.quote &&
		s[i+2] == d.quote {
		return 3
	}
	return 0
}

// opening splits a literal at p into prefix, delimiter and start of the text.
func opening(s string, p int) (prefix string, d delimiter, i int) {
	i = p
	for !isQuote(s[i]) {
		i++
	}
	prefix = strings.ToLower(s[p:i])
	d.quote = s[i]
	d.triple = i+2 < len(s) &&
		s[i+1] == d.quote &&
		s[i+2] == d.quote
	if d.triple {
		return prefix, d, i + 3
	}
	return prefix, d, i + 1
}

// skipString returns the end of the string literal at p. depth counts the
// f-strings around it.
func (l *lexer) skipString(p, depth int) (int, *lexError) {
	prefix, d, i := opening(l.src, p)
	fields := strings.ContainsAny(prefix, "ft")
	if fields && depth >= maxDepth {
		return 0, &lexError{p, "f-strings are nested too deep"}
	}
	for i < len(l.src) {
		if n := d.at(l.src, i); n > 0 {
			return i + n, nil
		}
		n, err := l.stringPart(i, d, fields, depth)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		i += n
	}
	return 0, &lexError{p, "a string is never closed"}
}

// stringPart returns the length of the next part of a string's text: one byte,
// an escape, or a replacement field. 0 means that the line ends too early.
func (l *lexer) stringPart(i int, d delimiter, fields bool, depth int) (int, *lexError) {
	s := l.src
	switch c := s[i]; {
	case c == '\\' && i+1 < len(s):
		if fields && (s[i+1] == '{' || s[i+1] == '}') {
			return 1, nil
		}
		return 1 + max(1, newlineLen(s, i+1)), nil
	case c == '\n' || c == '\r':
		if !d.triple {
			return 0, nil
		}
	case fields && c == '{':
		if i+1 < len(s) && s[i+1] == '{' {
			return 2, nil
		}
		end, err := l.skipField(i+1, d, depth)
		return end - i, err
	}
	return 1, nil
}

// skipField returns the end of the replacement field whose text starts at i
// (PEP 701: it may contain any quotes, and fields of its own).
func (l *lexer) skipField(i int, d delimiter, depth int) (int, *lexError) {
	start := i - 1
	open := 0
	for i < len(l.src) {
		switch c := l.src[i]; {
		case c == '}' && open == 0:
			return i + 1, nil
		case c == ':' && open == 0:
			return l.skipFormat(i+1, d, depth)
		case c == '(' || c == '[' || c == '{':
			open++
		case c == ')' || c == ']' || c == '}':
			if open--; open < 0 {
				return 0, &lexError{i, "a replacement field has an unmatched bracket"}
			}
		case c == '#':
			i = lineEnd(l.src, i)
			continue
		case isQuote(c) || isNameStart(c):
			end, err := l.skipWord(i, depth)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		}
		i++
	}
	return 0, &lexError{start, "a replacement field is never closed"}
}

// skipWord returns the end of a name or of a string literal with its prefix.
func (l *lexer) skipWord(p, depth int) (int, *lexError) {
	i := p
	for i < len(l.src) && (isNameStart(l.src[i]) || isDigit(l.src[i])) {
		i++
	}
	if i < len(l.src) &&
		isQuote(l.src[i]) &&
		(i == p || isPrefix(l.src[p:i])) {
		return l.skipString(p, depth+1)
	}
	return i, nil
}

// skipFormat returns the end of a replacement field from its format on, where
// quotes are text unless they end the whole string.
func (l *lexer) skipFormat(i int, d delimiter, depth int) (int, *lexError) {
	start := i - 1
	if depth >= maxDepth {
		return 0, &lexError{start, "replacement fields are nested too deep"}
	}
	for i < len(l.src) && d.at(l.src, i) == 0 {
		if l.src[i] == '}' {
			return i + 1, nil
		}
		if l.src[i] == '{' {
			end, err := l.skipField(i+1, d, depth+1)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		}
		n, err := l.stringPart(i, d, false, depth)
		if err != nil || n == 0 {
			break
		}
		i += n
	}
	return 0, &lexError{start, "a replacement field is never closed"}
}
