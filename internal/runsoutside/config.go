package runsoutside

import (
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/internal/openat"
)

// value is one setting of git. The key is lower case but for the middle part.
type value struct {
	key, text string
	file      string // that contains it, "" for a variable of the environment
}

const (
	maxConfig  = 4 << 20 // of one file in bytes
	maxDepth   = 10      // of includes, as in git
	maxConfigs = 200     // files that one configuration includes
)

// reader reads configurations of git. It follows every include, also a conditional one: its
// condition can be true for a branch, directory or remote other than the present ones.
// git alone answers for the present branch and directory, and costs 3 ms of each run.
type reader struct {
	home string
	read map[string]bool
	// files are all files that were read or that do not exist yet.
	files  []string
	values []value
}

func newReader(home string) *reader {
	return &reader{home: home, read: map[string]bool{}}
}

// file adds the values of a file and of those that it includes.
func (r *reader) file(path string, depth int) {
	if r.read[path] || depth > maxDepth || len(r.files) >= maxConfigs {
		return
	}
	r.read[path] = true
	r.files = append(r.files, path)
	b, err := openat.ReadRegular(path, maxConfig)
	if err != nil {
		return
	}
	for _, v := range parseConfig(string(b)) {
		v.file = path
		r.values = append(r.values, v)
		if isInclude(v.key) {
			to, ok := v.path(filepath.Dir(path), r.home)
			if ok {
				r.file(to, depth+1)
			}
		}
	}
}

func isInclude(key string) bool {
	section, name := split(key)
	return name == "path" && (section == "include" || section == "includeif")
}

// split returns the first and the last part of a key.
func split(key string) (section, name string) {
	section, rest, _ := strings.Cut(key, ".")
	return section, rest[strings.LastIndexByte(rest, '.')+1:]
}

// path returns the absolute path that a value names. base is the directory of relative ones.
func (v value) path(base, home string) (string, bool) {
	p := filepath.FromSlash(v.text)
	switch {
	case p == "":
		return "", false
	case v.text == "~" || strings.HasPrefix(v.text, "~/"):
		if home == "" {
			return "", false
		}
		p = filepath.Join(home, p[1:])
	case p[0] == '~' || strings.HasPrefix(p, "%("):
		return "", false // of another user, or of the installation
	case !filepath.IsAbs(p):
		p = filepath.Join(base, p)
	}
	return filepath.Clean(p), true
}

// parseConfig returns the values of a text in the syntax of git. Where git refuses the text,
// it returns the values before: git then runs nothing.
func parseConfig(text string) (out []value) {
	p := &parser{text: strings.TrimPrefix(text, "\ufeff")}
	section := ""
	for {
		c, ok := p.skipBlank()
		switch {
		case !ok:
			return out
		case c == '#' || c == ';':
			p.line()
		case c == '[':
			p.at++
			if section, ok = p.section(); !ok {
				return out
			}
		case isLetter(c):
			v, ok := p.value(section)
			if !ok {
				return out
			}
			out = append(out, v)
		default:
			return out
		}
	}
}

type parser struct {
	text string
	at   int
}

// next returns the next character. A carriage return before a line feed is left out.
func (p *parser) next() (byte, bool) {
	if p.at >= len(p.text) {
		return 0, false
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' &&
		p.at < len(p.text) &&
		p.text[p.at] == '\n' {
		p.at++
		return '\n', true
	}
	return c, true
}

func (p *parser) skipBlank() (byte, bool) {
	for p.at < len(p.text) {
		if c := p.text[p.at]; !isSpace(c) {
			return c, true
		}
		p.at++
	}
	return 0, false
}

func (p *parser) line() {
	for {
		if c, ok := p.next(); !ok || c == '\n' {
			return
		}
	}
}

// section reads the rest of [section], [section "sub"] or [section.sub].
func (p *parser) section() (string, bool) {
	var name strings.Builder
	for {
		c, ok := p.next()
		switch {
		case !ok || c == '\n':
			return "", false
		case c == ']':
			return name.String(), true
		case c == ' ' || c == '\t':
			for c == ' ' || c == '\t' {
				if c, ok = p.next(); !ok {
					return "", false
				}
			}
			if c != '"' {
				return "", false
			}
			name.WriteByte('.')
			for {
				c, ok := p.next()
				if ok && c == '\\' {
					c, ok = p.next()
				} else if c == '"' {
					break
				}
				if !ok || c == '\n' {
					return "", false
				}
				name.WriteByte(c)
			}
			c, ok = p.next()
			return name.String(), ok && c == ']'
		case isLetter(c) || isDigit(c) || c == '-' || c == '.':
			name.WriteByte(lower(c))
		default:
			return "", false
		}
	}
}

// value reads NAME = VALUE. A name without a value is true.
func (p *parser) value(section string) (value, bool) {
	start := p.at
	for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at]) || p.text[p.at] == '-') {
		p.at++
	}
	v := value{key: section + "." + strings.ToLower(p.text[start:p.at])}
	c, ok := p.next()
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.next()
	}
	if !ok || c == '\n' {
		v.text = "true"
		return v, section != ""
	}
	if c != '=' || section == "" {
		return v, false
	}
	var out strings.Builder
	quoted := false
	comment := false
	kept := 0
	for {
		c, ok := p.next()
		if !ok || c == '\n' {
			v.text = out.String()[:kept]
			return v, !quoted
		}
		switch {
		case comment:
			continue
		case isSpace(c) && !quoted:
			if out.Len() > 0 {
				out.WriteByte(c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		case c == '\\':
			kept = out.Len() // a continued line keeps the blanks before
			c, ok = p.next()
			switch {
			case !ok:
				return v, false
			case c == '\n':
				continue
			case c == 't':
				c = '\t'
			case c == 'b':
				c = '\b'
			case c == 'n':
				c = '\n'
			case c != '\\' && c != '"':
				return v, false
			}
			out.WriteByte(c)
		case c == '"':
			quoted = !quoted
		default:
			out.WriteByte(c)
		}
		kept = out.Len()
	}
}

func isLetter(c byte) bool {
	return lower(c) >= 'a' && lower(c) <= 'z'
}
func isDigit(c byte) bool {
	return c >= '0' && c <= '9'
}
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
