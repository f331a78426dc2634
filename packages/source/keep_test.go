package source_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages/source"
)

// A file is read once between Keep and Release.
func TestKeep(t *testing.T) {
	c := newCache(t, nil)
	w, err := c.Write()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for _, p := range []string{".ai/x", ".ai/y"} {
		if err := w.Add(p, false, []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Commit(t.Context(), source.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	s.Keep()
	if b, err := s.Read(".ai/x"); err != nil || string(b) != ".ai/x" {
		t.Fatalf("%q, %v", b, err)
	}
	root := s.Dir()
	for _, p := range []string{root, filepath.Join(root, ".ai")} {
		os.Chmod(p, 0o700)
	}
	for _, p := range []string{".ai/x", ".ai/y"} {
		if err := os.Remove(filepath.Join(root, p)); err != nil {
			t.Skip(err)
		}
	}
	if b, err := s.Read(".ai/x"); err != nil || string(b) != ".ai/x" {
		t.Errorf("what is kept: %q, %v", b, err)
	}
	if _, err := s.Read(".ai/y"); diag.CodeOf(err) != diag.HashMismatch {
		t.Errorf("what was never read: %v", err)
	}
	s.Release()
	if _, err := s.Read(".ai/x"); diag.CodeOf(err) != diag.HashMismatch {
		t.Errorf("what was let go: %v", err)
	}
}

// A snapshot in memory has the same sum as one in the cache, and Release does not
// free its files.
func TestInMemory(t *testing.T) {
	files := map[string][]byte{".ai/tools/a.sh": []byte("a"), ".ai/b": {}, "rye.yaml": []byte("rye: 1\n")}
	executable := func(p string) bool { return p == ".ai/tools/a.sh" }
	held, err := source.InMemory(source.Origin{Version: "v1.0.0"}, files, executable)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newCache(t, nil).Write()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for p, b := range files {
		if err := w.Add(p, executable(p), b); err != nil {
			t.Fatal(err)
		}
	}
	cached, err := w.Commit(t.Context(), source.Origin{})
	if err != nil || cached.Sum != held.Sum || held.Size() != 8 {
		t.Fatalf("%s and %s, %v", cached.Sum, held.Sum, err)
	}
	held.Keep()
	held.Release()
	n := 0
	if err := held.Each(t.Context(), func(f source.File, b []byte) error {
		n++
		if string(b) != string(files[f.Path]) || f.Executable != executable(f.Path) {
			t.Errorf("%s: %q", f.Path, b)
		}
		return nil
	}); err != nil || n != 3 {
		t.Errorf("%d files, %v", n, err)
	}
	if b, err := held.Read("rye.yaml"); err != nil || string(b) != "rye: 1\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := held.Read("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := source.InMemory(source.Origin{}, map[string][]byte{"../x": nil}, executable); err == nil {
		t.Error("a path that leaves the tree has a sum")
	}
}
