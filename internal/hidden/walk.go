package hidden

import (
	"bytes"
	"unicode/utf8"
)

const (
	zwsp = 0x200B
	zwnj = 0x200C
	zwj  = 0x200D
	hyph = 0xAD // the soft hyphen

	blackFlag = 0x1F3F4
	keycap    = 0x20E3
)

// walk calls found for every hidden character of s.b from offset i on. Text
// before i must be plain.
func (s *scanner) walk(i int, found func(off, size int, r rune, c class, critical bool)) {
	b := s.b
	prev := lastRune(b[:i]) // the rune before, selectors and skin tones skipped
	// the rune directly before; selectors in a row
	before := prev
	selectors := 0
	seen := prev // the visible rune before
	for i < len(b) {
		if j := plain(b, i); j > i {
			prev = rune(b[j-1])
			before = rune(b[j-1])
			seen = rune(b[j-1])
			selectors = 0
			i = j
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
		if c == classSelector &&
			(prev < 0x80 && rune1(b[i+n:]) != keycap || !emoji(prev)) &&
			!variants(prev, r) {
			s.weighLoose(i)
		}
		s.weigh(i, n, r, before)
		c, critical := s.inContext(c, r, prev, before, i, n, selectors)
		if c.invisible() {
			critical = critical || s.inWord(c, r, seen, b[i+n:])
		} else {
			seen = r
		}
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
func (s *scanner) inContext(
	c class,
	r, prev, before rune,
	i, n, selectors int,
) (class, bool) {
	rest := s.b[i+n:]
	switch {
	case c == classNone:
		return c, false
	case r == '\r':
		if len(rest) > 0 && rest[0] == '\n' {
			return classNone, false
		}
		return classReturn, true
	case c == classTag && s.flag(i, before):
		return classNone, false
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
	case s.code && prev < 0x80 && next != keycap: // 1 followed by a selector is a part of a name
	case (r == 0xFE0F || r == 0xFE0E) && emoji(prev),
		r < 0x2000 && joining(prev):
		return classNone, false
	}
	return classSelector, false
}

// joiner reports whether a joiner has its intended use: between emoji, or within
// a script that uses joiners.
// There is no exception to sign: a joiner hides nothing there, and a switch set by the author
// protects no reader.
func joiner(r, prev, before rune, rest []byte) bool {
	next, _ := utf8.DecodeRune(rest)
	if r == zwj && prev > 0x7f && next > 0x7f && emoji(prev) && emoji(next) {
		return true
	}
	return joining(before) && (joining(next) || virama(before))
}

// flag reports whether the tag character at offset i belongs to the flag of a
// country that begins with U+1F3F4.
func (s *scanner) flag(i int, before rune) bool {
	if before == blackFlag {
		for _, tags := range flags() {
			if bytes.HasPrefix(s.b[i:], []byte(tags)) {
				s.flagEnd = i + len(tags)
			}
		}
	}
	return i < s.flagEnd
}

// inWord reports whether an invisible character is refused because of the visible
// ones around it: seen before it, and the first one in rest.
func (s *scanner) inWord(c class, r, seen rune, rest []byte) bool {
	next := visibleRune(rest)
	switch {
	case !s.code:
		return c != classBlank && r != hyph && asciiWord(seen) && asciiWord(next)
	case c == classBlank:
		return true
	case (r == zwsp || r == 0x2060) && unspaced(seen) && unspaced(next):
		return false
	}
	return wordRune(seen) || wordRune(next)
}

// visibleRune returns the first visible rune of b. It does not look beyond a streak
// that is refused in any case.
func visibleRune(b []byte) rune {
	for range maxStreak {
		r, n := utf8.DecodeRune(b)
		if !classOf(r).invisible() {
			return r
		}
		b = b[n:]
	}
	r, _ := utf8.DecodeRune(b)
	return r
}

func asciiWord(r rune) bool {
	return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
}

// rune1 returns the first rune of b.
func rune1(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

func lastRune(b []byte) rune {
	if len(b) == 0 {
		return 0
	}
	return rune(b[len(b)-1])
}
