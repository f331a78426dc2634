package stagedir

import (
	"os"
	"path/filepath"
	"testing"
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
	if x.stage, err = New(filepath.Join(root, "cache"), "s-"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(x.stage.Replace(x.old), "f"), "new")
	x.stage.Remove(x.gone)
	write(t, filepath.Join(x.stage.Replace(x.fresh), "f"), "new")
	return x
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
	if left, _ := os.ReadDir(filepath.Join(x.root, "cache")); len(left) > 0 {
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
	blocked := filepath.Join(x.root, "file", "d")
	write(t, filepath.Dir(blocked), "in the way")
	write(t, filepath.Join(x.stage.Replace(blocked), "f"), "new")
	if err := x.stage.Commit(); err == nil {
		t.Fatal("a directory below a file was created")
	}
	x.expect(t, "old", "gone", "")
}

// Sweep removes directories with the prefix only.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "s-X", "0", "f"), "half")
	write(t, filepath.Join(root, "s-file"), "a file")
	write(t, filepath.Join(root, "other", "f"), "whole")
	Sweep(root, "s-")
	for name, want := range map[string]bool{"s-X": false, "s-file": true, "other": true} {
		if _, err := os.Lstat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", name, err == nil, want)
		}
	}
}
