package markdown

import (
	"regexp"
	"strings"
	"testing"
)

// TestMarkdown renders what a publisher writes, and what one should not get rendered.
func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"# Guide":                                "<h4>Guide</h4>",
		"###### Deep ######":                     "<h6>Deep</h6>",
		"#tag":                                   "<p>#tag</p>",
		"a\nb\n\nc":                              "<p>a\nb</p>\n<p>c</p>",
		"```sh\nrm <x>\n```\nafter":              "<pre>rm &lt;x&gt;\n</pre>\n<p>after</p>",
		"~~~\nnot closed":                        "<pre>not closed\n</pre>",
		"- a\n- b":                               "<ul>\n<li>a</li>\n<li>b</li>\n</ul>",
		"1. a\n   more\n2. b":                    "<ol>\n<li>a\nmore</li>\n<li>b</li>\n</ol>",
		"- a\n  - b":                             "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>",
		"> quoted":                               "<blockquote>\n<p>quoted</p>\n</blockquote>",
		"---":                                    "<hr>",
		"| a | b |\n|---|---|":                   "<table>\n<tr><th>a</th><th>b</th></tr>\n</table>",
		"`a<b` and **bold** and *it*":            "<p><code>a&lt;b</code> and <strong>bold</strong> and <em>it</em></p>",
		"max_file_size * 2":                      "<p>max_file_size * 2</p>",
		`\*not\*`:                                "<p>*not*</p>",
		"[site](https://a.example/x)":            `<p><a href="https://a.example/x" rel="nofollow noopener noreferrer">site</a> (a.example)</p>`,
		"<https://a.example/>":                   `<p><a href="https://a.example/" rel="nofollow noopener noreferrer">https://a.example/</a></p>`,
		"<https://a.example/ b>":                 "<p>&lt;https://a.example/ b&gt;</p>",
		"<https://a.example/<b>":                 "<p>&lt;https://a.example/&lt;b&gt;</p>",
		"[bank.example](https://e.vil)":          `<p><a href="https://e.vil" rel="nofollow noopener noreferrer">bank.example</a> (e.vil)</p>`,
		"![logo](https://a.example/l)":           "<p>[image: logo]</p>",
		"<script>alert(1)</script>":              "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		"[x](javascript:alert(1))":               "<p>x</p>",
		"[x](data:text/html,y)":                  "<p>x</p>",
		"[x](/login)":                            "<p>x</p>",
		"[x](//e.vil)":                           "<p>x</p>",
		`[x](https://a.example/"onclick="y)`:     `<p><a href="https://a.example/%22onclick=%22y" rel="nofollow noopener noreferrer">x</a> (a.example)</p>`,
		"[x](https://user@a.example/)":           "<p>x</p>",
		"[<img src=x>](https://a.example)":       `<p><a href="https://a.example" rel="nofollow noopener noreferrer">&lt;img src=x&gt;</a> (a.example)</p>`,
		"[![x](https://a/b)](https://a.example)": "<p>[image: x]</p>",
		"a&#8238;b \u202ec":                      `<p>a\u{202e}b \u{202e}c</p>`,
		"<div>\n*a*\n</div>":                     "<p>&lt;div&gt;\n*a*\n&lt;/div&gt;</p>",
	} {
		if got := strings.TrimSpace(string(HTML(text, Options{HeadingsBelow: 3}))); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestNesting renders quotes and emphasis in each other: the elements end at a limit.
func TestNesting(t *testing.T) {
	for _, text := range []string{strings.Repeat("> ", 20000) + "x", strings.Repeat("*a ", 2000) + strings.Repeat("b*", 2000)} {
		depth, deepest := 0, 0
		for _, tag := range regexp.MustCompile(`</?[a-z]+`).FindAllString(string(HTML(text, Options{})), -1) {
			if strings.HasPrefix(tag, "</") {
				depth--
			} else {
				depth++
			}
			deepest = max(deepest, depth)
		}
		if depth != 0 || deepest > maxDepth+1 {
			t.Errorf("%.10s…: %d elements are open, at most %d", text, depth, deepest)
		}
	}
}

// TestWholeAddress shows where a link leads to.
func TestWholeAddress(t *testing.T) {
	got := HTML("[a](https://a.example/x?y)", Options{WholeAddress: true})
	if !strings.Contains(string(got), "a</a> (https://a.example/x?y)") {
		t.Error(got)
	}
}

// elements is everything that HTML writes between < and >.
var elements = regexp.MustCompile(`^(/?(h[4-6]|p|pre|ul|ol|li|blockquote|code|em|strong|del|table|tr|th|td)|hr|br|/a|a href="(https?://|mailto:)[^"<>]*" rel="nofollow noopener noreferrer")$`)

// FuzzMarkdown checks that no text leads to another element, and that the elements match.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a\n- b\n  > c\n```\nd", "[a](https://b)**c*d**`e`", "<a href=x>", "***a***", "- \n-", "> > > [", "\x00*\u202e*", "1) a\n\n   b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var open []string
		for rest := string(HTML(s, Options{HeadingsBelow: 3})); ; {
			_, after, ok := strings.Cut(rest, "<")
			if !ok {
				break
			}
			tag, tail, _ := strings.Cut(after, ">")
			if !elements.MatchString(tag) {
				t.Fatalf("%q: element %q", s, tag)
			}
			name, _, _ := strings.Cut(tag, " ")
			switch closed, closes := strings.CutPrefix(name, "/"); {
			case closes && (len(open) == 0 || open[len(open)-1] != closed):
				t.Fatalf("%q: %s closes %v", s, name, open)
			case closes:
				open = open[:len(open)-1]
			case name != "hr" && name != "br":
				open = append(open, name)
			}
			rest = tail
		}
		if len(open) > 0 {
			t.Fatalf("%q: %v is not closed", s, open)
		}
	})
}
