package fs

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Limits of one glob pattern.
const (
	maxPattern      = 1024 // bytes
	maxSegments     = 60
	maxAlternatives = 64
)

// pattern is a compiled glob. "*" and "?" stay in one segment, "**" crosses
// segments, "[a-z]", "[!a]" and "{a,b}" are known, "\" takes the next
// character as it is. A name that begins with "." is a name like any other.
type pattern struct{ alts [][]string }

// states is where each alternative of a pattern stands: bit i of entry n says
// that segment i of alternative n comes next.
type states []uint64

// compilePattern reads a glob; key names the parameter in findings.
func compilePattern(a wire.Args, key, glob string) pattern {
	var p pattern
	if len(glob) > maxPattern {
		a.Invalid(key, "has more than %d bytes", maxPattern)
		return p
	}
	alts, ok := expandBraces(glob, maxAlternatives)
	if !ok {
		a.Invalid(key, "%q has more than %d alternatives", glob, maxAlternatives)
		return p
	}
	for _, alt := range alts {
		p.alts = append(p.alts, segments(a, key, alt))
	}
	return p
}

func segments(a wire.Args, key, glob string) []string {
	var segs []string
	if strings.HasPrefix(glob, "/") {
		a.Invalid(key, "%q must be relative; path says where to begin", glob)
	}
	for s := range strings.SplitSeq(glob, "/") {
		s = strings.ReplaceAll(s, "[!", "[^")
		switch {
		case s == "" || s == ".":
			continue
		case s == "..":
			a.Add(diag.Errorf(diag.PathEscape, 0, 0, "%s %q must not hold \"..\"", key, glob))
		case !validSegment(s):
			a.Invalid(key, "%q is no pattern: mend %q", glob, s)
		}
		if s == "**" && len(segs) > 0 && segs[len(segs)-1] == "**" {
			continue
		}
		segs = append(segs, s)
	}
	if n := len(segs); n > 0 && segs[n-1] == "**" {
		segs = append(segs, "*") // "a/**" is what lies below a, not a itself
	}
	if len(segs) > maxSegments {
		a.Invalid(key, "has more than %d segments", maxSegments)
		return nil
	}
	return segs
}

func validSegment(s string) bool {
	_, err := path.Match(s, "")
	return err == nil
}

// expandBraces rewrites "a{b,c}" as "ab", "ac"; braces may nest. A brace that
// is not closed is an ordinary character.
func expandBraces(glob string, most int) ([]string, bool) {
	open, closing, commas := outerBraces(glob)
	if closing < 0 {
		return []string{glob}, true
	}
	var out []string
	from := open + 1
	for _, comma := range append(commas, closing) {
		more, ok := expandBraces(glob[:open]+glob[from:comma]+glob[closing+1:], most)
		if out = append(out, more...); !ok || len(out) > most {
			return nil, false
		}
		from = comma + 1
	}
	return out, true
}

// outerBraces finds the first balanced pair of braces and its own commas;
// closing is -1 when there is none.
func outerBraces(s string) (open, closing int, commas []int) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				open, commas = i, nil
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

// start returns the states before the first name.
func (p pattern) start() states {
	s := make(states, len(p.alts))
	for n, segs := range p.alts {
		s[n] = closure(segs, 1)
	}
	return s
}

// closure lets every "**" match nothing.
func closure(segs []string, set uint64) uint64 {
	for i, seg := range segs {
		if set&(1<<i) != 0 && seg == "**" {
			set |= 1 << (i + 1)
		}
	}
	return set
}

// step consumes one name.
func (p pattern) step(s states, name string) states {
	next := make(states, len(s))
	for n, segs := range p.alts {
		for i, seg := range segs {
			if s[n]&(1<<i) == 0 {
				continue
			}
			if seg == "**" {
				next[n] |= 1 << i
			} else if ok, _ := path.Match(seg, name); ok { // a bad segment was refused before
				next[n] |= 1 << (i + 1)
			}
		}
		next[n] = closure(segs, next[n])
	}
	return next
}

// accepts reports whether the names consumed are a match.
func (p pattern) accepts(s states) bool {
	for n, segs := range p.alts {
		if s[n]&(1<<len(segs)) != 0 {
			return true
		}
	}
	return false
}

// alive reports whether a name further down can still match.
func (p pattern) alive(s states) bool {
	for n, segs := range p.alts {
		if s[n]&(1<<len(segs)-1) != 0 {
			return true
		}
	}
	return false
}

// names reports whether the next segment is exactly name: then a folder that
// is usually passed over was asked for.
func (p pattern) names(s states, name string) bool {
	for n, segs := range p.alts {
		for i, seg := range segs {
			if s[n]&(1<<i) != 0 && seg == name {
				return true
			}
		}
	}
	return false
}

// match matches a whole slash path; a pattern of one segment also matches the
// last name alone.
func (p pattern) match(rel string) bool {
	s := p.start()
	for name := range strings.SplitSeq(rel, "/") {
		s = p.step(s, name)
	}
	if p.accepts(s) {
		return true
	}
	for _, segs := range p.alts {
		if len(segs) == 1 {
			if ok, _ := path.Match(segs[0], path.Base(rel)); ok {
				return true
			}
		}
	}
	return false
}
