package hidden

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Numbers from which characters that are ordinary by themselves are reported: a text
// can be encoded in which of them are used, one bit for each. Texts of the scripts in
// TestNaturalText stay below.
const (
	maxLoose    = 8  // selectors after characters without variants
	maxSwitches = 8  // between the forms of one emoji
	maxWide     = 4  // spaces of a width of their own between letters
	maxKinds    = 16 // the same anywhere, of different widths
	maxNarrow   = 16 // no-break spaces between letters, in turn with spaces
	maxBlanks   = 9  // spaces of different widths in a row
	maxMarks    = 7  // combining marks on one character
	maxStacked  = 20 // the same, as an error
	maxBare     = 8  // combining marks on spaces, digits and punctuation
)

// channel counts characters of a text that can encode another text by their choice.
type channel struct {
	loose int

	form      map[rune]rune // the selector after the last use of an emoji
	switches  int
	base      rune // the emoji of the sequence that ends at baseEnd
	baseEnd   int
	inTurn    int // switches in that sequence
	wide      int // spaces between letters
	kinds     []rune
	spaces    int // wide ones anywhere
	narrow    int
	reported  bool // narrow ones
	space     rune // the last one, which ends at spaceEnd
	spaceEnd  int
	turns     int // of narrow and ordinary spaces
	blanks    int // in a row
	blankTurn int

	marks   int // on the character before markEnd
	markEnd int
	bare    int
}

// weigh counts a character and reports it when a number is exceeded. Before is the
// rune directly before it.
func (s *scanner) weigh(off, size int, r, before rune) {
	rest := s.b[off+size:]
	switch {
	case r < 0x80:
	case emoji(r) && !skinTone(r):
		s.weighEmoji(off, size, r, rest)
	case wideSpace(r) || r == 0xA0 || r == 0x202F:
		s.weighSpace(off, size, r, before, rest)
	case unicode.Is(unicode.M, r) && classOf(r) == classNone:
		s.weighMark(off, r, before)
		s.channel.markEnd = off + size
	}
}

// weighLoose counts a selector after a character that has no variants.
func (s *scanner) weighLoose(off int) {
	if s.channel.loose++; s.channel.loose == maxLoose+1 {
		s.suspect(off, true, "variation selectors after %d characters that have no variants can encode a text", s.channel.loose)
	}
}

func (s *scanner) weighEmoji(off, size int, r rune, rest []byte) {
	c := &s.channel
	sel, n := utf8.DecodeRune(rest)
	if classOf(sel) != classSelector {
		sel = 0
		n = 0
	}
	adjacent := c.base == r && c.baseEnd == off
	if !adjacent {
		c.inTurn = 0
	}
	if was, known := c.form[r]; known && was != sel {
		if c.switches++; c.switches == maxSwitches {
			s.suspect(off, false, "%q is written with and without a variation selector %d times in turn, which can encode a text", string(r), c.switches)
		}
		if adjacent {
			if c.inTurn++; c.inTurn == maxSwitches {
				s.suspect(off, true, "a sequence of %q with and without variation selectors encodes a text", string(r))
			}
		}
	}
	if c.form == nil {
		c.form = map[rune]rune{}
	}
	c.form[r], c.base, c.baseEnd = sel, r, off+size+n
}

// weighSpace counts spaces. No-break spaces are ordinary next to punctuation, in
// numbers and after short words, thin ones in formulas, ideographic ones next to
// ideographs.
func (s *scanner) weighSpace(off, size int, r, before rune, rest []byte) {
	c := &s.channel
	between := s.b[c.spaceEnd:off]
	switch {
	case c.space == 0 || len(bytes.Trim(between, " ")) > 0 || len(between) > 1:
		c.blanks = 1
		c.blankTurn = 0
	default:
		c.blanks++
		if r != c.space || len(between) > 0 {
			c.blankTurn++
		}
		if c.blanks == maxBlanks && c.blankTurn >= maxBlanks/2 {
			s.suspect(off, true, "a sequence of spaces of different widths encodes a text")
		}
	}
	s.weighGap(off, r, before, rest, between)
	c.space = r
	c.spaceEnd = off + size
}

