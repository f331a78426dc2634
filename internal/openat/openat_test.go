package openat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// backends returns one Dir per way of opening that this system has.
func backends(t testing.TB, root string) map[string]*Dir {
	t.Helper()
	dirs := map[string]*Dir{}
	native, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs["native"] = native
	portable, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs["os.Root"] = newDir(portable, foldsBelow(root))
	if b := byElement(t, root); b != nil {
		dirs["by element"] = newDir(b, foldsBelow(root))
	}
	t.Cleanup(func() {
		for _, d := range dirs {
			d.Close()
		}
	})
	return dirs
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a/b/c.txt"), "hello")
	write(t, filepath.Join(root, "empty"), "")
	for name, d := range backends(t, root) {
		t.Run(name, func(t *testing.T) {
			b, info, err := d.Read("a/b/c.txt", 5)
			if err != nil || string(b) != "hello" {
				t.Fatalf("Read = %q, %v", b, err)
			}
			fi, _ := os.Stat(filepath.Join(root, "a/b/c.txt"))
			if info.Size != 5 || info.Mode != fi.Mode() || !info.ModTime.Equal(fi.ModTime()) || info.Inode == 0 {
				t.Errorf("Info = %+v, want that of %v", info, fi)
			}
			if b, info, err = d.Read("empty", 0); err != nil || len(b) != 0 || info.Size != 0 {
				t.Errorf("empty: %q %+v %v", b, info, err)
			}
			if _, _, err = d.Read("a/b/c.txt", 4); diag.CodeOf(err) != diag.TooLarge {
				t.Errorf("max 4: %v", err)
			}
			for _, rel := range []string{"missing", "a/missing/x", "empty/x"} {
				if _, _, err = d.Read(rel, 9); !errors.Is(err, fs.ErrNotExist) || diag.CodeOf(err) == "" {
					t.Errorf("%s: %v is not fs.ErrNotExist with a code", rel, err)
				}
			}
			if _, _, err = d.Read("a/b", 9); diag.CodeOf(err) != diag.NotRegular {
				t.Errorf("V38 directory: %v", err)
			}
		})
	}
}

// TestReadInto reads files of many sizes with the memory of the one before: each has its
// own content, also after a longer one.
func TestReadInto(t *testing.T) {
	root := t.TempDir()
	sizes := []int{5, 0, 1, 100, 99, 101, 5000, 4096, 2, 70_000, 3}
	text := func(i int) string { return strings.Repeat(string(rune('a'+i)), sizes[i]) }
	for i := range sizes {
		write(t, filepath.Join(root, "f"+string(rune('a'+i))), text(i))
	}
	for name, d := range backends(t, root) {
		var buf []byte
		for range 3 {
			for i := range sizes {
				b, info, err := d.ReadInto(buf, "f"+string(rune('a'+i)), 70_000)
				if err != nil || string(b) != text(i) || info.Size != int64(sizes[i]) {
					t.Errorf("%s: %d bytes: %q, %+v, %v", name, sizes[i], b, info, err)
				}
				buf = b
			}
			if _, _, err := d.ReadInto(buf, "fd", 99); diag.CodeOf(err) != diag.TooLarge {
				t.Errorf("%s: above the limit: %v", name, err)
			}
			if b, _, err := d.ReadInto(buf, "missing", 99); !errors.Is(err, fs.ErrNotExist) || b != nil {
				t.Errorf("%s: missing: %q, %v", name, b, err)
			}
		}
	}
}

// TestSame compares files with contents that differ at each end of what is read at once.
func TestSame(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("0123456789abcdef", 3*piece/16)
	texts := []string{"", "a", "b", "ab", long[:piece-1], long[:piece], long[:piece+1], long, long + "x", long[:2*piece-1] + "X" + long[2*piece:], "X" + long[1:]}
	for i, text := range texts {
		write(t, filepath.Join(root, "d", string(rune('a'+i))), text)
	}
	for name, d := range backends(t, root) {
		for i := range texts {
			for k, content := range texts {
				same, err := d.Same("d/"+string(rune('a'+i)), []byte(content))
				if err != nil || same != (i == k) {
					t.Errorf("%s: %d bytes and %d bytes: %t, %v", name, len(texts[i]), len(content), same, err)
				}
			}
		}
		for rel, code := range map[string]diag.Code{"d": diag.NotRegular, "../x": diag.PathEscape, "d/missing": diag.FileSystemError} {
			if same, err := d.Same(rel, nil); same || diag.CodeOf(err) != code {
				t.Errorf("%s: %s: %t, %v, want %s", name, rel, same, err, code)
			}
		}
	}
}

