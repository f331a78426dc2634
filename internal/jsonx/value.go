package jsonx

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/tree"
)

// value parses one value; the current byte is its first.
func (p *parser) value(path string, depth int) any {
	if p.i >= len(p.b) {
		return p.stop(p.i, "the text ends before a value")
	}
	if p.stopped {
		return nil
	}
	switch c := p.b[p.i]; {
	case c == '{' || c == '[':
		if depth > p.maxDepth() {
			return p.stop(p.i, "nested more than %d deep", p.maxDepth())
		}
		if c == '{' {
			return p.object(path, depth)
		}
		return p.array(path, depth)
	case c == '"':
		return p.text()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.literal()
}

func (p *parser) literal() any {
	for _, l := range []struct {
		word  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		end := p.i + len(l.word)
		if end <= len(p.b) &&
			string(p.b[p.i:end]) == l.word {
			p.i = end
			return l.value
		}
	}
	return p.stop(p.i, "a value is required, found %s", p.here())
}

func (p *parser) object(path string, depth int) any {
	out := map[string]any{}
	lines := map[string]int{}
	p.i++
	for {
		p.space()
		if len(lines) == 0 && p.take('}') {
			return out
		}
		if p.member(out, lines, path, depth); p.stopped {
			return nil
		}
		if p.space(); p.take('}') {
			return out
		}
		if !p.take(',') {
			return p.stop(p.i, "\",\" or \"}\" is required, found %s", p.here())
		}
	}
}

// member parses one key and its value into out; lines has the line of the first
// occurrence of each key.
func (p *parser) member(
	out map[string]any,
	lines map[string]int,
	path string,
	depth int,
) {
	off := p.i
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		p.stop(p.i, "a key in double quotes is required, found %s", p.here())
		return
	}
	key := p.text()
	if p.space(); !p.stopped && !p.take(':') {
		p.stop(p.i, "\":\" is required, found %s", p.here())
	}
	if p.stopped {
		return
	}
	line, twice := lines[key]
	if twice {
		p.fail(off, "duplicate key %q, first given in line %d", key, line)
	} else {
		lines[key] = p.at(off).Line
	}
	sub := p.below(path, key, off, twice)
	p.space()
	if v := p.value(sub, depth+1); !twice {
		out[key] = v
	}
}

// below returns the path of a member and records its position, if positions are
// kept.
func (p *parser) below(path, key string, off int, twice bool) string {
	if p.pos == nil {
		return ""
	}
	if len(path)+len(key) > MaxPath {
		p.stop(off, "the keys down to here have more than %d bytes", MaxPath)
		return ""
	}
	sub := tree.Join(path, key)
	if !twice {
		p.mark(sub, off)
	}
	return sub
}

func (p *parser) array(path string, depth int) any {
	out := []any{}
	p.i++
	for {
		p.space()
		if len(out) == 0 && p.take(']') {
			return out
		}
		sub := ""
		if p.pos != nil {
			sub = tree.Index(path, len(out))
			p.mark(sub, p.i)
		}
		v := p.value(sub, depth+1)
		if p.stopped {
			return nil
		}
		out = append(out, v)
		if p.space(); p.take(']') {
			return out
		}
		if !p.take(',') {
			return p.stop(p.i, "\",\" or \"]\" is required, found %s", p.here())
		}
	}
}

func (p *parser) take(c byte) bool {
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

// number parses an integer that fits 64 bits or a finite float; in a message any
// number.
func (p *parser) number() any {
	off := p.i
	p.take('-')
	if !p.take('0') && !p.digits() {
		return p.stop(p.i, "a digit is required, found %s", p.here())
	}
	if p.i < len(p.b) &&
		p.b[p.i] >= '0' &&
		p.b[p.i] <= '9' {
		return p.stop(off, "a number may not begin with 0")
	}
	float := false
	if p.take('.') {
		if float = true; !p.digits() {
			return p.stop(p.i, "a digit is required after \".\", found %s", p.here())
		}
	}
	if p.take('e') || p.take('E') {
		float = true
		if !p.take('+') {
			p.take('-')
		}
		if !p.digits() {
			return p.stop(p.i, "a digit is required in the exponent, found %s", p.here())
		}
	}
	return p.convert(off, float)
}

func (p *parser) digits() bool {
	from := p.i
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' {
		p.i++
	}
	return p.i > from
}

func (p *parser) convert(off int, float bool) any {
	text := string(p.b[off:p.i])
	if p.message {
		return Number(text)
	}
	if !float {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			p.fail(off, "the integer %.40s does not fit 64 bits", text)
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail(off, "the number %.40s is too large", text)
	}
	return f
}

// Number returns a number of JSON as int64, as float64 if that has the same value,
// or unchanged as json.Number.
func Number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		return json.Number(text)
	}
	if significant(text) != significant(strconv.FormatFloat(f, 'e', -1, 64)) {
		return json.Number(text)
	}
	return f
}

// significant returns the digits of a number without its sign, point, exponent and
// outer zeros. A float and the text that it was parsed from have the same value
// exactly if these digits are equal.
func significant(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text = text[:i]
	}
	return strings.Trim(strings.Replace(strings.TrimPrefix(text, "-"), ".", "", 1), "0")
}
