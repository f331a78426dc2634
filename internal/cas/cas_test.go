package cas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStore returns a store whose read-only folders the test can remove.
func newStore(t testing.TB) *Store {
	t.Helper()
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache")}
	t.Cleanup(func() { discard(s.Dir) })
	return s
}

func put(t testing.TB, s *Store, name, content string) string {
	t.Helper()
	path, err := s.File(sha256.Sum256([]byte(content)), name, []byte(content))
	must(t, err)
	return path
}

// wantOnly fails unless dir holds exactly these files.
func wantOnly(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if !d.Type().IsRegular() {
			t.Errorf("%s is not a regular file", rel)
			return nil
		}
		b, err := os.ReadFile(p)
		got[filepath.ToSlash(rel)] = string(b)
		return err
	}))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func wantMode(t testing.TB, path string, want fs.FileMode) {
	t.Helper()
	if fi, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || fi.Mode().Perm() != want) {
		t.Errorf("%s: %v, %v, want mode %v", path, fi.Mode(), err, want)
	}
}

func TestFile(t *testing.T) {
	s := newStore(t)
	sum := sha256.Sum256([]byte("hello"))
	path := put(t, s, "x.py", "hello")
	if want := filepath.Join(s.Dir, "items", hex.EncodeToString(sum[:]), "x.py"); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	wantOnly(t, filepath.Dir(path), map[string]string{"x.py": "hello"})
	wantMode(t, path, 0o444)
	wantMode(t, filepath.Dir(path), 0o555)
	before, err := os.Stat(path)
	must(t, err)
	if again := put(t, s, "x.py", "hello"); again != path {
		t.Errorf("again at %s", again)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("an intact entry was written again")
	}
	if empty := put(t, s, "empty", ""); empty == path {
		t.Error("one path for two contents")
	}
	if des, _ := os.ReadDir(filepath.Join(s.Dir, "items")); len(des) != 2 {
		t.Errorf("left over: %v", des)
	}
}

func TestOneContentSeveralNames(t *testing.T) {
	s := newStore(t)
	a, b := put(t, s, "a.py", "same"), put(t, s, "json.py", "same")
	exec, err := s.Executable(sha256.Sum256([]byte("same")), "a.py", []byte("same"))
	must(t, err)
	for path, name := range map[string]string{a: "a.py", b: "json.py", exec: "a.py"} {
		wantOnly(t, filepath.Dir(path), map[string]string{name: "same"})
	}
	if a == exec && runtime.GOOS != "windows" {
		t.Error("one file with and without execute bits")
	}
	wantMode(t, a, 0o444)
	wantMode(t, exec, 0o555)
	for range 3 {
		if put(t, s, "a.py", "same") != a || put(t, s, "json.py", "same") != b {
			t.Error("paths move about")
		}
	}
}

// A folder that another process repaired between two looks is not "another name".
func TestOtherName(t *testing.T) {
	s := newStore(t)
	sum := sha256.Sum256([]byte("same"))
	put(t, s, "a.py", "same")
	d, err := openat.Open(s.Dir)
	must(t, err)
	defer d.Close()
	at := "items/" + hex.EncodeToString(sum[:])
	for f, want := range map[*TreeFile]bool{
		{Rel: "a.py", Bytes: []byte("same")}:             false,
		{Rel: "b.py", Bytes: []byte("same")}:             true,
		{Rel: "a.py", Bytes: []byte("same"), Exec: true}: runtime.GOOS != "windows",
		{Rel: "a.py", Bytes: []byte("else")}:             false,
		{Rel: "b.py", Bytes: []byte("else")}:             false,
	} {
		e, err := newEntry([]TreeFile{*f})
		must(t, err)
		if got := e.otherName(d, at); got != want {
			t.Errorf("%s %q exec %t: %v, want %v", f.Rel, f.Bytes, f.Exec, got, want)
		}
	}
}

func TestFileRefuses(t *testing.T) {
	s := newStore(t)
	sum := sha256.Sum256([]byte("b"))
	if _, err := s.File(sha256.Sum256([]byte("a")), "x", []byte("b")); diag.CodeOf(err) != diag.HashMismatch {
		t.Errorf("other bytes: %v", err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "/x", `a\b`, "a\x00"} {
		if p, err := s.File(sum, name, []byte("b")); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("name %q: %s, %v", name, p, err)
		}
	}
	if _, err := (&Store{Dir: "relative"}).File(sum, "x", []byte("b")); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("relative folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := (&Store{Dir: file}).File(sum, "x", []byte("b")); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("a file as folder: %v", err)
	}
}

