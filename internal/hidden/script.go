package hidden

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// MixedScript reports whether a word mixes Latin letters with Cyrillic, Greek,
// Armenian, Cherokee or mathematical ones, as look-alike names do.
func MixedScript(word string) bool {
	var latin, other bool
	for _, r := range word {
		switch {
		case r < 0x80:
			latin = latin || r|0x20 >= 'a' && r|0x20 <= 'z'
		case unicode.Is(unicode.Latin, r):
			latin = true
		case plainlyGreek(r):
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee),
			r >= 0x1D400 && r <= 0x1D7FF:
			other = true
		}
	}
	return latin && other
}

// plainlyGreek reports whether a letter does not look like a Latin one, as in the
// names Δt and σx.
func plainlyGreek(r rune) bool {
	return r > 0x7f && strings.ContainsRune("ΓΔΘΛΞΠΣΦΨΩδεζθλμξπσςφψ", r)
}

// MixedWords reports each word of b that mixes scripts, as HIDDEN_CHARS
// warnings; at most MaxFindings of them.
func MixedWords(b []byte) []diag.Finding {
	var out []diag.Finding
	if plain(b, 0) == len(b) {
		return nil
	}
	line := 1
	lineStart := 0
	start := -1
	ascii := true
	end := func(i int) {
		if start >= 0 &&
			!ascii &&
			len(out) < MaxFindings &&
			MixedScript(string(b[start:i])) {
			out = append(out, diag.Warnf(diag.HiddenChars, line, start-lineStart+1,
				"the word %q mixes letters of different alphabets", b[start:i]))
		}
		start = -1
		ascii = true
	}
	for i := 0; i < len(b); {
		r := rune(b[i])
		n := 1
		if r >= 0x80 {
			r, n = utf8.DecodeRune(b[i:])
		}
		if wordRune(r) {
			if start < 0 {
				start = i
			}
			ascii = ascii && r < 0x80
		} else {
			end(i)
		}
		if i += n; r == '\n' {
			line = line + 1
			lineStart = i
		}
	}
	end(len(b))
	return out
}

func wordRune(r rune) bool {
	if r < 0x80 {
		return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}
