package hidden

import (
	"strings"
	"unicode"
)

// class is a sort of hidden character; 0 is an ordinary character.
type class uint8

const (
	classNone class = iota
	classInvalid
	classTag
	classBidi
	classSelector
	classControl
	classReturn
	classSeparator
	classNonchar
	classAnnotation
	classFormat
	classZeroWidth
	classInvisible
	classBlank
	classPrivate
)

func (c class) name() string {
	switch c {
	case classInvalid:
		return "invalid UTF-8 bytes"
	case classTag:
		return "tag characters"
	case classBidi:
		return "bidirectional controls"
	case classSelector:
		return "variation selectors"
	case classControl:
		return "control characters"
	case classReturn:
		return "a carriage return without a line feed"
	case classSeparator:
		return "unicode line separators"
	case classNonchar:
		return "noncharacters"
	case classAnnotation:
		return "interlinear annotations"
	case classFormat:
		return "deprecated format characters"
	case classZeroWidth:
		return "zero-width characters"
	case classInvisible:
		return "invisible characters"
	case classBlank:
		return "blank letters"
	case classPrivate:
		return "private-use characters"
	}
	return "characters"
}

// reason returns the reason of a finding.
func (c class) reason() string {
	switch c {
	case classInvalid:
		return "invalid_utf8"
	case classReturn:
		return "carriage_return"
	}
	return "invisible"
}

// critical reports whether the class is an error. A selector is an error only in
// a run, which selector decides.
func (c class) critical() bool {
	return c >= classInvalid && c <= classFormat && c != classSelector
}

// invisible reports whether characters of the class leave no trace on a screen.
func (c class) invisible() bool {
	return c == classZeroWidth || c == classInvisible || c == classBlank || c == classSelector
}

// braillePad is the braille pattern without dots.
const braillePad = 0x2800

// classOf returns the class of a single rune. Adjacent runes (CRLF, joiners,
// selectors) are considered by walk.
func classOf(r rune) class {
	switch {
	case r < 0x20 && r != '\n' && r != '\t', r >= 0x7f && r <= 0x9f:
		return classControl
	case r < 0xAD:
		return classNone
	case r < 0x2000:
		return classLow(r)
	case r < 0x2070:
		return classPunct(r)
	case r < 0x10000:
		return classBMP(r)
	}
	return classHigh(r)
}

func classLow(r rune) class {
	switch r {
	case 0xAD, 0x34F, 0x17B4, 0x17B5, 0x180E:
		return classInvisible
	case 0x61C:
		return classBidi
	case 0x115F, 0x1160:
		return classBlank
	case 0x180B, 0x180C, 0x180D, 0x180F:
		return classSelector
	}
	return classNone
}

func classPunct(r rune) class {
	switch {
	case r == 0x200E,
		r == 0x200F,
		r >= 0x202A && r <= 0x202E,
		r >= 0x2066 && r <= 0x2069:
		return classBidi
	case r >= 0x200B && r <= 0x200D, r >= 0x2060 && r <= 0x2064:
		return classZeroWidth
	case r == 0x2028, r == 0x2029:
		return classSeparator
	case r >= 0x206A && r <= 0x206F:
		return classFormat
	case r == 0x2065:
		return classInvisible
	}
	return classNone
}

func classBMP(r rune) class {
	switch {
	case r == braillePad, r == 0x3164, r == 0xFFA0:
		return classBlank
	case r >= 0xE000 && r <= 0xF8FF:
		return classPrivate
	case r >= 0xFDD0 && r <= 0xFDEF, r >= 0xFFFE:
		return classNonchar
	case r >= 0xFE00 && r <= 0xFE0F:
		return classSelector
	case r == 0xFEFF:
		return classZeroWidth
	case r >= 0xFFF9 && r <= 0xFFFB:
		return classAnnotation
	case r >= 0xFFF0 && r <= 0xFFF8:
		return classInvisible
	}
	return classNone
}

func classHigh(r rune) class {
	switch {
	case r&0xFFFE == 0xFFFE:
		return classNonchar
	case r >= 0xE0000 && r <= 0xE007F:
		return classTag
	case r >= 0xE0100 && r <= 0xE01EF:
		return classSelector
	case r >= 0xE0080 && r <= 0xE0FFF, r >= 0x1D173 && r <= 0x1D17A, r >= 0x1BCA0 && r <= 0x1BCA3,
		r >= 0x13430 && r <= 0x1343F, r == 0x1D159, r == 0x16FE4:
		return classInvisible
	case r >= 0xF0000:
		return classPrivate
	}
	return classNone
}

// supplement reports whether r is a selector of the supplementary block, which can
// encode whole bytes and is an error even alone.
func supplement(r rune) bool {
	return r >= 0xE0100 && r <= 0xE01EF
}

// emoji reports whether r may begin an emoji. The standard library has no emoji
// table; these blocks contain all of them, and other visible symbols.
func emoji(r rune) bool {
	switch {
	case r < 0xA9:
		return r == '#' || r == '*' || r >= '0' && r <= '9'
	case r == 0xA9, r == 0xAE, r == 0x203C, r == 0x2049, r == 0x2122, r == 0x2139, r == 0x24C2,
		r == 0x3030, r == 0x303D, r == 0x3297, r == 0x3299:
		return true
	}
	return r >= 0x2190 && r <= 0x23FF || r >= 0x25A0 && r <= 0x27BF || r >= 0x2900 && r <= 0x297F ||
		r >= 0x2B00 && r <= 0x2BFF || r >= 0x1F000 && r <= 0x1FAFF
}

// skinTone reports whether r changes the colour of the emoji before it.
func skinTone(r rune) bool {
	return r >= 0x1F3FB && r <= 0x1F3FF
}

// joining reports whether r belongs to a script that uses joiners.
func joining(r rune) bool {
	if r < 0x600 {
		return false
	}
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian, unicode.Tibetan)
}

// virama reports whether r is the sign that ends an Indic syllable without its
// vowel: a joiner after it shapes the syllable even at the end of a word.
func virama(r rune) bool {
	switch r {
	case 0x94D, 0x9CD, 0xA4D, 0xACD, 0xB4D, 0xBCD, 0xC4D, 0xCCD, 0xD4D, 0xDCA:
		return true
	}
	return false
}

// unspaced reports whether r belongs to a script that writes words without spaces
// between them and marks with a zero-width space where a line may break.
// The zero-width space of Khmer and Thai, which no language accepts in a name, is a warning in
// tools.
func unspaced(r rune) bool {
	return r >= 0xE00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
		unicode.Javanese, unicode.Balinese, unicode.Tai_Tham, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// flags returns the tag characters that follow U+1F3F4 in the flags of England,
// Scotland and Wales, the only ones that fonts contain.
func flags() []string {
	var out []string
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		var b strings.Builder
		for _, c := range region {
			b.WriteRune(0xE0000 + c)
		}
		b.WriteRune(0xE007F)
		out = append(out, b.String())
	}
	return out
}
