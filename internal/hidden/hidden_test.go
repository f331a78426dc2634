package hidden

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func brief(fs []diag.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%s %d:%d %s", f.Severity, f.Line, f.Column, f.Message))
	}
	return strings.Join(out, "; ")
}

// TestScan holds the list of design section 4.7 character by character.
func TestScan(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ascii", "plain text\n\twith tab\n", ""},
		{"crlf", "a\r\nb\r\n", ""},
		{"lone CR", "a\rb", "error 1:2 a carriage return without a line feed U+000D"},
		{"CR at end", "a\r", "error 1:2 a carriage return without a line feed U+000D"},
		{"CR CR LF", "a\r\r\n", "error 1:2 a carriage return without a line feed U+000D"},
		{"NUL", "ab\n\x00", "error 2:1 control characters U+0000"},
		{"ESC", "ab\x1b[31m", "error 1:3 control characters U+001B"},
		{"DEL in second word", "0123456789\x7f", "error 1:11 control characters U+007F"},
		{"NEL", "a\u0085b", "error 1:2 control characters U+0085"},
		{"C1", "a\u009bb", "error 1:2 control characters U+009B"},
		{"VT FF run", "\v\f", "error 1:1 control characters U+000B U+000C"},
		{"LS", "\u2028", "error 1:1 unicode line separators U+2028"},
		{"PS", "x\u2029", "error 1:2 unicode line separators U+2029"},
		{"bidi override", "a\u202eb\u2066c", "error 1:2 bidirectional controls U+202E; error 1:6 bidirectional controls U+2066"},
		{"bidi marks", "\u200e\u200f\u061c", "error 1:1 bidirectional controls U+200E U+200F U+061C"},
		{"tags", "hi\U000E0069\U000E0067\U000E006E\U000E006F\U000E0072\U000E0065",
			`error 1:3 tag characters U+E0069 U+E0067 U+E006E U+E006F … (6 in a row) spelling "ignore"`},
		{"tag begin", "\U000E0001", "error 1:1 tag characters U+E0001"},
		{"supplementary selector", "a\U000E0101", "error 1:2 variation selectors U+E0101"},
		{"selector run", "\u2764\ufe0f\ufe0f", "error 1:4 variation selectors U+FE0F U+FE0F"},
		{"selector on a letter", "a\ufe00", "warning 1:2 variation selectors U+FE00"},
		{"emoji selector", "\u2764\ufe0f ok 1\ufe0f\u20e3", ""},
		{"text selector", "\u2764\ufe0e", ""},
		{"mongolian selector", "\u1820\u180b", ""},
		{"mongolian selector on latin", "a\u180b", "warning 1:2 variation selectors U+180B"},
		{"nonchar", "\ufdd0\uffff\U0001FFFE", "error 1:1 noncharacters U+FDD0 U+FFFF U+1FFFE"},
		{"invalid", "ab\n\xff\xfe", "error 2:1 invalid UTF-8 bytes 0xFF 0xFE"},
		{"surrogate", "\xed\xa0\x80", "error 1:1 invalid UTF-8 bytes 0xED 0xA0 0x80"},
		{"overlong", "\xc0\xaf", "error 1:1 invalid UTF-8 bytes 0xC0 0xAF"},
		{"truncated", "é\xc3", "error 1:3 invalid UTF-8 bytes 0xC3"},
		{"real replacement character", "\ufffd", ""},
		{"annotation", "\ufff9\ufffb", "error 1:1 interlinear annotations U+FFF9 U+FFFB"},
		{"deprecated format", "\u206a\u206f", "error 1:1 deprecated format characters U+206A U+206F"},
		{"zero width", "pass\u200bword", "error 1:5 zero-width characters U+200B"},
		{"word joiner", "\u2060\u2064", "warning 1:1 zero-width characters U+2060 U+2064"},
		{"bom at start", "\ufeffa", ""},
		{"bom inside", "a\ufeff", "warning 1:2 zero-width characters U+FEFF"},
		{"soft hyphen", "co\u00adop", "warning 1:3 invisible characters U+00AD"},
		{"grapheme joiner", "a\u034f", "warning 1:2 invisible characters U+034F"},
		{"mongolian vowel separator", "\u180e", "warning 1:1 invisible characters U+180E"},
		{"hangul fillers", "\u115f\u1160", "warning 1:1 blank letters U+115F U+1160"},
		{"three hangul fillers", "\u115f\u1160\u3164\uffa0", "error 1:1 blank letters U+115F U+1160 U+3164 U+FFA0"},
		{"braille blank", "\u2800", "warning 1:1 blank letters U+2800"},
		{"private use", "\ue000\U000F0000\U00100000", "warning 1:1 private-use characters U+E000 U+F0000 U+100000"},
		{"family emoji", "\U0001F468\u200d\U0001F469\u200d\U0001F467", ""},
		{"coloured profession", "\U0001F469\U0001F3FD\u200d\U0001F4BB", ""},
		{"heart on fire", "\u2764\ufe0f\u200d\U0001F525", ""},
		{"joiner after emoji only", "\U0001F468\u200dx", "warning 1:5 zero-width characters U+200D"},
		{"joiner between digits", "1\u200d2", "error 1:2 zero-width characters U+200D"},
		{"two joiners", "\U0001F468\u200d\u200d\U0001F469", "warning 1:5 zero-width characters U+200D U+200D"},
		{"persian", "می\u200cخواهم", ""},
		{"devanagari", "क्\u200dष", ""},
		{"malayalam at word end", "ന്\u200d ", ""},
		{"joiner between latin", "a\u200cb", "error 1:2 zero-width characters U+200C"},
		{"second line", "é\nx\u200by\n", "error 2:2 zero-width characters U+200B"},
		{"classes apart", "\u200b\u202e", "warning 1:1 zero-width characters U+200B; error 1:4 bidirectional controls U+202E"},
		{"chinese", "简体中文,没有隐藏\n", ""},
		{"arabic", "مرحبا", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(Scan([]byte(c.in))); got != c.want {
				t.Errorf("Scan(%q)\n got %s\nwant %s", c.in, got, c.want)
			}
			for _, f := range Scan([]byte(c.in)) {
				if f.Code != diag.HiddenChars {
					t.Errorf("code %s", f.Code)
				}
			}
		})
	}
}