// V37: one file has one spelling.
func TestV37OnlyCanonicalPaths(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "r/a/b"), "in")
	write(t, filepath.Join(root, "outside"), "out")
	for name, d := range backends(t, filepath.Join(root, "r")) {
		for _, rel := range []string{
			"", ".", "..", "/", "../outside", "a/../a/b", "a/../../outside", "a//b", "./a/b", "a/./b", "a/b/", "/a/b", "a/b/.", "a/..",
			`a\b`, `..\outside`, "a/b\x00", "a\x00/b", "\xff", "a/\xc3(", filepath.ToSlash(filepath.Join(root, "r/a/b")),
		} {
			b, _, err := d.Read(rel, 100)
			if diag.CodeOf(err) != diag.PathEscape || b != nil {
				t.Errorf("%s: Read(%q) = %q, %v, want PATH_ESCAPE", name, rel, b, err)
			}
		}
	}
}

func TestWindowsNames(t *testing.T) {
	for _, rel := range []string{
		"a:b", "a.py:stream", "a.py::$DATA", "C:", "nul", "NUL.txt", "a/con", "Com1", "lpt9.py", "COM¹", "aux .txt",
		"a.", "a ", "a./b", "a /b", "a<b", "a|b", "a?b", "a*b", `a"b`, "a\tb", "CONIN$",
	} {
		if wrongOnWindows(rel) == "" {
			t.Errorf("%q passes", rel)
		}
	}
	for _, rel := range []string{"a", "a.py", "console.py", "com.py", "COM10", "lpt", "a b/c.d", ".ai/tools/x.py", "nulx"} {
		if why := wrongOnWindows(rel); why != "" {
			t.Errorf("%q: %s", rel, why)
		}
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege here")
		}
		t.Fatal(err)
	}
}

// V35: a link at any component, also one that stays inside, also a loop.
func TestV35Links(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "r")
	write(t, filepath.Join(root, "real/x.py"), "in")
	write(t, filepath.Join(top, "outside"), "out")
	symlink(t, "real/x.py", filepath.Join(root, "item.py"))
	symlink(t, "real", filepath.Join(root, "dir"))
	symlink(t, "../outside", filepath.Join(root, "up"))
	symlink(t, filepath.Join(top, "outside"), filepath.Join(root, "abs"))
	symlink(t, "loop", filepath.Join(root, "loop"))
	symlink(t, "nowhere", filepath.Join(root, "dangling"))
	symlink(t, "real", filepath.Join(root, ".ai"))
	symlink(t, "../item.py", filepath.Join(root, "real/back"))
	for name, d := range backends(t, root) {
		for _, rel := range []string{"item.py", "dir/x.py", "up", "abs", "loop", "loop/x", "dangling", ".ai/x.py", "real/back", "dir"} {
			if b, _, err := d.Read(rel, 100); diag.CodeOf(err) != diag.PathEscape {
				t.Errorf("%s: Read(%q) = %q, %v, want PATH_ESCAPE", name, rel, b, err)
			}
		}
		for _, rel := range []string{"dir", ".ai", "loop"} {
			err := d.Walk(rel, func(rel string, e Entry) error { t.Errorf("%s: walked %s", name, rel); return nil })
			if diag.CodeOf(err) != diag.PathEscape {
				t.Errorf("%s: Walk(%q) = %v, want PATH_ESCAPE", name, rel, err)
			}
		}
	}
}

// V36: os.Root reads a hard link to a file outside happily.
func TestV36HardLink(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "r")
	write(t, filepath.Join(root, "plain"), "in")
	write(t, filepath.Join(top, "secret"), "secret")
	if err := os.Link(filepath.Join(top, "secret"), filepath.Join(root, "x.py")); err != nil {
		t.Skip(err)
	}
	for name, d := range backends(t, root) {
		if b, _, err := d.Read("x.py", 100); diag.CodeOf(err) != diag.NotRegular || b != nil {
			t.Errorf("%s: Read = %q, %v, want NOT_REGULAR", name, b, err)
		}
	}
}

