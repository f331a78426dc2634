package verify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestOutside(t *testing.T) {
	for _, c := range []struct {
		paths string
		alike []string
		warns string
	}{
		{".ai/tools/x.sh README.md .airc x.ai/y .git/config", nil, ""},
		{".AI/tools/x.sh .AI/y .aI", []string{".AI", ".aI"}, ""},
		{"a/.Ai./x .ai::$DATA/x AI~1/x", []string{".ai::$DATA", "AI~1", "a/.Ai."}, ""},
		{".a\u200ci/x sub/.\u00adai", []string{".a\u200ci", "sub/.\u00adai"}, ""},
		{"a/.ai/x b/c/.ai/.AI/y", nil, "a/.ai, b/c/.ai"},
		{"a/.ai b/.ai c/.ai d/.ai e/.ai", nil, "a/.ai, b/.ai, c/.ai and 2 more"},
	} {
		var alike []string
		warns := ""
		for _, f := range Outside(strings.Fields(c.paths)) {
			if f.Severity == diag.SeverityError {
				alike = append(alike, f.Path)
			} else {
				warns = f.Message
			}
		}
		if !slices.Equal(alike, c.alike) || !strings.HasSuffix(warns, c.warns) || (warns == "") != (c.warns == "") {
			t.Errorf("%q: %q and %q", c.paths, alike, warns)
		}
	}
}

// TestDirectories wants a bounded walk that does not enter what is verified or
// not part of the project.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{".ai/x/.ai", ".git/.ai", "node_modules/m/.ai", "a/b/c/.ai", "a/b/c/d/.ai", "home/.ai"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Directories(t.Context(), dir, func(abs string) bool { return abs == filepath.Join(dir, "home") })
	want := []string{".ai", ".git", "a", "node_modules", "a/b", "a/b/c", "a/b/c/.ai", "a/b/c/d"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
