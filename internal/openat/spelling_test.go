package openat

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// folding is a backend that finds names in every case, as the file systems of Windows
// and macOS do.
type folding struct{ backend }

func (f folding) read(buf []byte, rel string, max int64) ([]byte, Info, error) {
	return f.backend.read(buf, f.stored(rel), max)
}

func (f folding) same(rel string, content []byte) (bool, error) {
	return f.backend.same(f.stored(rel), content)
}

func (f folding) list(rel string) ([]fs.DirEntry, error) { return f.backend.list(f.stored(rel)) }

func (f folding) stored(rel string) string {
	at := "."
	for elem := range strings.SplitSeq(rel, "/") {
		des, _ := f.backend.list(at)
		for _, de := range des {
			if strings.EqualFold(de.Name(), elem) {
				elem = de.Name()
			}
		}
		at = strings.TrimPrefix(at+"/"+elem, "./")
	}
	return at
}

// One file has one spelling, that on the disk, also where the file system finds it
// under others.
func TestOneSpelling(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "tools/demo/x.sh"), "in")
	write(t, filepath.Join(root, "Config/demo/X.yaml"), "in")
	dirs := backends(t, root)
	portable, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs["folding"] = newDir(folding{portable}, func(string) (bool, bool) { return true, true })
	t.Cleanup(func() { dirs["folding"].Close() })
	for name, d := range dirs {
		for range 2 { // with the names known, too
			for _, rel := range []string{"tools/demo/x.sh", "Config/demo/X.yaml"} {
				if b, _, err := d.Read(rel, 9); err != nil || string(b) != "in" {
					t.Errorf("%s: Read(%q) = %q, %v", name, rel, b, err)
				}
			}
			for _, rel := range []string{"Tools/demo/x.sh", "tools/Demo/x.sh", "tools/demo/x.SH", "TOOLS/DEMO/X.SH", "config/demo/X.yaml", "Config/demo/x.yaml"} {
				if b, _, err := d.Read(rel, 9); !errors.Is(err, fs.ErrNotExist) || b != nil {
					t.Errorf("%s: Read(%q) = %q, %v, want a missing file", name, rel, b, err)
				}
			}
			for _, rel := range []string{"Tools", "tools/DEMO", "config"} {
				if err := d.Walk(rel, func(string, Entry) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: Walk(%q): %v, want a missing directory", name, rel, err)
				}
			}
		}
	}
	_, _, err = dirs["folding"].Read("tools/demo/X.sh", 9)
	if want := `reading "tools/demo/X.sh": the name on the disk is "x.sh"`; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}

// A file that is created while the directory is open is found.
func TestSpellingOfNewFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "a/x"), "x")
	portable, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	d := newDir(folding{portable}, func(string) (bool, bool) { return true, true })
	defer d.Close()
	if _, _, err := d.Read("a/x", 9); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "a/y"), "y")
	if b, _, err := d.Read("a/y", 9); err != nil || string(b) != "y" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestFolds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "a/x"), "x")
	write(t, filepath.Join(root, "1"), "1")
	folds, sure := foldsAt(root, filepath.FromSlash("a/x"))
	if !sure || folds != (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
		t.Errorf("folds %v, sure %v", folds, sure)
	}
	if _, sure := foldsAt(root, "1"); sure {
		t.Error("a name without letters shows whether case is folded")
	}
	if _, sure := foldsAt(root, "missing"); sure {
		t.Error("a missing file shows whether case is folded")
	}
}

// A directory is asked until an entry has shown that it distinguishes spellings.
func TestDistinguishes(t *testing.T) { // not in parallel: others forget what is known
	root := t.TempDir()
	write(t, filepath.Join(root, "letters/ä"), "")
	if distinguishes(filepath.Join(root, "letters"), "ä") {
		t.Error("a letter beyond ASCII shows it")
	}
	folds, sure := foldsAt(root, "letters")
	if !sure {
		t.Fatal("the entry letters does not show whether case is folded")
	}
	for i := range maxExactDirs + 2 {
		dir := filepath.Join(root, "d"+strconv.Itoa(i))
		write(t, filepath.Join(dir, "1"), "")
		if distinguishes(dir, "1") || distinguishes(dir, "x") {
			t.Fatalf("%s: neither a name without letters nor a missing one shows it", dir)
		}
		write(t, filepath.Join(dir, "x"), "")
		if distinguishes(dir, "x") == folds || distinguishes(dir, "missing") == folds {
			t.Fatalf("%s: the entry x shows that spellings are distinguished: want %v", dir, !folds)
		}
	}
	exactDirs.Lock()
	defer exactDirs.Unlock()
	if len(exactDirs.paths) > maxExactDirs {
		t.Errorf("%d directories are remembered", len(exactDirs.paths))
	}
}

func TestSpelled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".AI"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, folds := os.Lstat(filepath.Join(root, ".ai"))
	for name, want := range map[string]bool{".AI": true, ".ai": folds != nil, ".Ai": folds != nil, "missing": true} {
		if got := Spelled(root, name); got != want {
			t.Errorf("Spelled(%q) = %v", name, got)
		}
	}
}

// Nothing is written below a directory of another spelling: where case is folded, Sub
// refuses it, elsewhere it creates the directory of this spelling.
func TestFolderSpelling(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "Tools/demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if sub, err := f.Sub("Tools/demo", 0); err != nil {
		t.Error(err)
	} else {
		sub.Close()
	}
	sub, err := f.Sub("tools/demo", 0o755)
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		if want := `opening "tools/demo": the directory on the disk has another spelling`; err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sub.Close()
	if des, _ := os.ReadDir(root); len(des) != 2 {
		t.Errorf("%d entries", len(des))
	}
}
