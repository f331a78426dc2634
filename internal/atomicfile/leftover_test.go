package atomicfile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/filelock"
)

func TestTemporary(t *testing.T) {
	for name, want := range map[string]bool{
		Prefix + rand.Text():                     true,
		Prefix + strings.Repeat("A", 26):         true,
		Prefix + strings.Repeat("A", 25):         false,
		Prefix + strings.Repeat("A", 27):         false,
		Prefix + strings.Repeat("a", 26):         false,
		Prefix + strings.Repeat("A", 23) + ".py": false,
		Prefix:                                   false,
		"x" + Prefix + strings.Repeat("A", 26):   false,
		Prefix + strings.Repeat("A", 25) + "1":   false,
		".git":                                   false,
		"":                                       false,
	} {
		if got := Temporary(name); got != want {
			t.Errorf("Temporary(%q) = %t", name, got)
		}
	}
}

// leave writes a file, with its directories.
func leave(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// The sweep removes what no process has locked, and only temporary names.
func TestSweep(t *testing.T) {
	base := Project(t.TempDir())
	tmp := base.Path(".ai/cache/tmp")
	held, theirs := Prefix+strings.Repeat("H", 26), Prefix+"notes.md"
	for _, name := range []string{Prefix + strings.Repeat("A", 26), held, theirs, "item.py"} {
		leave(t, filepath.Join(tmp, name))
	}
	stale, begun := Prefix+strings.Repeat("D", 26), Prefix+strings.Repeat("E", 26)
	leave(t, filepath.Join(tmp, stale, "0", "file"))
	leave(t, filepath.Join(tmp, begun, lockName))
	f, err := os.OpenFile(filepath.Join(tmp, held), os.O_RDWR, 0)
	if err != nil || filelock.Try(f) != nil {
		t.Fatalf("locking: %v", err)
	}
	open, err := base.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	base.Sweep()
	for name, want := range map[string]bool{Prefix + strings.Repeat("A", 26): false, held: true, theirs: true, "item.py": true, stale: false, begun: false, open.name: true} {
		if _, err := os.Lstat(filepath.Join(tmp, name)); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", name, err == nil, want)
		}
	}
	_ = f.Close()
	base.Sweep()
	if _, err := os.Lstat(filepath.Join(tmp, held)); err == nil {
		t.Error("the file of a process that ended stays")
	}
}

// A sweep of a project that has no cache creates the cache and its .gitignore, and a
// .gitignore that a killed process left empty is written again.
func TestCacheIsIgnored(t *testing.T) {
	base := Project(t.TempDir())
	leave(t, base.Path(".ai/cache/.gitignore"))
	base.Sweep()
	if got := read(t, base.Path(".ai/cache/.gitignore")); got != ignored {
		t.Errorf(".gitignore is %q", got)
	}
}

// A directory without .ai does not become a project, and nothing stays in it.
func TestNoProject(t *testing.T) {
	base := Project(t.TempDir())
	if err := base.Write("sub/f", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if got := names(t, base.Path(".")) + " / " + names(t, base.Path("sub")); got != "sub / f" {
		t.Errorf("directory has %s", got)
	}
}

// SweepIn removes the leftovers of earlier versions next to their target.
func TestSweepIn(t *testing.T) {
	base := Project(t.TempDir())
	leave(t, base.Path(".ai/tools/"+Prefix+strings.Repeat("A", 26)))
	leave(t, base.Path(".ai/tools/"+Prefix+"notes.md"))
	base.SweepIn(".ai/tools")
	if got := names(t, base.Path(".ai/tools")); got != Prefix+"notes.md" {
		t.Errorf("left %q", got)
	}
	base.SweepIn("absent")
	if got := names(t, base.Path(".")); got != ".ai" {
		t.Errorf("the sweep of an absent directory left %q", got)
	}
}

// Writers keep their files while another process sweeps all the time.
func TestWriteDuringSweep(t *testing.T) {
	base := Project(t.TempDir())
	if err := base.MkdirAll(".ai"); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	swept := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				swept <- n
				return
			default:
				base.Sweep()
				n++
			}
		}
	}()
	for range 60 {
		if err := base.Replace("f", []byte("x"), 0); err != nil {
			t.Error(err)
		}
		if err := base.Create("g", []byte("x"), 0o644); err != nil {
			t.Error(err)
		}
		if err := base.Remove("g"); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if n := <-swept; n == 0 {
		t.Error("no sweep happened")
	}
}
