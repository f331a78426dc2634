package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
)

// write, create and replace call the methods with a path: the base is its directory.
func write(path string, b []byte, perm fs.FileMode) error {
	return Private(filepath.Dir(path)).Write(filepath.Base(path), b, perm)
}

func create(path string, b []byte, perm fs.FileMode) error {
	return Private(filepath.Dir(path)).Create(filepath.Base(path), b, perm)
}

func replace(path string, b []byte, perm fs.FileMode) error {
	return Private(filepath.Dir(path)).Replace(filepath.Base(path), b, perm)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// names lists a directory, so that a leftover shows.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, data := range []string{"one", "", "three\x00", strings.Repeat("x", 1<<20)} {
		if err := write(path, []byte(data), 0); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != data {
			t.Errorf("%d bytes, want %d", len(got), len(data))
		}
	}
	if got := names(t, dir); got != "f tmp" {
		t.Errorf("directory holds %s", got)
	}
}

func TestWriteMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits exist on Unix only")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := write(path, nil, 0o600); err != nil || mode(t, path) != 0o600 {
		t.Errorf("new: %o, %v", mode(t, path), err)
	}
	for _, perm := range []fs.FileMode{0o777, 0o755, 0o666, 0o640, 0o600, 0o400} {
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		if err := write(path, []byte("x"), 0); err != nil || mode(t, path) != perm {
			t.Errorf("kept %o: %o, %v", perm, mode(t, path), err)
		}
	}
	if err := write(path, nil, 0o600); err != nil || mode(t, path) != 0o600 {
		t.Errorf("asked: %o, %v", mode(t, path), err)
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := diag.CodeOf(write(sub, nil, 0)); got != diag.NotRegular {
		t.Errorf("directory: %q", got)
	}
	if err := write(filepath.Join(dir, "absent", "f"), nil, 0); err != nil {
		t.Errorf("absent directory: %v", err)
	}
	if runtime.GOOS != "windows" {
		target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
		if got := diag.CodeOf(write(link, []byte("new"), 0)); got != diag.PathEscape || read(t, target) != "old" {
			t.Errorf("link: %q, target %q", got, read(t, target))
		}
		if err := create(link, []byte("new"), 0o600); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("creating over a link: %v", err)
		}
	}
	if got := names(t, dir); strings.Contains(got, Prefix) {
		t.Errorf("directory holds %s", got)
	}
}

func TestCreateExclusive(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := create(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := create(path, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) || read(t, path) != "one" {
		t.Errorf("second: %v, %q", err, read(t, path))
	}
	if runtime.GOOS != "windows" && mode(t, path) != 0o600 {
		t.Errorf("mode %o", mode(t, path))
	}
	dangling := filepath.Join(dir, "dangling")
	if runtime.GOOS != "windows" {
		if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
			t.Fatal(err)
		}
		if err := create(dangling, nil, 0o600); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("dangling link: %v", err)
		}
	}
}

// Readers see one whole version while writers replace the file.
func TestReadersSeeWholeVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	versions := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	if err := write(path, []byte(versions[0]), 0); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, v := range versions {
		writers.Go(func() {
			for range 20 {
				if err := write(path, []byte(v), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		if got := read(t, path); got != versions[0] && got != versions[1] {
			t.Fatalf("%d bytes, neither version", len(got))
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestReplace writes as Write does: whole, with the mode kept, and no
// link followed; only the disk is not waited for.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := replace(file, []byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(file, []byte("two"), 0); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if fi, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := replace(filepath.Dir(file), nil, 0); diag.CodeOf(err) != diag.NotRegular {
		t.Errorf("a folder was replaced: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