// TestScanEveryCriticalRune places each refused code point alone between
// letters: each is found at every offset of the eight-byte stride.
func TestScanEveryCriticalRune(t *testing.T) {
	ranges := [][2]rune{{0, 8}, {0xB, 0x1F}, {0x7F, 0x9F}, {0x61C, 0x61C}, {0x200E, 0x200F}, {0x2028, 0x202E},
		{0x2066, 0x206F}, {0xFDD0, 0xFDEF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F}, {0xE0100, 0xE01EF}, {0x10FFFE, 0x10FFFF}}
	for _, lohi := range ranges {
		for r := lohi[0]; r <= lohi[1]; r++ {
			for pad := range 9 {
				in := strings.Repeat("a", pad) + string(r) + "bcdefghijk"
				fs := Scan([]byte(in))
				if len(fs) != 1 || fs[0].Severity != diag.SeverityError || fs[0].Column != pad+1 {
					t.Fatalf("U+%04X after %d letters: %s", r, pad, brief(fs))
				}
			}
		}
	}
}

func TestScanCapsFindings(t *testing.T) {
	fs := Scan([]byte(strings.Repeat("a\u200b", MaxFindings) + strings.Repeat("a\u202e", 7)))
	if len(fs) != MaxFindings+1 {
		t.Fatalf("%d findings", len(fs))
	}
	last := fs[MaxFindings]
	if last.Severity != diag.SeverityError || last.Message != "7 more runs of hidden characters follow" {
		t.Errorf("last: %s", brief(fs[MaxFindings:]))
	}
}