// An entry that is not exactly what was verified is never used.
func TestTamperedEntryIsRebuilt(t *testing.T) {
	for name, tamper := range map[string]func(dir, file string) error{
		"other bytes":  func(_, file string) error { return os.WriteFile(file, []byte("HELLO"), 0o600) },
		"longer":       func(_, file string) error { return os.WriteFile(file, []byte("hello!"), 0o600) },
		"shorter":      func(_, file string) error { return os.Truncate(file, 2) },
		"missing":      func(_, file string) error { return os.Remove(file) },
		"extra file":   func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "json.py"), nil, 0o600) },
		"extra folder": func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, "__pycache__"), 0o700) },
		"extra link":   func(dir, _ string) error { return os.Symlink("x.py", filepath.Join(dir, "y.py")) },
		"other name": func(dir, file string) error {
			return errors.Join(os.Rename(file, filepath.Join(dir, "y.py")), os.WriteFile(file, []byte("evil"), 0o600))
		},
		"writable":      func(_, file string) error { return os.Chmod(file, 0o644) },
		"setuid":        func(_, file string) error { return os.Chmod(file, 0o444|fs.ModeSetuid) },
		"link":          func(dir, file string) error { return replaceByLink(file, filepath.Join(dir, "../../../same")) },
		"hard link":     func(dir, file string) error { return os.Link(file, filepath.Join(dir, "../../../hard")) },
		"folder":        func(_, file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"folder linked": func(dir, _ string) error { return moveAndLink(dir) },
		"folder a file": func(dir, _ string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("hello"), 0o600))
		},
		"folder empty": func(dir, _ string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (name == "writable" || name == "setuid") {
				t.Skip("no such modes")
			}
			s := newStore(t)
			must(t, os.WriteFile(filepath.Join(s.Dir, "../same"), []byte("hello"), 0o444))
			path := put(t, s, "x.py", "hello")
			dir := filepath.Dir(path)
			must(t, os.Chmod(dir, 0o700))
			os.Chmod(path, 0o600)
			defer os.Chmod(path, 0o600)
			if name == "hard link" {
				must(t, os.Chmod(path, 0o444))
			}
			if err := tamper(dir, path); err != nil {
				t.Skip(err)
			}
			again := put(t, s, "x.py", "hello")
			if again != path {
				t.Errorf("at %s, want %s", again, path)
			}
			wantOnly(t, dir, map[string]string{"x.py": "hello"})
			wantMode(t, path, 0o444)
			if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() {
				t.Errorf("%v, %v", fi, err)
			}
			if d, err := openat.Open(s.Dir); err == nil { // one name, no link
				rel, _ := filepath.Rel(s.Dir, path)
				if _, _, err := d.Read(filepath.ToSlash(rel), 100); err != nil {
					t.Error(err)
				}
				d.Close()
			}
			if des, _ := os.ReadDir(filepath.Join(s.Dir, "items")); len(des) != 1 {
				t.Errorf("left over: %v", des)
			}
			if b, err := os.ReadFile(filepath.Join(s.Dir, "../same")); err != nil || string(b) != "hello" {
				t.Errorf("a file outside changed: %q %v", b, err)
			}
		})
	}
}

func replaceByLink(file, to string) error {
	return errors.Join(os.Remove(file), os.Symlink(to, file))
}

func moveAndLink(dir string) error {
	return errors.Join(os.Rename(dir, filepath.Join(dir, "../../moved")), os.Symlink("../moved", dir))
}

func TestTree(t *testing.T) {
	s := newStore(t)
	files := []TreeFile{
		{Rel: "pkg/b.py", Bytes: []byte("b")}, {Rel: "main.py", Bytes: []byte("m")},
		{Rel: "bin/run", Bytes: []byte("#!/bin/sh\n"), Exec: true}, {Rel: "pkg/sub/deep/c", Bytes: nil},
	}
	want := map[string]string{"pkg/b.py": "b", "main.py": "m", "bin/run": "#!/bin/sh\n", "pkg/sub/deep/c": ""}
	dir, err := s.Tree(files)
	must(t, err)
	wantOnly(t, dir, want)
	wantMode(t, filepath.Join(dir, "bin/run"), 0o555)
	wantMode(t, filepath.Join(dir, "main.py"), 0o444)
	for _, d := range []string{".", "pkg", "pkg/sub", "pkg/sub/deep", "bin"} {
		wantMode(t, filepath.Join(dir, d), 0o555)
	}
	files[0], files[3] = files[3], files[0]
	if again, err := s.Tree(files); err != nil || again != dir {
		t.Errorf("in other order: %s, %v", again, err)
	}
	seen := map[string]bool{dir: true}
	for name, other := range map[string][]TreeFile{
		"no exec":  {{Rel: "a", Bytes: []byte("1")}},
		"exec":     {{Rel: "a", Bytes: []byte("1"), Exec: true}},
		"content":  {{Rel: "a", Bytes: []byte("2")}},
		"name":     {{Rel: "b", Bytes: []byte("1")}},
		"two":      {{Rel: "a", Bytes: []byte("1")}, {Rel: "b", Bytes: []byte("1")}},
		"newlines": {{Rel: "a\n6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b false 1:b", Bytes: []byte("1")}},
		"empty":    nil,
	} {
		if runtime.GOOS == "windows" && name == "newlines" {
			continue
		}
		d, err := s.Tree(other)
		if err != nil || seen[d] {
			t.Errorf("%s: %s, %v", name, d, err)
		}
		seen[d] = true
	}
}

