package hidden

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// worst returns "" for a text without findings, else the highest severity.
func worst(fs []diag.Finding) string {
	switch {
	case diag.Failed(fs):
		return "error"
	case len(fs) > 0:
		return "warning"
	}
	return ""
}

// TestInvisible checks invisible characters by what is around them, in a text and
// in a program.
func TestInvisible(t *testing.T) {
	for _, c := range []struct{ name, in, text, code string }{
		{"between letters", "is\u200bAdmin", "error", "error"},
		{"between digits", "1\u20602", "error", "error"},
		{"two between letters", "a\u200b\u200cb", "error", "error"},
		{"grapheme joiner between letters", "a\u034fb", "error", "error"},
		{"selector between letters", "a\ufe00b", "error", "error"},
		{"after a word", "isAdmin\u200d(", "warning", "error"},
		{"before a word", "(\ufeffisAdmin", "warning", "error"},
		{"after an underscore", "a_\u200c = 1", "warning", "error"},
		{"selector after a word", "isAdmin\ufe00(", "warning", "error"},
		{"emoji selector after a digit", "x1\ufe0f = 1", "", "error"},
		{"keycap", "1\ufe0f\u20e3", "", ""},
		{"between other letters", "да\u200bда", "warning", "error"},
		{"between spaces", "a \u200b b", "warning", "warning"},
		{"two between spaces", "a \u200b\u200b b", "warning", "warning"},
		{"three between spaces", "a \u200b\u200b\u200b b", "error", "error"},
		{"three of three classes", " \u200b\u00ad\u034f ", "error", "error"},
		{"three of three classes with a blank", " \u3164\u200b\u180e ", "error", "error"},
		{"many", strings.Repeat("\u200b\u200c", 2000), "error", "error"},
		{"soft hyphen", "co\u00adoperate", "warning", "error"},
		{"blank letter as a name", "\u3164 = 1", "warning", "error"},
		{"halfwidth filler", "\uffa0", "warning", "error"},
		{"braille padding", "⠃⠗⠇\u2800\u2800\u2800\u2800⠃", "warning", "error"},
		{"braille padding mixed", "\u2800\u2800\u3164\u2800", "error", "error"},
		{"khmer break", "ភាសា\u200bខ្មែរ", "warning", "warning"},
		{"chinese break", "中\u2060文", "warning", "warning"},
		{"flag with another tag text", "\U0001F3F4\U000E0069\U000E0067\U000E007F", "error", "error"},
		{"flag without end", "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067", "error", "error"},
		{"tags after a flag", "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F\U000E0041", "error", "error"},
	} {
		if got := worst(Scan([]byte(c.in))); got != c.text {
			t.Errorf("%s: Scan(%q) %q, want %q", c.name, c.in, got, c.text)
		}
		if got := worst(ScanCode([]byte(c.in))); got != c.code {
			t.Errorf("%s: ScanCode(%q) %q, want %q", c.name, c.in, got, c.code)
		}
	}
}

// words are words and symbols that need characters without a width of their own.
var words = []string{
	"می\u200cخواهم", "نمی\u200cدانم", "خانه\u200cها", // Persian
	"क्\u200dष", "हिन्दी", "र्\u200dय", "শ্\u200cব", "ക്\u200d ", // Indic
	"ภาษาไทย", "ราชอาณาจักร", "한국어", "한국어", "ᄒᆞᆫ글", "日本語", "简体中文", "עברית", "العربية", "ᠮᠣᠩᠭᠣᠯ\u180b",
	"\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466", "\U0001F469\U0001F3FD\u200d\U0001F4BB", "\u2764\ufe0f\u200d\U0001F525",
	"\U0001F3F3\ufe0f\u200d\U0001F308", "\U0001F9D1\u200d\u2696\ufe0f", "\U0001F1E9\U0001F1EA", "\u2602\ufe0e", "5\ufe0f\u20e3",
	"\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F", "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"plain", "Zoë", "x1", "—", "…",
}

