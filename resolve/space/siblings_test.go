package space

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
)

// A file next to .ai is read as strictly as those below it, in every storage.
func TestBeside(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	disk := NewDir(Project, "", base, false)
	if _, _, err := disk.Sibling("rye.yaml", 10); !IsMissing(err) {
		t.Errorf("a missing file: %v", err)
	}
	file := filepath.Join(base, "rye.yaml")
	if err := os.WriteFile(file, []byte("rye: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	embedded := NewEmbedded("x", fstest.MapFS{"rye.yaml": {Data: []byte("rye: 1\n")}})
	for name, root := range map[string]*Root{"disk": disk, "embedded": embedded} {
		if b, executable, err := root.Sibling("rye.yaml", 10); string(b) != "rye: 1\n" || executable || err != nil {
			t.Errorf("%s: %q, %t, %v", name, b, executable, err)
		}
		if _, _, err := root.Sibling("rye.yaml", 3); diag.CodeOf(err) != diag.TooLarge {
			t.Errorf("%s: a file that is too large: %v", name, err)
		}
		if _, _, err := root.Sibling("other.yaml", 3); !IsMissing(err) {
			t.Errorf("%s: a missing file: %v", name, err)
		}
	}
	for _, bad := range []string{"../rye.yaml", "/etc/passwd", ""} {
		if b, _, err := disk.Sibling(bad, 1<<20); err == nil {
			t.Errorf("%q is read: %q", bad, b)
		}
	}
	link := filepath.Join(base, "link.yaml")
	if err := os.Symlink(file, link); err == nil {
		if _, _, err := disk.Sibling("link.yaml", 10); err == nil {
			t.Error("a link is followed")
		}
	}
}