// weighGap counts a space by the words around it. Between is the text since the
// space before.
func (s *scanner) weighGap(off int, r, before rune, rest, between []byte) {
	c := &s.channel
	next, _ := utf8.DecodeRune(rest)
	if wideSpace(r) {
		if unspaced(before) || unspaced(next) {
			return
		}
		if c.spaces++; !slices.Contains(c.kinds, r) {
			c.kinds = append(c.kinds, r)
		}
		words := lettersBefore(s.b[:off], 2) && lettersAfter(rest, 2)
		if words {
			c.wide++
		}
		if c.wide == maxWide && words || c.spaces == maxKinds && len(c.kinds) > 1 {
			s.suspect(off, false, "%d spaces of other widths between words can encode a text", c.spaces)
		}
		return
	}
	if !lettersBefore(s.b[:off], 4) || !lettersAfter(rest, 1) {
		return
	}
	c.narrow++
	if c.space != 0 && (r != c.space || bytes.IndexByte(between, ' ') >= 0) {
		c.turns++
	}
	if c.narrow >= maxNarrow && c.turns >= maxNarrow/2 && !c.reported {
		c.reported = true
		s.suspect(off, false, "%d no-break spaces in turn with other spaces between words can encode a text", c.narrow)
	}
}

// lettersBefore reports whether b ends with n letters.
func lettersBefore(b []byte, n int) bool {
	for range n {
		r, size := utf8.DecodeLastRune(b)
		if !unicode.IsLetter(r) {
			return false
		}
		b = b[:len(b)-size]
	}
	return true
}

// lettersAfter reports whether b begins with n letters.
func lettersAfter(b []byte, n int) bool {
	for range n {
		r, size := utf8.DecodeRune(b)
		if !unicode.IsLetter(r) {
			return false
		}
		b = b[size:]
	}
	return true
}

func (s *scanner) weighMark(off int, r, before rune) {
	c := &s.channel
	if c.marks++; c.markEnd != off {
		c.marks = 1
	}
	limit := maxMarks
	if unicode.Is(unicode.Tibetan, r) {
		limit = maxStacked / 2
	}
	switch {
	case c.marks == limit:
		s.suspect(off, false, "%d combining marks on one character can encode a text", c.marks)
	case c.marks == maxStacked+1:
		s.suspect(off, true, "more than %d combining marks on one character encode a text", maxStacked)
	}
	if r >= 0x300 && r <= 0x36F && r != 0x338 && before < 0x80 && !asciiWord(before) ||
		before >= '0' && before <= '9' && unicode.Is(unicode.Mn, r) {
		if c.bare++; c.bare == maxBare {
			s.suspect(off, false, "%d combining marks on spaces, digits or punctuation can encode a text", c.bare)
		}
	}
}

// suspect adds a finding about several characters, of which the one at off is the
// last.
func (s *scanner) suspect(off int, critical bool, format string, args ...any) {
	line := 1 + bytes.Count(s.b[:off], []byte{'\n'})
	f := diag.Warnf(
		diag.HiddenChars,
		line,
		off-bytes.LastIndexByte(s.b[:off], '\n'),
		strings.ReplaceAll(format, "%q", "%+q"),
		args...,
	).
		WithReason("invisible")
	if critical {
		f.Severity = diag.SeverityError
	}
	s.suspects = append(s.suspects, f)
}

// wideSpace reports whether r is a space of a width of its own.
func wideSpace(r rune) bool {
	return r >= 0x2000 && r <= 0x200A || r == 0x205F || r == 0x3000 || r == 0x1680
}

// variants reports whether Unicode defines variants of a character: the selector r
// after base is ordinary text.
func variants(base, r rune) bool {
	if r < 0x2000 {
		return joining(base)
	}
	return r <= 0xFE02 && (base == '0' || base >= 0x2200 && base <= 0x22FF || base >= 0x2A00 && base <= 0x2AFF ||
		base >= 0x3001 && base <= 0x3002 || base >= 0xFF01 && base <= 0xFF1F ||
		unicode.In(base, unicode.Han, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean))
}