// TestRealScripts: texts of these words are accepted without a finding, and no
// insertion of hidden words into them is.
func TestRealScripts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{" ", "\n", ", ", ".\r\n"}[r.IntN(4)])
		}
		text := b.String()
		for name, scan := range map[string]func([]byte) []diag.Finding{"Scan": Scan, "ScanCode": ScanCode} {
			if fs := scan([]byte(text)); len(fs) > 0 {
				t.Fatalf("%s(%q): %s", name, text, brief(fs))
			}
		}
		runes := []rune(text)
		at := r.IntN(len(runes) + 1)
		var word strings.Builder
		for range 4 + r.IntN(60) { // bits of a hidden word
			word.WriteRune([]rune{0x200B, 0x200C, 0x2060, 0xFEFF, 0xAD, 0x3164}[r.IntN(6)])
		}
		mixed := string(runes[:at]) + word.String() + string(runes[at:])
		if !diag.Failed(Scan([]byte(mixed))) {
			t.Fatalf("Scan(%q) does not refuse a hidden word", mixed)
		}
	}
}

// trojan is a program of each language with a name and a string to fill in: the
// attacks of the Trojan Source paper by description.
var trojan = map[string]string{
	"c":    "#include <stdio.h>\nvoid @NAME@(void) {}\nint main(void) { /* @TEXT@ */ printf(\"@STRING@\"); @CALL@(); }\n",
	"cpp":  "#include <iostream>\nvoid @NAME@() {}\nint main() { /* @TEXT@ */ std::cout << \"@STRING@\"; @CALL@(); }\n",
	"cs":   "class A { static void @NAME@() {}\n static void Main() { /* @TEXT@ */ System.Console.Write(\"@STRING@\"); @CALL@(); } }\n",
	"go":   "package main\nfunc @NAME@() {}\nfunc main() { /* @TEXT@ */ println(\"@STRING@\"); @CALL@() }\n",
	"java": "class A { static void @NAME@() {}\n public static void main(String[] a) { /* @TEXT@ */ System.out.print(\"@STRING@\"); @CALL@(); } }\n",
	"js":   "function @NAME@() {}\n/* @TEXT@ */\nconsole.log('@STRING@'); @CALL@();\n",
	"py":   "def @NAME@():\n    '''@TEXT@'''\nprint('@STRING@')\n@CALL@()\n",
	"rs":   "fn @NAME@() {}\nfn main() { /* @TEXT@ */ println!(\"@STRING@\"); @CALL@(); }\n",
	"sh":   "@NAME@() { :; }\n# @TEXT@\necho \"@STRING@\"\n@CALL@\n",
	"sol":  "contract A { function @NAME@() public {}\n /* @TEXT@ */ string s = \"@STRING@\"; function f() public { @CALL@(); } }\n",
	"ts":   "function @NAME@(): void {}\n/* @TEXT@ */\nconsole.log('@STRING@'); @CALL@();\n",
}

func TestTrojanSource(t *testing.T) {
	const text, name = "check the role", "isAdmin"
	for ext, program := range trojan {
		for _, c := range []struct{ attack, name, text, str, want string }{
			{"none", name, text, "user", ""},
			{"commenting out", name, "\u202e } \u2066if (isAdmin)\u2069 \u2066 begin admins only ", "user", "error"},
			{"early return", name, "\u2067 ''' ;return", "user", "error"},
			{"stretched string", name, text, "user\u202e \u2066// Check if admin\u2069 \u2066", "error"},
			{"invisible function", "is\u200bAdmin", text, "user", "error"},
			{"invisible function at the end", "isAdmin\u200c", text, "user", "error"},
			{"invisible variable", "\u3164", text, "user", "error"},
			{"homoglyph function", "is\u0410dmin", text, "user", "warning"},
		} {
			src := strings.NewReplacer("@NAME@", c.name, "@CALL@", name, "@TEXT@", c.text, "@STRING@", c.str).Replace(program)
			fs := Blobs(Blob{Path: "lib/x." + ext, Bytes: []byte(src)}, func(string) bool { return true })
			if got := worst(fs); got != c.want {
				t.Errorf("%s in .%s: %q, want %q (%s)", c.attack, ext, got, c.want, brief(fs))
			}
		}
	}
}
