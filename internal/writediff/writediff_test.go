package writediff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/writediff"
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
	const write = "tool:rye/file-system/write"
	one := func(path, content string) map[string]any {
		return map[string]any{"file_path": path, "content": content}
	}
	for _, c := range []struct {
		name   string
		ref    string
		params map[string]any
		want   string
	}{
		{"a change", write, one("a.txt", "one\n2\nthree\n"), "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"},
		{"an absolute path", write, one(filepath.Join(dir, "a.txt"), "one\ntwo\nthree\n"), "a.txt: nothing changes"},
		{"a new file", write, one("sub/new.txt", "x\n"), "--- /dev/null\n+++ sub/new.txt\n@@ -0,0 +1,1 @@\n+x"},
		{"two files", write, map[string]any{"files": []any{one("a.txt", ""), one("b", "x")}},
			"--- a.txt\n+++ a.txt\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file"},
		{"not text", write, one("bin", "x"), "bin: 2 bytes that are not text become 1 bytes"},
		{"outside", write, one("../x", "x"), "../x: it is outside of " + dir},
		{"no path", write, map[string]any{"content": "x"}, ""},
		{"another tool", "tool:team/write", one("a.txt", "x"), ""},
	} {
		if got := strings.Join(writediff.Lines(dir, c.ref, c.params), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := strings.Join(writediff.Lines(dir, write, one("link", "x")), "\n"); linked && (!strings.Contains(got, "link: the present content cannot be shown") || strings.Contains(got, "secret\n")) {
		t.Errorf("a link: %q", got)
	}
	long := writediff.Lines(dir, write, one("long", strings.Repeat("x\n", 5000)))
	if len(long) != 1001 || long[1000] != "… 4003 more lines" {
		t.Errorf("%d lines, the last is %q", len(long), long[len(long)-1])
	}
}
