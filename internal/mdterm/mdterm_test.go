package mdterm_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/ryeos/rye/internal/mdterm"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// text has every kind of block.
const text = "# The lock is *stale*\n" +
	"The test `TestStale` fails because **the digest** of `a file` is read before the file is written; see <https://example.org/a/long/path/of/a/page>.\n" +
	"\n" +
	"1. Read [the page](https://example.org/x \"its title\") and ![a picture](p.png)\n" +
	"2. Write the file, then read its digest again, which needs more than one line at this width\n" +
	"   - a nested item\n" +
	"   - another, with \\*stars\\* and &lt;b&gt;\n" +
	"\n" +
	"   A paragraph of the second item.\n" +
	"3. Done\n" +
	"\n" +
	"> A quotation that is long enough to have more than one line here, with a bar.\n" +
	"\n" +
	"```diff\n" +
	"-\told := true\n" +
	"+\tnew := true\n" +
	" same\n" +
	"```\n" +
	"| Name | Lines | What it is |\n" +
	"|---|--:|---|\n" +
	"| a.go | 12 | the first file, which has a long description |\n" +
	"| b.go | 1200 | `code` \\| and more |\n" +
	"\n" +
	"Heading\n" +
	"---\n" +
	"世界世界世界世界世界世界世界世界世界世界世界世界世界世界 é x\n" +
	"[ref]: https://example.org/ref\n" +
	"\n" +
	"    indented := code\n" +
	"\n" +
	"***\n" +
	"<div>raw <b>text</b></div>\n" +
	"In 2020. a year\n" +
	"2021. is not a list"

// lines joins lines, with their escape sequences as text.
func lines(l []string) string {
	return strings.ReplaceAll(strings.Join(l, "\n"), "\x1b[", "^[") + "\n"
}

// TestGolden draws a text of every kind of block.
func TestGolden(t *testing.T) {
	for name, style := range map[string]mdterm.Style{
		"40": {Width: 39, Marks: true}, "80": {Width: 79, Marks: true, Color: true}, "source": {},
	} {
		testkit.Golden(t, filepath.Join("testdata", name+".golden"), lines(mdterm.Lines(text, style)))
	}
}

// TestPieces: a text that arrives in pieces, of which the unfinished block is drawn after each,
// has the lines of the whole text, and each once.
func TestPieces(t *testing.T) {
	style := mdterm.Style{Width: 39, Marks: true, Color: true}
	want := lines(mdterm.Lines(text, style))
	for _, size := range []int{1, 2, 7, 50} {
		s := mdterm.New(style)
		var got []string
		for at := 0; at < len(text); at += size {
			got = append(got, s.Add(text[at:min(at+size, len(text))])...)
			for _, l := range s.Live() {
				if strings.Contains(ansi.Strip(l), "\x1b") {
					t.Fatalf("%q", l)
				}
			}
		}
		if got := lines(append(got, s.End()...)); got != want {
			t.Errorf("in pieces of %d bytes:\n%s\nwant\n%s", size, got, want)
		}
		if !s.Empty() {
			t.Error("the stream is not empty at its end")
		}
	}
}

// TestNothingIsLost: each word of a text is drawn, and no line is wider than the screen but for
// words that are.
func TestNothingIsLost(t *testing.T) {
	word := regexp.MustCompile(`[\p{L}\p{N}]+`)
	for _, width := range []int{20, 39, 79, 199} {
		out := ansi.Strip(strings.Join(mdterm.Lines(text, mdterm.Style{Width: width, Marks: true, Color: true}), "\n"))
		flat := strings.Join(strings.Fields(out), "")
		for _, w := range word.FindAllString(text, -1) {
			if w != "lt" && w != "gt" && !strings.Contains(flat, w) {
				t.Errorf("%d columns: %q is lost in\n%s", width, w, out)
			}
		}
		for l := range strings.Lines(out) {
			if n := ansi.StringWidth(strings.TrimSuffix(l, "\n")); n > width && strings.Contains(strings.TrimSpace(l), " ") {
				t.Errorf("%d columns: %d in %q", width, n, l)
			}
		}
	}
}

// TestAttacks: a text has no effect on the terminal, in whatever part of Markdown it is.
func TestAttacks(t *testing.T) {
	own := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, evil := range []string{
		"\x1b]52;c;ZXZpbA==\x07", "\x1b]0;title\x07", "\x1b[?1049h", "\x1b[6n", "\x1b[2J", "\u009b31m", "\u202e", "\r", "\x07", "\b\b", "\x00", "\xff",
		"&#27;[31m", "&#x1b;]0;x", "&#x9b;2J", "&#x202e;", "&#13;", "&#7;", "&Tab;&NewLine;",
	} {
		for _, form := range []string{"%", "# %", "- %", "> %", "`%`", "**%**", "[%](%)", "[x](<%> \"%\")", "![%](%)", "<https://e.test/%>", "```%\n%\n```", "    %",
			"| % | b |\n|---|---|\n| % | `%` |", "<b>%</b>", "<div>\n%\n</div>", "%\n===", "> ```%\n> %\n> ```", "1. %\n   %", "~~~\n%\n", "a\\\n%"} {
			source := strings.ReplaceAll(form, "%", evil)
			for _, style := range []mdterm.Style{{}, {Width: 20}, {Width: 20, Marks: true, Color: true}} {
				s := mdterm.New(style)
				out := append(s.Add(source), s.Live()...)
				for _, l := range append(out, s.End()...) {
					rest := own.ReplaceAllString(l, "")
					for _, r := range rest {
						if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0xfffd {
							t.Fatalf("%q in %q draws %q", evil, form, l)
						}
					}
					if !style.Marks && rest != l {
						t.Fatalf("%q in %q draws %q without styles", evil, form, l)
					}
				}
			}
		}
	}
}

// TestLongTable: of a long table the first rows are held, and the others are lines of it.
func TestLongTable(t *testing.T) {
	s := mdterm.New(mdterm.Style{Width: 39, Marks: true})
	s.Add("| a | b |\n|---|---|\n")
	var out []string
	for range 120 {
		out = append(out, s.Add("| one | two |\n")...)
	}
	if len(out) != 102 {
		t.Errorf("%d lines while it arrives", len(out))
	}
	out = append(out, s.End()...)
	if len(out) != 122 || strings.Count(strings.Join(out, "\n"), "one  two") != 120 {
		t.Errorf("%d lines:\n%s", len(out), lines(out))
	}
}

// TestLongLine: what Live draws of a text without end is bounded.
func TestLongLine(t *testing.T) {
	s := mdterm.New(mdterm.Style{Width: 39, Marks: true})
	s.Add(strings.Repeat("word ", 1<<18))
	if n := len(s.Live()); n > 1000 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(strings.Join(s.End(), " "), "word"); n != 1<<18 {
		t.Errorf("%d words at its end", n)
	}
}
