package hidden

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// encode writes one bit for each word by the choice of what follows it.
func encode(words, zero, one string) string {
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimSuffix(words, " "), " ") {
		b.WriteString(word)
		b.WriteString([]string{zero, one}[r.IntN(2)])
	}
	return b.String() + "end"
}

const prose = "every single word here precedes either some thing that reviewers cannot distinguish from another thing while programs " +
	"read hidden bits where they read nothing more than ordinary prose which continues over several further lines with longer words " +
	"until enough gaps exist between neighbouring words that every threshold below which natural language stays must have been exceeded"

// TestChannels: a text that encodes one bit for each character is reported.
func TestChannels(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"forms of an emoji in a row", encode(strings.Repeat("❤ ", 40), "\ufe0f", ""), "error"},
		{"two forms of an emoji", encode(strings.Repeat("❤ ", 40), "\ufe0f", "\ufe0e"), "error"},
		{"forms of an emoji in prose", encode(prose, " ❤\ufe0f ", " ❤ "), "warning"},
		{"selectors on digits", encode(strings.Repeat("1 ", 40), "\ufe0f", ""), "error"},
		{"selectors on words", encode(prose, "\ufe01 ", " "), "error"},
		{"selectors on other letters", encode(strings.Repeat("да ", 40), "\ufe02 ", " "), "error"},
		{"widths of spaces", encode(prose, "\u2002", " "), "warning"},
		{"two widths of spaces", encode(prose, "\u2004", "\u2005"), "warning"},
		{"widths after punctuation", encode(strings.ReplaceAll(prose, " ", ", "), "\u2004", "\u2005"), "warning"},
		{"no-break spaces", encode(prose, "\u00a0", " "), "warning"},
		{"two no-break spaces", encode(prose, "\u00a0", "\u202f"), "warning"},
		{"ideographic spaces", encode(prose, "\u3000", " "), "warning"},
		{"spaces in a row", "a" + encode(strings.Repeat("\u2009 ", 20), "\u2009", "\u200a"), "error"},
		{"spaces in turn in a row", "a" + strings.Repeat(" \u2003", 12), "error"},
		{"marks on one character", "a" + encode(strings.Repeat("\u0301 ", 20), "\u0300", "\u0302"), "error"},
		{"seven marks", "a\u0301\u0300\u0301\u0300\u0301\u0300\u0301", "warning"},
		{"marks on spaces", encode(prose, " \u0320", " "), "warning"},
		{"marks on digits", encode(strings.Repeat("7 ", 40), "\u0320", ""), "warning"},
	} {
		if got := worst(Scan([]byte(c.in))); got != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.name, got, c.want, brief(Scan([]byte(c.in))))
		}
	}
}

// TestNaturalText: texts in many scripts, repeated, give no finding.
func TestNaturalText(t *testing.T) {
	for name, text := range map[string]string{
		"French":     "Où\u202f? «\u00a0Là-bas\u00a0»\u202f! Il a dit\u00a0: «\u202f10\u202f000\u00a0km\u202f»\u202f; M.\u00a0Dupont paie 3,50\u00a0€ et n°\u202f7.",
		"German":     "z.\u202fB. 10\u2009000\u00a0€, d.\u00a0h. §\u00a05 Abs.\u00a02, 20\u2009°C, S.\u200925 und Dr.\u00a0Müller – 1\u2009:\u20092.",
		"Vietnamese": "Tiếng Việt, được viết bằng chữ Quốc ngữ. Tiê\u0301ng Viê\u0323t, đươ\u0323c viê\u0301t.",
		"Hebrew":     "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ׃",
		"Arabic":     "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ ۝ ٱلْحَمْدُ لِلَّهِ رَبِّ ٱلْعَٰلَمِينَ",
		"Mongolian":  "ᠮᠣᠩᠭᠣᠯ\u180b ᠪᠢᠴᠢᠭ ᠬᠡᠯᠡ\u180c ᠮᠣᠩᠭᠣᠯ ᠤᠯᠤᠰ\u180b",
		"Hindi":      "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता",
		"Thai":       "ปีที่แล้วผู้เฒ่าซื้อน้ำ กี่ครั้ง",
		"Tibetan":    "བོད་སྐད་ཀྱི་བརྒྱད་པ། ཧཱུྃ ཀྵྨྲྱྃ",
		"Japanese":   "「はい」　私は　学生です。　東京　大阪　ガク\u3099",
		"Chinese":    "标题　　内容　　作者　日期。第一章　开始",
		"Korean":     "모든 인간은 태어날 때부터 자유로우며　그 존엄과",
		"emoji":      "done ✔\ufe0f, open ✖\ufe0f, warn ⚠\ufe0f and ⚠, love ❤\ufe0f, keys 1\ufe0f\u20e3 2\ufe0f\u20e3 #\ufe0f\u20e3, ☂\ufe0e, 👍🏽, 🏳\ufe0f\u200d🌈.",
		"IPA":        "[ˈt̪ʰã̝ːn̪d͡ʒə̆] ḗ ṩ ǭ̀ ü̃́ q̃̇",
		"math":       "a ∩ b, x ≠ y, x̂ = ȳ, =\u0338, A\u0304, ∫f\u2009dx, 2\u2009π\u2009r, f\u2009(x)",
		"Latin":      "Zoë naïve façade Ångström Łódź Dvořák",
		"Polish":     "W\u00a0Szczebrzeszynie i\u00a0w\u00a0Polsce, z\u00a0domu. O\u00a0nas.",
	} {
		long := strings.Repeat(text+"\n", 20)
		if name == "emoji" {
			long = strings.Repeat(text+"\n", 3) // one sign in two forms, again and again, is reported
		}
		for name, one := range map[string]string{name: text, name + " in lines": long} {
			if got := Scan([]byte(one)); len(got) > 0 {
				t.Errorf("%s: %s", name, brief(got))
			}
		}
	}
}
