package glob

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"**", "a", true}, {"**", "a/b/c", true}, {"**", "", false},
		{"acme/**", "acme/x", true}, {"acme/**", "acme/x/y", true}, {"acme/**", "acme", false},
		{"acme/**", "acmeX/y", false}, {"acme/**", "Acme/x", false}, {"acme/**", "evil/acme/x", false},
		{"drafts/*", "drafts/a", true}, {"drafts/*", "drafts/a/b", false}, {"drafts/*", "drafts", false}, {"drafts/*", "drafts/", true},
		{"*", "a", true}, {"*", "a/b", false},
		{"**/x", "x", true}, {"**/x", "a/b/x", true}, {"**/x", "a/xx", false},
		{"a/**/b", "a/b", true}, {"a/**/b", "a/1/2/b", true}, {"a/**/b", "a/1/2", false},
		{"a/**/b/**/c", "a/b/b/x/c", true}, {"a/**/b/*/c", "a/b/x/b/y/c", true},
		{"?x", "ax", true}, {"?x", "éx", true}, {"?x", "x", false}, {"a?c", "a/c", false},
		{"[ab]c", "bc", true}, {"[!ab]c", "bc", false}, {"[^ab]c", "xc", true}, {"[a-c]", "b", true}, {"[a-c]", "d", false},
		{"[]x]", "]", true}, {"[!]x]", "]", false}, {"[-a]", "-", true}, {"[a-]", "-", true}, {"[α-ω]", "β", true},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}, {"*.md", "x.md", true}, {"*.md", ".md", true},
		{"demo/*_test", "demo/x_test", true}, {"demo/hello", "demo/hello", true}, {"demo/hello", "demo/hellos", false},
		{"x*", "x", true}, {"*x", "xyx", true}, {"*ab", "aab", true},
		// refused patterns match nothing, not even themselves
		{"", "", false}, {"a//b", "a//b", false}, {"[", "[", false}, {"a**", "ab", false}, {"***", "a", false}, {`a\b`, `a\b`, false}, {"../x", "../x", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestTextOfBytes(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"\xc4", "Ľ"}, {"\xc4*", "Ľx"}, {"Ľ", "\xc4"}, {"a\xff", "a\xfe"}} {
		if Text(c[0], c[1]) {
			t.Errorf("Text(%q, %q): other bytes match", c[0], c[1])
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"acme/**":                 "",
		"a/[x-z]?*/**/b":          "",
		"":                        "1: the pattern is empty",
		"a//b":                    `3: the pattern "a//b" has an empty segment`,
		"/a":                      `1: the pattern "/a" has an empty segment`,
		"a/":                      `3: the pattern "a/" has an empty segment`,
		"a/b**":                   `4: the pattern "a/b**" has "**" within a segment; write it alone between slashes`,
		"a/[b":                    `3: the pattern "a/[b" has "[" without "]"`,
		"[]":                      `1: the pattern "[]" has "[" without "]"`,
		"[!":                      `1: the pattern "[!" has "[" without "]"`,
		"[z-a]":                   `1: the pattern "[z-a]" has the empty range z-a`,
		"a/../b":                  `3: the pattern "a/../b" has the segment ".."`,
		`a\*`:                     `2: the pattern "a\\*" contains "\"; segments are joined by "/"`,
		"a//[":                    `3: the pattern "a//[" has an empty segment; 4: the pattern "a//[" has "[" without "]"`,
		strings.Repeat("a", 1025): "1: the pattern has 1025 bytes, at most 1024 are allowed",
	} {
		var got []string
		for _, f := range Check(pattern) {
			if f.Code != diag.Usage || f.Line != 1 {
				t.Errorf("%q: %+v", pattern, f)
			}
			got = append(got, strings.TrimPrefix(f.Location(), "line 1:")+": "+f.Message)
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("Check(%q)\n got %s\nwant %s", pattern, g, want)
		}
	}
}

// TestMatchIsNotExponential would run for years if a star returned to more
// than the star before it.
func TestMatchIsNotExponential(t *testing.T) {
	t.Parallel()
	if Match(strings.Repeat("a*", 400)+"b", strings.Repeat("a", 2000)) {
		t.Error("matched within a segment")
	}
	if Match(strings.Repeat("**/a/", 150)+"b", strings.Repeat("a/", 2000)+"a") {
		t.Error("matched over segments")
	}
}

func TestIsPattern(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"demo/*": true, "a?": true, "[a]": true, "demo/hello": false, "": false} {
		if IsPattern(s) != want {
			t.Errorf("IsPattern(%q) = %v", s, !want)
		}
	}
}

// asRegexp returns the regular expression of a pattern.
func asRegexp(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	segs := strings.Split(pattern, "/")
	for i, seg := range segs {
		last := i == len(segs)-1
		switch {
		case seg == "**" && last:
			b.WriteString(".+")
		case seg == "**":
			b.WriteString("(?:[^/]*/)*")
		default:
			for _, r := range seg {
				switch r {
				case '*':
					b.WriteString("[^/]*")
				case '?':
					b.WriteString("[^/]")
				default:
					b.WriteString(regexp.QuoteMeta(string(r)))
				}
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	b.WriteString(`\z`)
	return regexp.Compile(b.String())
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"a/**/b", "a/x/b"}, {"*a?", "xab"}, {"**/a/**", "a/a"}, {"[!a-z]/x", "1/x"}, {"a*b*", "ab"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		if len(Check(pattern)) > 0 || name == "" {
			if got {
				t.Fatalf("refused pattern %q matches %q", pattern, name)
			}
			return
		}
		if strings.Contains(pattern, "[") || strings.HasSuffix(pattern, "**") && strings.HasSuffix(name, "/") || strings.ToValidUTF8(name, "?") != name {
			return
		}
		re, err := asRegexp(pattern)
		if err != nil {
			return
		}
		if want := re.MatchString(name); got != want {
			t.Fatalf("Match(%q, %q) = %v, regexp %s gives %v", pattern, name, got, re, want)
		}
	})
}