func TestWalk(t *testing.T) {
	root := t.TempDir()
	files := []string{"a.b", "a/z", "a/y/x", "a/y.z", "a-", "b", "top/.hidden", "ü"}
	for _, f := range files {
		write(t, filepath.Join(root, f), f)
	}
	slices.Sort(files)
	for name, d := range backends(t, root) {
		t.Run(name, func(t *testing.T) {
			var got, dirs []string
			must(t, d.Walk(".", func(rel string, e Entry) error {
				if e.Err != nil {
					t.Errorf("%s: %v", rel, e.Err)
				}
				if e.IsDir() {
					dirs = append(dirs, rel)
					return nil
				}
				got = append(got, rel)
				return nil
			}))
			if !slices.Equal(got, files) {
				t.Errorf("files %q, want %q", got, files)
			}
			if want := []string{"a", "a/y", "top"}; !slices.Equal(dirs, want) {
				t.Errorf("folders %q, want %q", dirs, want)
			}
			got = nil
			must(t, d.Walk("a", func(rel string, e Entry) error {
				got = append(got, rel)
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}))
			if want := []string{"a/y.z", "a/y", "a/z"}; !slices.Equal(got, want) {
				t.Errorf("with SkipDir %q, want %q", got, want)
			}
			n := 0
			must(t, d.Walk(".", func(string, Entry) error { n++; return fs.SkipAll }))
			if n != 1 {
				t.Errorf("SkipAll after %d entries", n)
			}
			stop := errors.New("stop")
			if err := d.Walk(".", func(string, Entry) error { return stop }); err != stop {
				t.Errorf("own error: %v", err)
			}
			if err := d.Walk("nowhere", nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("missing: %v", err)
			}
			if err := d.Walk("b", nil); err == nil {
				t.Error("walked a file")
			}
			if err := d.Walk("a/..", nil); diag.CodeOf(err) != diag.PathEscape {
				t.Errorf("dots: %v", err)
			}
		})
	}
}

// V35: a walk reports links as findings and does not follow them.
func TestV35WalkReportsLinks(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "d/x"), "x")
	symlink(t, ".", filepath.Join(root, "d/self"))
	symlink(t, "/", filepath.Join(root, "slash"))
	for name, d := range backends(t, root) {
		got := map[string]diag.Code{}
		must(t, d.Walk(".", func(rel string, e Entry) error { got[rel] = diag.CodeOf(e.Err); return nil }))
		want := map[string]diag.Code{"d": "", "d/x": "", "d/self": diag.PathEscape, "slash": diag.PathEscape}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestClosed(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "x"), "x")
	for name, d := range backends(t, root) {
		must(t, d.Close())
		must(t, d.Close())
		if _, _, err := d.Read("x", 1); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: Read: %v", name, err)
		}
		if err := d.Walk(".", nil); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: Walk: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(root, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if _, err := Open(filepath.Join(root, "x")); err == nil {
		t.Error("opened a file as a folder")
	}
	if _, _, err := Read(filepath.Join(root, "nowhere"), "x", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read: %v", err)
	}
}

func TestLargeAndSparse(t *testing.T) {
	root := t.TempDir()
	big := strings.Repeat("0123456789abcdef", 3<<20/16)
	write(t, filepath.Join(root, "big"), big)
	f, err := os.Create(filepath.Join(root, "sparse"))
	must(t, err)
	must(t, f.Truncate(1<<40))
	must(t, f.Close())
	for name, d := range backends(t, root) {
		if b, _, err := d.Read("big", 1<<62); err != nil || string(b) != big {
			t.Errorf("%s: big: %d bytes, %v", name, len(b), err)
		}
		if _, _, err := d.Read("sparse", 1<<20); diag.CodeOf(err) != diag.TooLarge {
			t.Errorf("%s: sparse: %v", name, err)
		}
	}
}

func TestSwap(t *testing.T) {
	dir := t.TempDir()
	at := func(s string) string { return filepath.Join(dir, s) }
	for _, swap := range []func(a, b, c string) error{Swap, swapByRename} {
		write(t, at("new/f"), "new")
		write(t, at("target/f"), "old")
		must(t, swap(at("new"), at("target"), at("aside")))
		got, err := os.ReadFile(at("target/f"))
		if err != nil || string(got) != "new" {
			t.Errorf("target: %q, %v", got, err)
		}
		if got, err = os.ReadFile(at("aside/f")); err != nil || string(got) != "old" {
			t.Errorf("aside: %q, %v", got, err)
		}
		if _, err = os.Stat(at("new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("new: %v", err)
		}
		must(t, os.RemoveAll(at("aside")))
		must(t, os.RemoveAll(at("target")))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a/b", "../outside", "a//b", "./a", "a/../b", "link/b", "a\x00", "C:x", `a\..\..\outside`, "a/b/../../../outside", "link", "a/./b"} {
		f.Add(s)
	}
	top := f.TempDir()
	write(f, filepath.Join(top, "r/a/b"), "inside")
	write(f, filepath.Join(top, "outside"), "outside")
	if err := os.Symlink("..", filepath.Join(top, "r/link")); err != nil {
		f.Skip(err)
	}
	dirs := backends(f, filepath.Join(top, "r"))
	f.Fuzz(func(t *testing.T, rel string) {
		for name, d := range dirs {
			if b, _, err := d.Read(rel, 100); err == nil && (string(b) != "inside" || rel != "a/b") {
				t.Errorf("%s: Read(%q) = %q", name, rel, b)
			}
		}
	})
}
