package filestamp

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestSame changes each kind of thing once.
func TestSame(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"another content": func(dir string) error { return os.WriteFile(filepath.Join(dir, "d", "a"), []byte("other"), 0o600) },
		"a new file":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "d", "sub", "new"), nil, 0o600) },
		"an absent file":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "absent"), nil, 0o600) },
		"a removed file":  func(dir string) error { return os.Remove(filepath.Join(dir, "f")) },
		"a replaced file of the same size and time": func(dir string) error {
			f := filepath.Join(dir, "f")
			fi, err := os.Stat(f)
			if err != nil {
				return err
			}
			if err := os.WriteFile(f+"2", []byte("two"), 0o600); err != nil {
				return err
			}
			if err := os.Chtimes(f+"2", fi.ModTime(), fi.ModTime()); err != nil {
				return err
			}
			return os.Rename(f+"2", f)
		},
		"another mode": func(dir string) error { return os.Chmod(filepath.Join(dir, "f"), 0o640) },
	} {
		if name == "another mode" && runtime.GOOS == "windows" {
			continue // the mode of a file is whether it is read-only
		}
		dir := t.TempDir()
		for _, sub := range []string{"d", "d/sub"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"d/a", "f"} {
			if err := os.WriteFile(filepath.Join(dir, f), []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		later := time.Now().Add(time.Hour) // nothing is recent
		s := Take(later, []string{filepath.Join(dir, "d"), filepath.Join(dir, "f"), filepath.Join(dir, "absent")})
		if !s.Same() {
			t.Errorf("%s: not the same before it", name)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, inode := changeOf(t, dir); inode == 0 && (name == "a replaced file of the same size and time") {
			continue // this system has nothing but size and time
		}
		if s.Same() {
			t.Errorf("%s: the same after it", name)
		}
	}
}

func changeOf(t *testing.T, path string) (int64, uint64) {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return Change(fi)
}

// TestRecent has a file that was written when it was read: another write in the same
// moment might not be seen.
func TestRecent(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	since := time.Now()
	if err := os.WriteFile(f, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if Take(since, []string{f}).Same() {
		t.Error("a file that was just written is the same")
	}
}
