package hidden

import "unicode/utf8"

const (
	zwnj = 0x200C
	zwj  = 0x200D
)

// walk calls found for every hidden character of s.b from offset i on. Text
// before i must be plain.
func (s *scanner) walk(i int, found func(off, size int, r rune, c class, critical bool)) {
	b := s.b
	prev := lastRune(b[:i])      // the rune before, selectors and skin tones skipped
	before, selectors := prev, 0 // the rune directly before; selectors in a row
	for i < len(b) {
		if j := plain(b, i); j > i {
			prev, before, selectors, i = rune(b[j-1]), rune(b[j-1]), 0, j
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		c := classOf(r)
		if r == utf8.RuneError && n == 1 {
			c = classInvalid
		}
		if c == classSelector {
			selectors++
		} else {
			selectors = 0
		}
		c, critical := s.inContext(c, r, prev, before, i, n, selectors)
		if c != classNone {
			found(i, n, r, c, critical)
		}
		if before = r; selectors == 0 && !skinTone(r) {
			prev = r
		}
		i += n
	}
}

// inContext returns the class of a character with regard to the adjacent ones.
func (s *scanner) inContext(c class, r, prev, before rune, i, n, selectors int) (class, bool) {
	rest := s.b[i+n:]
	switch {
	case c == classNone:
		return c, false
	case r == '\r':
		if len(rest) > 0 && rest[0] == '\n' {
			return classNone, false
		}
		return classReturn, true
	case c == classSelector:
		return s.selector(r, prev, selectors, rest)
	case r == 0xFEFF && i == 0:
		return classNone, false
	case (r == zwj || r == zwnj) && joiner(r, prev, before, rest):
		return classNone, false
	}
	return c, c.critical()
}

// selector returns the class of a variation selector. Runs and the supplementary
// block can encode hidden bytes; one emoji or Mongolian selector is ordinary text.
func (s *scanner) selector(r, prev rune, selectors int, rest []byte) (class, bool) {
	next, _ := utf8.DecodeRune(rest)
	switch {
	case supplement(r), selectors > 1, classOf(next) == classSelector:
		return classSelector, true
	case (r == 0xFE0F || r == 0xFE0E) && emoji(prev), r < 0x2000 && joining(prev):
		return classNone, false
	}
	return classSelector, false
}

// joiner reports whether a joiner has its intended use: between emoji, or within
// a script that uses joiners.
func joiner(r, prev, before rune, rest []byte) bool {
	next, _ := utf8.DecodeRune(rest)
	if r == zwj && prev > 0x7f && next > 0x7f && emoji(prev) && emoji(next) {
		return true
	}
	return joining(before) && (joining(next) || virama(before))
}

func lastRune(b []byte) rune {
	if len(b) == 0 {
		return 0
	}
	return rune(b[len(b)-1])
}
