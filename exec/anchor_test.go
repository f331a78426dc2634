//go:build unix

package exec

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// A link or a device next to an anchored tool is an error with any extension; an
// untrusted regular file is left out of the copy.
func TestAnchorRefusesSpecialFiles(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(file string) error
		code diag.Code
	}{
		"regular": {func(file string) error { return os.WriteFile(file, []byte("x"), 0o644) }, ""},
		"link":    {func(file string) error { return os.Symlink("/etc/hosts", file) }, diag.PathEscape},
		"fifo":    {func(file string) error { return syscall.Mkfifo(file, 0o644) }, diag.NotRegular},
	} {
		h := testkit.New(t)
		h.Put(h.Project, "tools/demo/t.yaml", yaml("script", Subprocess, "anchor: {mode: always}", "verify_deps: {extensions: [.py]}", "config: {command: prog}"))
		if err := c.add(filepath.Join(h.Project, ".ai", "tools", "demo", "data.bin")); err != nil {
			t.Fatal(err)
		}
		e := executor(h, nil)
		chain, err := e.Chain(t.Context(), tool("demo/t"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Plan(t.Context(), chain, Call{}, nil); diag.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}