func TestEncoding(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "añb\n", ""},
		{"utf-8 bom", "\xef\xbb\xbfa", "error 1:1 the text begins with a UTF-8 byte order mark"},
		{"V24 utf-16le", "\xff\xfea\x00", "error 1:1 the text begins with a UTF-16 byte order mark"},
		{"V24 utf-16be", "\xfe\xff\x00a", "error 1:1 the text begins with a UTF-16 byte order mark"},
		{"utf-32", "\xff\xfe\x00\x00a\x00\x00\x00", "error 1:1 the text begins with a UTF-32 byte order mark"},
		{"utf-16 without mark", "a\x00:\x00", "error 1:2 the text holds a NUL"},
		{"both", "a\n\x00\xff", "error 2:1 the text holds a NUL; error 2:2 the text is not UTF-8: byte 0xFF"},
		{"truncated", "ab\xe2\x82", "error 1:3 the text is not UTF-8: byte 0xE2"},
	} {
		if got := brief(Encoding([]byte(c.in))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"leo", "leo"},
		{"Zoë \U0001F468\u200d\U0001F469", "Zoë \U0001F468\u200d\U0001F469"},
		{"\x1b[31mred", `\u{1b}[31mred`}, // V66
		{"\x1b]8;;http://x\x1b\\l", `\u{1b}]8;;http://x\u{1b}\l`},
		{"a\r\nb\tc", `a\u{d}\u{a}b\u{9}c`},
		{"a\u202eb", `a\u{202e}b`},
		{"\ufeffa\ufeff", `\u{feff}a\u{feff}`},
		{"\u009b31m\xff", `\u{9b}31m\x{ff}`},
		{"x\u200by", `x\u{200b}y`},
		{"\U000E0041", `\u{e0041}`},
	} {
		if got := Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestMixedScript(t *testing.T) {
	for word, want := range map[string]bool{
		"paypal": false, "pаypal": true, "раура": false, "αβγ": false, "sαy": true, "tооl": true, "naïve": false,
		"日本": false, "x1": false, "": false, "5µm": false, "Δt": false, "σx": false, "xσ2Δоt": true,
	} {
		if MixedScript(word) != want {
			t.Errorf("MixedScript(%q) = %v", word, !want)
		}
	}
	if got, want := brief(MixedWords([]byte("ok\nfoo isAdmіn(x)\n日本 and Жx"))),
		`warning 2:5 the word "isAdmіn" mixes letters of different alphabets; warning 3:12 the word "Жx" mixes letters of different alphabets`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "plain\n", "\x1b[0m", "a\u202eb", "\u2764\ufe0f\u200d\U0001F525", "\xff\xfe", "01234567\r\n", "\ufeffx", "\U000E0041\U000E0101"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		for i := 0; i <= len(b); i++ {
			want := i
			for want < len(b) && (b[want] == '\n' || b[want] == '\t' || b[want] >= 0x20 && b[want] < 0x7f) {
				want++
			}
			if got := plain(b, i); got != want {
				t.Fatalf("plain(%q, %d) = %d, want %d", s, i, got, want)
			}
			if i > 20 {
				break
			}
		}
		for _, f := range Scan(b) {
			if f.Line < 1 || f.Column < 1 {
				t.Fatalf("place of %v", f)
			}
		}
		v := Visible(s)
		if fs := Scan([]byte(v)); len(fs) > 0 || strings.ContainsAny(v, "\n\t\r\x1b") {
			t.Fatalf("Visible(%q) = %q still hides: %s", s, v, brief(fs))
		}
	})
}

func BenchmarkScanASCII(b *testing.B) {
	text := []byte(strings.Repeat("def hello(name):\n\treturn 'hello, ' + name  # greet\n", 20000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Scan(text) != nil {
			b.Fatal("finding")
		}
	}
}

func BenchmarkScanChinese(b *testing.B) {
	text := []byte(strings.Repeat("简体中文没有隐藏的字符\n", 20000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Scan(text) != nil {
			b.Fatal("finding")
		}
	}
}
