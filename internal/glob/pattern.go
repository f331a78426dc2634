package glob

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Limits of one Pattern.
const (
	maxSegments     = 60 // a state is one bit of a uint64
	maxAlternatives = 64
)

// Pattern is a compiled pattern for walks over directories: the walk steps from
// name to name and leaves out the directories below which nothing can match.
// In addition to the syntax of the package it has alternatives, "{a,b}", and
// "\" takes the next character literally. A name that begins with "." is a name
// like any other. The zero value matches nothing.
type Pattern struct{ alternatives [][]string }

// States is the progress of a match: bit i of entry n is set if segment i of
// alternative n can come next.
type States []uint64

// Compile compiles a pattern. If it returns problems, the pattern must not be
// used.
func Compile(pattern string) (Pattern, []diag.Finding) {
	invalid := func(format string, args ...any) []diag.Finding {
		return []diag.Finding{diag.Errorf(diag.ValidationFailed, 0, 0, format, args...)}
	}
	if len(pattern) > MaxPattern {
		return Pattern{}, invalid("has more than %d bytes", MaxPattern)
	}
	expanded, ok := expandBraces(pattern)
	if !ok {
		return Pattern{}, invalid("%q has more than %d alternatives", pattern, maxAlternatives)
	}
	var p Pattern
	for _, alternative := range expanded {
		if strings.HasPrefix(alternative, "/") {
			return Pattern{}, invalid("%q must be relative", pattern)
		}
		var segs []string
		for s := range strings.SplitSeq(alternative, "/") {
			s = strings.ReplaceAll(s, "[!", "[^") // path.Match knows "[^" only
			if s == "" || s == "." {
				continue
			}
			if s == ".." {
				return Pattern{}, []diag.Finding{diag.Errorf(diag.PathEscape, 0, 0, `%q must not contain ".."`, pattern)}
			}
			if _, err := path.Match(s, ""); err != nil {
				return Pattern{}, invalid("%q has the invalid segment %q", pattern, s)
			}
			if s == "**" && len(segs) > 0 && segs[len(segs)-1] == "**" {
				continue
			}
			segs = append(segs, s)
		}
		n := len(segs)
		if n > 0 && segs[n-1] == "**" {
			segs = append(segs, "*") // "a/**" is everything below a, not a itself
		}
		if len(segs) > maxSegments {
			return Pattern{}, invalid("has more than %d segments", maxSegments)
		}
		p.alternatives = append(p.alternatives, segs)
	}
	return p, nil
}

// expandBraces rewrites "a{b,c}" as "ab", "ac". Braces may nest. A brace that is
// not closed is an ordinary character. ok is false if there are too many
// alternatives.
func expandBraces(pattern string) (out []string, ok bool) {
	open, closing, commas := outerBraces(pattern)
	if closing < 0 {
		return []string{pattern}, true
	}
	from := open + 1
	for _, comma := range append(commas, closing) {
		more, ok := expandBraces(pattern[:open] + pattern[from:comma] + pattern[closing+1:])
		if out = append(out, more...); !ok || len(out) > maxAlternatives {
			return nil, false
		}
		from = comma + 1
	}
	return out, true
}

// outerBraces returns the first balanced pair of braces and its own commas;
// closing is -1 if there is none.
func outerBraces(s string) (open, closing int, commas []int) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				open = i
				commas = nil
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 1 {
				return open, i, commas
			}
			depth = max(0, depth-1)
		}
	}
	return 0, -1, nil
}

// Start returns the states before the first name.
func (p Pattern) Start() States {
	s := make(States, len(p.alternatives))
	for n, segs := range p.alternatives {
		s[n] = skipStars(segs, 1)
	}
	return s
}

// skipStars adds the states after each "**", which may match no segment.
func skipStars(segs []string, set uint64) uint64 {
	for i, seg := range segs {
		if set&(1<<i) != 0 && seg == "**" {
			set |= 1 << (i + 1)
		}
	}
	return set
}

// Step returns the states after one more name.
func (p Pattern) Step(s States, name string) States {
	next := make(States, len(s))
	for n, segs := range p.alternatives {
		for i, seg := range segs {
			if s[n]&(1<<i) == 0 {
				continue
			}
			if seg == "**" {
				next[n] |= 1 << i
			} else if ok, _ := path.Match(seg, name); ok { // Compile refused invalid segments
				next[n] |= 1 << (i + 1)
			}
		}
		next[n] = skipStars(segs, next[n])
	}
	return next
}

// Accepts reports whether the names so far are a match.
func (p Pattern) Accepts(s States) bool {
	for n, segs := range p.alternatives {
		if s[n]&(1<<len(segs)) != 0 {
			return true
		}
	}
	return false
}

// Alive reports whether a match can follow below the names so far.
func (p Pattern) Alive(s States) bool {
	for n, segs := range p.alternatives {
		if s[n]&(1<<len(segs)-1) != 0 {
			return true
		}
	}
	return false
}

// Names reports whether name is literally a segment that can come next.
func (p Pattern) Names(s States, name string) bool {
	for n, segs := range p.alternatives {
		for i, seg := range segs {
			if s[n]&(1<<i) != 0 && seg == name {
				return true
			}
		}
	}
	return false
}

// Match matches a whole slash-separated path. A pattern of one segment also
// matches the last name of a path.
func (p Pattern) Match(name string) bool {
	s := p.Start()
	for seg := range strings.SplitSeq(name, "/") {
		s = p.Step(s, seg)
	}
	if p.Accepts(s) {
		return true
	}
	for _, segs := range p.alternatives {
		if len(segs) == 1 {
			ok, _ := path.Match(segs[0], path.Base(name))
			if ok {
				return true
			}
		}
	}
	return false
}
