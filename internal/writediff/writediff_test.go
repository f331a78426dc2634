package writediff_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/writediff"
	"github.com/ryeos/rye/policy"
)

func TestLines(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"a.txt": "one\ntwo\nthree\n", "bin": "\x00\x01"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")) == nil
	one := func(path, content string) map[string]any {
		return map[string]any{"file_path": path, "content": content}
	}
	lines := func(id string) map[string]any {
		return map[string]any{"file_path": "a.txt", "changes": []any{map[string]any{"line_id": id, "new_content": "2\n"}}}
	}
	for _, c := range []struct {
		name   string
		applet string
		params map[string]any
		want   string
	}{
		{"a change", "write", one("a.txt", "one\n2\nthree\n"), "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"},
		{"an absolute path", "write", one(filepath.Join(dir, "a.txt"), "one\ntwo\nthree\n"), "a.txt: nothing changes"},
		{"a new file", "write", one("sub/new.txt", "x\n"), "--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,1 @@\n+x"},
		{"two files", "write", map[string]any{"files": []any{one("a.txt", ""), one("b", "x")}},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n--- /dev/null\n+++ b/b\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file"},
		{"not text", "write", one("bin", "x"), "Binary files a/bin and b/bin differ"},
		{"lines", "edit_lines", lines("sp5lnjgeon"), "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"},
		{"a tab and an escape", "write", one("go", "\treturn\x1b[2K\u202e\r\n"), "--- /dev/null\n+++ b/go\n@@ -0,0 +1,1 @@\n+→   return\\u{1b}[2K\\u{202e}\\u{d}"},
		{"a name of two lines", "write", one("x\ncapability  none", "y\n"), "--- /dev/null\n+++ b/x\\u{a}capability  none\n@@ -0,0 +1,1 @@\n+y"},
	} {
		if runtime.GOOS == "windows" && c.name == "a name of two lines" {
			continue // no file can have it
		}
		if got := strings.Join(writediff.Lines(dir, &policy.FileChange{Applet: c.applet, Params: c.params}), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		applet string
		params map[string]any
		want   string
	}{
		"outside":    {"write", one("../x", "x"), "leaves the project"},
		"a link":     {"write", one("link", "x"), "leaves the project"},
		"no path":    {"write", map[string]any{"content": "x"}, "file_path"},
		"protected":  {"write", one(".git/config", "x"), ".git"},
		"stale line": {"edit_lines", lines("zzzz"), "line_id"},
	} {
		if name == "a link" && !linked {
			continue
		}
		got := strings.Join(writediff.Lines(dir, &policy.FileChange{Applet: c.applet, Params: c.params}), "\n")
		if !strings.HasPrefix(got, "the call would fail: ") || !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %q has no %q", name, got, c.want)
		}
	}
	if got := writediff.Lines(dir, nil); got != nil {
		t.Errorf("without a change: %q", got)
	}
	long := writediff.Lines(dir, &policy.FileChange{Applet: "write", Params: one("long", strings.Repeat("x\n", 5000))})
	if len(long) != 1001 || long[1000] != "… 4003 more lines" {
		t.Errorf("%d lines, the last is %q", len(long), long[len(long)-1])
	}
	large := writediff.Lines(dir, &policy.FileChange{Applet: "write", Params: one("large", strings.Repeat("x", 2<<20))})
	if len(large) != 1 || large[0] != "large: 0 bytes become 2097152 bytes, too many to show" {
		t.Errorf("a large file: %q", large)
	}
	if now, err := os.ReadDir(dir); err != nil || len(now) > 3 {
		t.Errorf("files were written: %v, %v", now, err)
	}
}
