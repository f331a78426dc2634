// Package hidden finds characters that a reader cannot see, and makes them
// visible.
//
// It reads bytes only: it does not know items, does not decide about trust, and
// does not print.
package hidden

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// MaxFindings is the maximum number of runs that Scan reports one by one. One
// last finding has the number of further runs.
const MaxFindings = 1000

// run is a sequence of adjacent characters of one class.
type run struct {
	class     class
	start     int
	end       int
	critical  bool     // each character by itself
	refused   bool     // because of the length of the streak
	first     []string // the first code points, rendered
	count     int
	tagText   []byte // the ASCII text that tag characters encode
	lineStart int
	line      int
}

// Scan reports each run of hidden characters in a text: critical ones as errors,
// suspicious ones as warnings, both HIDDEN_CHARS. A byte order mark at the
// start is left to Encoding.
//
// Critical are characters that reorder or encode text, zero-width characters
// between two ASCII letters or digits, and more than two invisible ones in a row.
// Characters that are ordinary by themselves are reported from a number on that can
// encode a text: forms of emoji, widths of spaces, combining marks.
// Joiners between emoji and in scripts that use them are ordinary characters.
func Scan(b []byte) []diag.Finding {
	return scan(b, false)
}

// ScanCode is Scan for a program. There every invisible character next to a letter,
// digit or underscore is critical, because languages accept some of them in names,
// and so is every blank letter.
func ScanCode(b []byte) []diag.Finding {
	return scan(b, true)
}

func scan(b []byte, code bool) []diag.Finding {
	i := plain(b, 0)
	if i == len(b) {
		return nil
	}
	s := scanner{b: b, line: 1, code: code}
	s.walk(i, s.add)
	s.flush()
	return s.done()
}

type scanner struct {
	b         []byte
	code      bool // b is a program
	flagEnd   int  // end of the tag characters of a flag
	line      int  // line of counted
	lineStart int
	counted   int // bytes whose newlines are counted
	run       run
	streak    streak
	out       []diag.Finding
	more      int
	moreError bool
	channel   channel
	suspects  []diag.Finding // about several characters
}

// add adds one hidden character to the current run or starts a new one.
func (s *scanner) add(off, size int, r rune, c class, critical bool) {
	if s.run.count == 0 ||
		s.run.class != c ||
		s.run.critical != critical ||
		s.run.end != off {
		s.flush()
		s.countLines(off)
		s.run = run{
			class:     c,
			start:     off,
			critical:  critical,
			line:      s.line,
			lineStart: s.lineStart,
		}
	}
	s.run.end = off + size
	s.run.count++
	if s.lengthen(off, size, r, c) {
		s.run.refused = true
	}
	if len(s.run.first) < 4 {
		s.run.first = append(s.run.first, codePoint(s.b[off], r, c))
	}
	if c == classTag && r >= 0xE0020 && r < 0xE007F && len(s.run.tagText) < 60 {
		s.run.tagText = append(s.run.tagText, byte(r-0xE0000))
	}
}

// countLines counts the lines up to off.
func (s *scanner) countLines(off int) {
	part := s.b[s.counted:off]
	n := bytes.Count(part, []byte{'\n'})
	if n > 0 {
		s.line += n
		s.lineStart = s.counted + bytes.LastIndexByte(part, '\n') + 1
	}
	s.counted = off
}

func (s *scanner) flush() {
	r := s.run
	s.run = run{}
	if r.count == 0 {
		return
	}
	if len(s.out) == MaxFindings {
		s.more++
		s.moreError = s.moreError || r.critical || r.refused
		return
	}
	f := diag.Warnf(
		diag.HiddenChars,
		r.line,
		r.start-r.lineStart+1,
		"%s",
		r.message(),
	).
		WithReason(r.class.reason())
	if r.critical || r.refused {
		f.Severity = diag.SeverityError
	}
	s.out = append(s.out, f)
}

// maxStreak is the number of invisible characters in a row that is only
// suspicious. Their kinds and their number can encode a text.
const maxStreak = 2

// streak is a sequence of adjacent invisible characters of any class.
type streak struct {
	end   int
	count int
	mixed bool // not only U+2800, which pads braille
}

// lengthen adds a character to the streak. It reports whether the run is refused
// because of it: streaks of different classes are refused at their third character.
func (s *scanner) lengthen(off, size int, r rune, c class) bool {
	if !c.invisible() {
		return false
	}
	if s.streak.count == 0 || s.streak.end != off {
		s.streak = streak{}
	}
	s.streak.end = off + size
	s.streak.count++
	s.streak.mixed = s.streak.mixed || r != braillePad
	return s.streak.count > maxStreak && s.streak.mixed
}

func (r run) message() string {
	var b strings.Builder
	b.WriteString(r.class.name())
	b.WriteByte(' ')
	b.WriteString(strings.Join(r.first, " "))
	if r.count > len(r.first) {
		fmt.Fprintf(&b, " … (%d in a row)", r.count)
	}
	if len(r.tagText) > 0 {
		fmt.Fprintf(&b, " spelling %q", r.tagText)
	}
	return b.String()
}

func (s *scanner) done() []diag.Finding {
	if s.more > 0 {
		last := s.out[len(s.out)-1]
		f := diag.Warnf(diag.HiddenChars, last.Line, last.Column, "%d more runs of hidden characters follow", s.more)
		if s.moreError {
			f.Severity = diag.SeverityError
		}
		s.out = append(s.out, f)
	}
	if len(s.suspects) > 0 {
		s.out = append(s.out, s.suspects...)
		slices.SortStableFunc(s.out, func(a, b diag.Finding) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column)
		})
	}
	return s.out
}

func codePoint(first byte, r rune, c class) string {
	if c == classInvalid {
		return fmt.Sprintf("0x%02X", first)
	}
	return fmt.Sprintf("U+%04X", r)
}
