package cli

import "testing"

// TestShellWord: a project chooses the names of its directories, and users copy
// commands from hints.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/home/ada/app/.venv/bin/python": "/home/ada/app/.venv/bin/python",
		"/a/$(touch x)/b":                "'/a/$(touch x)/b'",
		"it's; rm x":                     `'it'\''s; rm x'`,
		"a b":                            "'a b'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
	if got := expand("rye trust directory {path}", map[string]any{"path": "/a/`x`"}); got != "rye trust directory '/a/`x`'" {
		t.Errorf("hint %q", got)
	}
}
