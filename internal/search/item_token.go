package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/cuttext"
)

// maxToken is the length of the longest token in bytes. Longer words are cut, in
// items and in queries alike.
const maxToken = 128

// token is one word of a field and its position.
type token struct {
	text string
	pos  uint32
}

// gap is the distance between the values of one field: a phrase or "…"~N must not
// match across values.
const gap = 1000

// fold returns the form in which texts and queries are compared.
func fold(s string) string {
	return strings.ToLower(s)
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// words calls emit for each run of letters and digits of a folded text.
func words(s string, emit func(word string)) {
	start := -1
	for i := 0; i < len(s); {
		size := 1
		in := false
		if c := s[i]; c < utf8.RuneSelf {
			in = 'a' <= c && c <= 'z' ||
				'0' <= c && c <= '9' ||
				'A' <= c && c <= 'Z'
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			in = wordRune(r)
		}
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			emit(clip(s[start:i]))
			start = -1
		}
		i += size
	}
	if start >= 0 {
		emit(clip(s[start:]))
	}
}

// wordsOf returns the words of a text.
func wordsOf(s string) (out []string) {
	words(fold(s), func(w string) {
		out = append(out, w)
	})
	return out
}

// clip cuts a word to maxToken bytes, between characters.
func clip(s string) string {
	return cuttext.Start(s, maxToken)
}

// tokens are the tokens of one field.
type tokens struct {
	list []token
	next uint32
}

// text adds a value of the field.
func (t *tokens) text(s string) {
	before := len(t.list)
	words(fold(s), func(w string) {
		t.list = append(t.list, token{w, t.next})
		t.next++
	})
	if len(t.list) > before {
		t.next += gap
	}
}

// whole adds a name as one token, unless it is one word that was just added.
func (t *tokens) whole(s string) {
	s = clip(fold(s))
	n := len(t.list)
	if s == "" || n > 0 && t.list[n-1].text == s {
		return
	}
	t.list = append(t.list, token{s, t.next})
	t.next += gap
}
