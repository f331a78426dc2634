package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"open": 0o644, "own": 0o600, "group": 0o640, "sub/own": 0o600, "sub/open": 0o644, "closed/open": 0o644} {
		write(t, filepath.Join(dir, name))
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("own", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := unreadable(dir)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], dir+"/")
	}
	slices.Sort(got)
	if want := []string{"closed", "group", "own", "sub/own"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRootReadsNoSecrets has root start a program that reads files of the system which only root
// reads. The control reads one that others can read.
func TestRootReadsNoSecrets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root is the owner of such files")
	}
	program := buildEscape(t)
	dir, err := os.MkdirTemp("/opt", "rye-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"token": 0o600, "open": 0o644} {
		write(t, filepath.Join(dir, name))
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	site := newSite(t, program)
	for _, rung := range escapeRungs() {
		needRung(t, rung)
		for name, want := range map[string]bool{"token": false, "open": true} {
			res, _, err := site.run(t, rung, []string{program, "read", filepath.Join(dir, name)}, policy.NetNone, func(_ *Grant, _ *proc.Cmd) {})
			if got := strings.Contains(string(res.Stdout), `"reached":true`); err != nil || got != want {
				t.Errorf("%s %s: %s %v", rung, name, res.Stdout, err)
			}
		}
	}
}
