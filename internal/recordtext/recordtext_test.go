package recordtext

import (
	"strings"
	"testing"
)

// No text ends its fence, has a hidden character or a signature line.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\nb", "```\n# heading", "````\n```", "<!-- rye:signed:x -->", "a\u202eb", "a\rb", strings.Repeat("`", 50), "\n\n~~~"} {
		f.Add(s, 1000)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 0 {
			most = 0
		}
		out := Lines(s, most)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		fence := strings.TrimSuffix(lines[0], "text")
		if len(fence) < 3 || strings.Trim(fence, "`") != "" || lines[len(lines)-1] != fence {
			t.Fatalf("fence %q … %q", lines[0], lines[len(lines)-1])
		}
		for _, line := range lines[1 : len(lines)-1] {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), fence) || strings.Contains(line, "rye:signed") || strings.ContainsRune(line, '\u202e') {
				t.Fatalf("line %q in the fence %q", line, fence)
			}
		}
	})
}

func TestInline(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"a`b":                    "`a'b`",
		"<!-- rye:signed:1 -->":  "`<!-- rye signed:1 -->`",
		strings.Repeat("x", 401): "`" + strings.Repeat("x", 400) + "…`",
	} {
		if got := Inline(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := Inline("a\nb\u202ec"); strings.ContainsAny(got, "\n\u202e") {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	if got := JSON(map[string]any{"a": "rye:signed"}, 100, ""); strings.Contains(got, "rye:signed") || !strings.HasPrefix(got, "```json\n{") {
		t.Errorf("%q", got)
	}
	if got := JSON(strings.Repeat("x", 200), 100, ": see the log"); got != "It has 202 bytes and is left out: see the log.\n" {
		t.Errorf("%q", got)
	}
	if got := JSON(func() {}, 100, ""); got != "It is not JSON.\n" {
		t.Errorf("%q", got)
	}
}
