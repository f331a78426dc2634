package pylit

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// assignment is the last value of a name.
type assignment struct {
	value     any
	positions map[string]diag.Position
	why       string // why it is not a literal, "" if it is
	off       int    // of the reason
}

// scanner splits the tokens into logical lines and keeps the assignments.
type scanner struct {
	lexer
	lines    []int // offsets where lines start
	names    map[string]assignment
	sure     map[string]bool // names from before the error
	damaged  bool
	resyncs  int
	findings []diag.Finding

	begun bool    // a logical line has begun
	start int     // offset of its first token
	top   bool    // it is at column 0 and opens no block
	keep  bool    // the statement may still be an assignment
	stmt  []token // its tokens while keep
}

func newScanner(src string) *scanner {
	s := &scanner{lexer: newLexer(src), names: map[string]assignment{}}
	s.lines = lineStarts(src)
	return s
}

// lineStarts returns the offsets of lines, which end with "\n", "\r\n" or "\r" as
// in Python.
func lineStarts(src string) []int {
	starts := make([]int, 1, 2+strings.Count(src, "\n"))
	for i := 0; i < len(src); i++ {
		if src[i] == '\n' ||
			src[i] == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (s *scanner) pos(off int) diag.Position {
	n := sort.SearchInts(s.lines, off+1)
	return diag.Position{Line: n, Column: off - s.lines[n-1] + 1}
}

func (s *scanner) run() {
	for {
		t, err := s.next()
		switch {
		case err != nil:
			if !s.recover(err) {
				return
			}
		case t.kind == eof:
			s.endStatement()
			return
		case t.kind == newline:
			s.endStatement()
			s.begun = false
		case t.kind == operator && len(s.stack) == 0 && s.src[t.pos] == ';':
			s.endStatement()
		default:
			s.add(t)
		}
	}
}

// add adds one token to the current logical line, unless it can no longer be an
// assignment.
func (s *scanner) add(t token) {
	if !s.begun {
		s.begun = true
		s.start = t.pos
		s.top = t.col0 && !(t.kind == name && opensBlock(s.text(t)))
		s.keep = s.top
	}
	if !s.keep {
		return
	}
	switch len(s.stmt) {
	case 0:
		s.keep = t.kind == name && !isKeyword(s.text(t))
	case 1:
		s.keep = t.kind == operator &&
			(s.text(t) == "=" || s.text(t) == ":")
	}
	s.stmt = append(s.stmt, t)
}

func (s *scanner) endStatement() {
	if s.begun && s.keep && len(s.stmt) >= 3 {
		s.assign(s.stmt)
	}
	s.stmt = s.stmt[:0]
	s.keep = s.top
}

// assign parses NAME {= NAME} = value and NAME: T = value.
func (s *scanner) assign(stmt []token) {
	targets := []string{s.text(stmt[0])}
	rest := stmt[2:]
	if s.text(stmt[1]) == ":" {
		rest = s.afterAnnotation(rest)
	} else {
		for len(rest) > 2 && rest[0].kind == name && s.text(rest[1]) == "=" {
			targets = append(targets, s.text(rest[0]))
			rest = rest[2:]
		}
	}
	if len(rest) == 0 {
		return
	}
	for _, n := range targets {
		if utf8.ValidString(n) && !s.sure[n] {
			s.names[n] = s.read(n, rest)
		}
	}
}

// afterAnnotation returns the tokens after the first "=" outside brackets.
func (s *scanner) afterAnnotation(ts []token) []token {
	depth := 0
	for i, t := range ts {
		if t.kind != operator {
			continue
		}
		switch s.text(t) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "=":
			if depth == 0 {
				return ts[i+1:]
			}
		}
	}
	return nil
}

// read parses the tokens of a value.
func (s *scanner) read(n string, ts []token) assignment {
	r := reader{s: s, t: ts, positions: map[string]diag.Position{}}
	v, ok := r.list(path("", n))
	if ok && r.i < len(r.t) {
		ok = r.fail(r.t[r.i], whyExpression)
	}
	if !ok {
		return assignment{why: r.why, off: r.off}
	}
	return assignment{value: v, positions: r.positions}
}

// recover continues at the next name in column 0 after the first line of the
// damaged statement. The number of recoveries is bounded, because each may read
// to the end of the file; after that every line is parsed on its own.
func (s *scanner) recover(err *lexError) bool {
	if !s.damaged {
		s.markDamaged(err)
	}
	from := err.off
	if s.begun {
		from = s.start
	}
	next := s.nextTop(from)
	s.reset(next)
	if next == len(s.src) {
		return false
	}
	if s.resyncs++; s.resyncs > maxResyncs {
		s.scanLines(next)
		return false
	}
	return true
}

func (s *scanner) markDamaged(err *lexError) {
	s.damaged = true
	s.sure = map[string]bool{}
	for n := range s.names {
		s.sure[n] = true
	}
	p := s.pos(err.off)
	f := diag.Warnf(diag.ParsingError, p.Line, p.Column, "%s: values after this position are guesses", err.msg)
	s.findings = append(s.findings, f.WithReason("python_syntax"))
}

func (s *scanner) reset(at int) {
	s.seek(at)
	s.begun = false
	s.keep = false
	s.stmt = s.stmt[:0]
}

// nextTop returns the start of the next line that begins with a name.
func (s *scanner) nextTop(off int) int {
	for n := sort.SearchInts(s.lines, off+1); n < len(s.lines); n++ {
		at := s.lines[n]
		if at < len(s.src) && isNameStart(s.src[at]) {
			return at
		}
	}
	return len(s.src)
}

// scanLines parses every remaining line as a file of its own.
func (s *scanner) scanLines(from int) {
	whole := s.src
	for from < len(whole) {
		next := s.nextTop(from)
		s.src = whole[:next]
		s.reset(from)
		s.oneLine()
		s.src = whole
		from = next
	}
}

func (s *scanner) oneLine() {
	for {
		t, err := s.next()
		if err != nil {
			return
		}
		if t.kind == eof || t.kind == newline {
			s.endStatement()
			return
		}
		s.add(t)
	}
}

// checkCoding refuses a declared encoding other than UTF-8: Python would decode
// the file to another text than the one that is displayed and signed.
func (s *scanner) checkCoding() {
	rest := s.src
	for n := 1; n <= 2; n++ {
		line, tail, _ := strings.Cut(rest, "\n")
		trimmed := strings.TrimLeft(line, " \t\f\ufeff")
		if enc, col := codingOf(trimmed); enc != "" {
			if !isUTF8Name(enc) {
				s.findings = append(s.findings, diag.Errorf(diag.Encoding, n, len(line)-len(trimmed)+col,
					"the file declares the encoding %q, text must be UTF-8", enc))
			}
			return
		}
		if trimmed != "" && trimmed[0] != '#' && strings.TrimSpace(trimmed) != "" {
			return
		}
		rest = tail
	}
}

// codingOf finds "coding: NAME" or "coding=NAME" in a comment line.
func codingOf(line string) (enc string, col int) {
	if !strings.HasPrefix(line, "#") {
		return "", 0
	}
	for i := 0; ; {
		j := strings.Index(line[i:], "coding")
		if j < 0 {
			return "", 0
		}
		i += j + len("coding")
		if i >= len(line) || line[i] != ':' && line[i] != '=' {
			continue
		}
		from := i + 1
		for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
			from++
		}
		end := from
		for end < len(line) && (isNameStart(line[end]) || isDigit(line[end]) || line[end] == '-' || line[end] == '.') {
			end++
		}
		if end > from {
			return line[from:end], from + 1
		}
	}
}

func isUTF8Name(enc string) bool {
	switch strings.ReplaceAll(strings.ToLower(enc), "_", "-") {
	case "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii":
		return true
	}
	return strings.HasPrefix(strings.ToLower(enc), "utf-8-")
}

func opensBlock(word string) bool {
	switch word {
	case "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "class", "def", "async":
		return true
	}
	return false
}

func isKeyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "await", "break", "continue", "del", "from", "global",
		"import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "yield":
		return true
	}
	return opensBlock(word)
}
