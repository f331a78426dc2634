package policy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxFields bounds the words that one word expands to.
const maxFields = 1000

// fields returns the words that a word becomes: braces are expanded, and the value of a
// constant variable without quotes is divided at spaces.
func (w *shellWalk) fields(word *syntax.Word) []shellWord {
	copied := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	if !syntax.SplitBraces(copied) {
		return w.split(word.Parts)
	}
	left := maxFields
	var out []shellWord
	for _, parts := range w.braces(copied.Parts, &left) {
		out = append(out, w.split(parts)...)
	}
	return out
}

// braces returns the alternatives of a word with brace expressions.
func (w *shellWalk) braces(parts []syntax.WordPart, left *int) [][]syntax.WordPart {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		var choices [][]syntax.WordPart
		switch b, ok := part.(*syntax.BraceExp); {
		case !ok:
			choices = [][]syntax.WordPart{{part}}
		case b.Sequence:
			for _, text := range sequence(b) {
				choices = append(choices, []syntax.WordPart{&syntax.Lit{Value: text}})
			}
		default:
			for _, elem := range b.Elems {
				choices = append(choices, w.braces(elem.Parts, left)...)
			}
		}
		var next [][]syntax.WordPart
		for _, start := range out {
			for _, choice := range choices {
				if *left--; *left < 0 {
					w.doubt(unparsed, w.src)
					return out
				}
				next = append(next, append(start[:len(start):len(start)], choice...))
			}
		}
		out = next
	}
	return out
}

// split returns the words of one word without braces.
func (w *shellWalk) split(parts []syntax.WordPart) []shellWord {
	if value, ok := w.constant(parts); ok {
		var out []shellWord
		for _, field := range strings.Fields(value) {
			out = append(out, shellWord{text: field, dynamic: true, marked: field})
		}
		return out
	}
	return []shellWord{w.word(parts)}
}

// word returns a word without expanding braces.
func (w *shellWalk) word(parts []syntax.WordPart) shellWord {
	text, dyn := w.static(parts, false)
	word := shellWord{text: text, dynamic: dyn, marked: text}
	if marked, _ := w.render(parts, false, true); marked != text {
		word.marked = marked
	}
	return word
}

// constant returns the value of a word that is one variable without quotes.
func (w *shellWalk) constant(parts []syntax.WordPart) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	if !ok {
		return "", false
	}
	return w.value(p)
}

// isPlain reports whether an expansion is the value of a variable and nothing else.
func isPlain(p *syntax.ParamExp) bool {
	return p.Param != nil &&
		!p.Excl &&
		!p.Length &&
		!p.Width &&
		p.Index == nil &&
		p.Slice == nil &&
		p.Repl == nil &&
		p.Exp == nil &&
		p.Names == 0
}

// value returns the value of a variable that the text sets to a constant.
func (w *shellWalk) value(p *syntax.ParamExp) (string, bool) {
	if !isPlain(p) {
		return "", false
	}
	v, ok := w.values[p.Param.Value]
	return v, ok
}

// static returns the text of a word without the parts that the shell computes.
func (w *shellWalk) static(parts []syntax.WordPart, quoted bool) (text string, dynamic bool) {
	return w.render(parts, quoted, false)
}

// render is static, on request with a mark for each part that the shell computes.
func (w *shellWalk) render(parts []syntax.WordPart, quoted, marks bool) (text string, dynamic bool) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := unescape(p.Value, quoted)
			if marks && !quoted {
				text = markGlobs(p.Value)
			}
			b.WriteString(text)
			continue
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteString(ansiC(p.Value))
			} else {
				b.WriteString(p.Value)
			}
			continue
		case *syntax.DblQuoted:
			inner, dyn := w.render(p.Parts, true, marks)
			b.WriteString(inner)
			dynamic = dynamic || dyn
			continue
		case *syntax.ParamExp:
			if v, ok := w.value(p); ok {
				b.WriteString(v)
				dynamic = true
				continue
			}
		}
		dynamic = true
		if marks {
			b.WriteByte(w.mark(part, quoted))
		}
	}
	return b.String(), dynamic
}

// markGlobs is unescape with a mark for each part that file names replace.
func markGlobs(s string) string {
	if !strings.ContainsAny(s, "*?[") {
		return unescape(s, false)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case s[i] == '*' || s[i] == '?':
			b.WriteByte(markGlob)
		case s[i] == '[' && strings.IndexByte(s[i+1:], ']') > 0:
			i += 1 + strings.IndexByte(s[i+1:], ']')
			b.WriteByte(markGlob)
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// unescape removes backslashes as the shell does. Between double quotes one before an
// ordinary character stays.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' ||
			i+1 == len(s) ||
			quoted && !strings.ContainsRune("$`\"\\\n", rune(s[i+1])) {
			b.WriteByte(s[i])
			continue
		}
		if i++; s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// ansiC decodes the escapes of $'…'.
func ansiC(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if n := strings.IndexByte("abefnrtvE", s[i]); n >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b"[n])
			continue
		}
		base := 0
		digits := i + 1
		size := 0
		switch s[i] {
		case 'x':
			base = 16
			size = 2
		case 'u':
			base = 16
			size = 4
		case 'U':
			base = 16
			size = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base = 8
			digits = i
			size = 3
		case 'c':
			i++
			continue
		}
		end := digits
		for end < len(s) && end < digits+size && isDigitOf(s[end], base) {
			end++
		}
		n, err := strconv.ParseUint(s[digits:end], base, 32)
		switch {
		case base == 0 || err != nil:
			b.WriteByte(s[i])
			continue
		case s[i] == 'u' || s[i] == 'U':
			b.WriteString(string(rune(n)))
		default:
			b.WriteByte(byte(n))
		}
		i = end - 1
	}
	text, _, _ := strings.Cut(b.String(), "\x00") // the shell ends the word there
	return text
}

func isDigitOf(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '7':
		return base > 0
	case c == '8' || c == '9' || c|0x20 >= 'a' && c|0x20 <= 'f':
		return base == 16
	}
	return false
}

// plain reports whether the name of a program has ASCII characters only.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf || s[i] < ' ' {
			return false
		}
	}
	return true
}