func TestTamperedTreeIsRebuilt(t *testing.T) {
	want := map[string]string{"a.py": "a", "pkg/b.py": "b"}
	files := []TreeFile{{Rel: "a.py", Bytes: []byte("a")}, {Rel: "pkg/b.py", Bytes: []byte("b")}}
	for name, tamper := range map[string]func(dir string) error{
		"extra file":         func(dir string) error { return os.WriteFile(filepath.Join(dir, "pkg/json.py"), nil, 0o600) },
		"extra empty folder": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "pkg/x/y"), 0o700) },
		"missing file":       func(dir string) error { return os.Remove(filepath.Join(dir, "a.py")) },
		"missing folder":     func(dir string) error { return os.RemoveAll(filepath.Join(dir, "pkg")) },
		"linked folder": func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "pkg"), filepath.Join(dir, "../../pkg")), os.Symlink("../../pkg", filepath.Join(dir, "pkg")))
		},
		"changed": func(dir string) error {
			p := filepath.Join(dir, "pkg/b.py")
			return errors.Join(os.Chmod(p, 0o600), os.WriteFile(p, []byte("B"), 0o600), os.Chmod(p, 0o444))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			dir, err := s.Tree(files)
			must(t, err)
			os.Chmod(dir, 0o700)
			os.Chmod(filepath.Join(dir, "pkg"), 0o700)
			if err := tamper(dir); err != nil {
				t.Skip(err)
			}
			again, err := s.Tree(files)
			if err != nil || again != dir {
				t.Fatalf("%s, %v", again, err)
			}
			wantOnly(t, dir, want)
			if des, _ := os.ReadDir(filepath.Join(s.Dir, "trees")); len(des) != 1 {
				t.Errorf("left over: %v", des)
			}
		})
	}
}

func TestTreeRefuses(t *testing.T) {
	s := newStore(t)
	for name, tc := range map[string]struct {
		files []TreeFile
		code  diag.Code
	}{
		"up":            {[]TreeFile{{Rel: "../x"}}, diag.PathEscape},
		"absolute":      {[]TreeFile{{Rel: "/x"}}, diag.PathEscape},
		"not canonical": {[]TreeFile{{Rel: "a//x"}}, diag.PathEscape},
		"twice":         {[]TreeFile{{Rel: "a"}, {Rel: "a"}}, diag.ValidationFailed},
		"file, folder":  {[]TreeFile{{Rel: "a"}, {Rel: "a/b"}}, diag.ValidationFailed},
		"folder, file":  {[]TreeFile{{Rel: "a/b/c"}, {Rel: "a"}}, diag.ValidationFailed},
	} {
		if dir, err := s.Tree(tc.files); diag.CodeOf(err) != tc.code {
			t.Errorf("%s: %s, %v, want %s", name, dir, err, tc.code)
		}
	}
}

func TestSweep(t *testing.T) {
	s := newStore(t)
	put(t, s, "x", "x")
	old, young := filepath.Join(s.Dir, "items/.tmp-old"), filepath.Join(s.Dir, "trees/.tmp-young")
	for _, dir := range []string{old, young} {
		must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "sub/f"), nil, 0o400))
		must(t, os.Chmod(filepath.Join(dir, "sub"), 0o500))
	}
	must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-61*time.Minute)))
	fresh := &Store{Dir: s.Dir}
	put(t, fresh, "y", "y")
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("the young one: %v", err)
	}
	later := &Store{Dir: s.Dir, Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	put(t, later, "z", "z")
	if _, err := os.Lstat(young); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the young one, later: %v", err)
	}
	if put(t, s, "x", "x") == "" || put(t, s, "y", "y") == "" {
		t.Error("entries are gone")
	}
}

// Every path that is given out holds the right bytes, also while others
// tamper, rebuild and use another name for the same content.
func TestConcurrent(t *testing.T) {
	s := newStore(t)
	contents := []string{"one", "two", strings.Repeat("three", 1000)}
	var wg sync.WaitGroup
	for g := range 6 {
		own := &Store{Dir: s.Dir} // as another process would
		wg.Go(func() {
			for i := range 60 {
				c, name := contents[(i+g)%len(contents)], fmt.Sprintf("n%d", i%2)
				path, err := own.File(sha256.Sum256([]byte(c)), name, []byte(c))
				if err != nil {
					t.Error(err)
					return
				}
				b, err := os.ReadFile(path)
				if g == 0 && i%5 == 0 { // the vandal
					os.Chmod(filepath.Dir(path), 0o700)
					os.WriteFile(filepath.Join(filepath.Dir(path), "extra"), []byte("x"), 0o600)
				}
				if err == nil && string(b) != c || err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s holds %.20q, %v", path, b, err)
				}
			}
		})
	}
	wg.Wait()
	for _, c := range contents {
		path := put(t, s, "n0", c)
		wantOnly(t, filepath.Dir(path), map[string]string{"n0": c})
	}
}
