package jsonx

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text parses a string; the current byte is its opening quote. The bytes are
// known to be UTF-8.
func (p *parser) text() string {
	off := p.i
	p.i++
	for from := p.i; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return string(p.b[from : p.i-1])
		case c == '\\':
			return p.escaped(off, append(
				[]byte(nil),
				p.b[from:p.i]...,
			))
		case c < 0x20:
			p.stop(p.i, "control character 0x%02X in a string: write it as \\u%04x", c, c)
			return ""
		}
	}
	p.stop(off, "the string has no end")
	return ""
}

// escaped parses the rest of a string from its first backslash on.
func (p *parser) escaped(off int, out []byte) string {
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return string(out)
		case c < 0x20:
			p.stop(p.i, "control character 0x%02X in a string: write it as \\u%04x", c, c)
			return ""
		case c != '\\':
			out = append(out, c)
			p.i++
		default:
			if out = p.escape(out); p.stopped {
				return ""
			}
		}
	}
	p.stop(off, "the string has no end")
	return ""
}

func (p *parser) escape(out []byte) []byte {
	if p.i+1 >= len(p.b) {
		p.stop(p.i, "the string has no end")
		return nil
	}
	i := strings.IndexByte(`"\/bfnrt`, p.b[p.i+1])
	if i >= 0 {
		p.i += 2
		return append(out, "\"\\/\b\f\n\r\t"[i])
	}
	if p.b[p.i+1] == 'u' {
		return p.unicode(out)
	}
	p.i++
	p.stop(p.i-1, "unknown escape \\ before %s", p.here())
	return nil
}

func (p *parser) unicode(out []byte) []byte {
	off := p.i
	r, ok := p.hex4(p.i)
	if !ok {
		p.stop(off, "\\u needs four hexadecimal digits")
		return nil
	}
	p.i += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r)
	}
	low, ok := p.hex4(p.i)
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		p.fail(off, "\\u%04x is half of a surrogate pair", r)
		return out
	}
	p.i += 6
	return utf8.AppendRune(out, pair)
}

// hex4 parses \uXXXX at offset i.
func (p *parser) hex4(i int) (rune, bool) {
	if i+6 > len(p.b) ||
		p.b[i] != '\\' ||
		p.b[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.b[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
