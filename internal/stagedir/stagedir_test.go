package stagedir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

func write(t *testing.T, p, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// content returns a file's text, "" if it does not exist.
func content(p string) string {
	b, _ := os.ReadFile(p)
	return string(b)
}

// tree is a directory with one directory to replace, one to remove and one that
// is new, and a stage that plans all three.
type tree struct {
	root, old, gone, fresh string
	stage                  *Stage
}

func newTree(t *testing.T) *tree {
	t.Helper()
	root := t.TempDir()
	x := &tree{root: root, old: filepath.Join(root, "h", "a"), gone: filepath.Join(root, "h", "b"), fresh: filepath.Join(root, "x", "y", "c")}
	write(t, filepath.Join(x.old, "f"), "old")
	write(t, filepath.Join(x.gone, "f"), "gone")
	var err error
	if x.stage, err = New(atomicfile.Private(root)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.stage.Close) // Windows removes no directory that has an open file
	x.put(t, x.stage.Replace("h/a"))
	x.stage.Remove("h/b")
	x.put(t, x.stage.Replace("x/y/c"))
	return x
}

// put writes a file into a staged directory.
func (x *tree) put(t *testing.T, staged string) {
	t.Helper()
	if err := x.stage.WriteFile(staged, "f", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (x *tree) expect(t *testing.T, old, gone, fresh string) {
	t.Helper()
	for p, want := range map[string]string{x.old: old, x.gone: gone, x.fresh: fresh} {
		if got := content(filepath.Join(p, "f")); got != want {
			t.Errorf("%s holds %q, want %q", p, got, want)
		}
	}
}

func TestCommit(t *testing.T) {
	x := newTree(t)
	x.expect(t, "old", "gone", "")
	if err := x.stage.Commit(); err != nil {
		t.Fatal(err)
	}
	x.expect(t, "new", "", "new")
	x.stage.Close()
	if left, _ := os.ReadDir(filepath.Join(x.root, "tmp")); len(left) > 0 {
		t.Errorf("Close leaves %v", left)
	}
}

func TestUndo(t *testing.T) {
	x := newTree(t)
	if err := x.stage.Commit(); err != nil {
		t.Fatal(err)
	}
	x.stage.Undo()
	x.expect(t, "old", "gone", "")
	if _, err := os.Lstat(filepath.Join(x.root, "x")); err == nil {
		t.Error("Undo leaves the directories that Commit created")
	}
}

// A change that fails takes back those before it.
func TestCommitFails(t *testing.T) {
	x := newTree(t)
	write(t, filepath.Join(x.root, "file"), "in the way")
	x.put(t, x.stage.Replace("file/d"))
	if err := x.stage.Commit(); err == nil {
		t.Fatal("a directory below a file was created")
	}
	x.expect(t, "old", "gone", "")
}

// A link above a final directory is refused, and nothing is written through it.
func TestCommitRefusesLinks(t *testing.T) {
	x := newTree(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(x.root, "link")); err != nil {
		t.Skip(err)
	}
	x.put(t, x.stage.Replace("link/d"))
	if err := x.stage.Commit(); diag.CodeOf(err) != diag.PathEscape {
		t.Errorf("Commit: %v", err)
	}
	x.expect(t, "old", "gone", "")
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}
