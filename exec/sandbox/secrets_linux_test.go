package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"open": 0o644, "own": 0o600, "group": 0o640, "sub/own": 0o600, "sub/open": 0o644, "closed/open": 0o644} {
		write(t, filepath.Join(dir, name))
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("own", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := unreadable(nil, dir)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], dir+"/")
	}
	slices.Sort(got)
	if want := []string{"closed", "group", "own", "sub/own"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnreadableRemembered changes files after the names in their directories are remembered: a
// mode, a new file, a file in place of a link, a new directory. Each is found, and what did not
// change is not listed again.
func TestUnreadableRemembered(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"open", "sub/open", "sub/deep/open", "other/open"} {
		write(t, at(name))
		if err := os.Chmod(at(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("open", at("sub/link")); err != nil {
		t.Fatal(err)
	}
	if device, _ := trackedDevice(dir); device == 0 {
		t.Skip("the file system may keep any time")
	}
	seen := &Listings{young: time.Nanosecond}
	find := func() string {
		time.Sleep(20 * time.Millisecond) // the next change has another time
		got := unreadable(seen, dir)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	if got := find(); got != "" || seen.unsaved != 4 {
		t.Fatalf("at first %q, %d directories are remembered", got, seen.unsaved)
	}
	for _, step := range []struct {
		what   string
		change func() error
		want   string
		listed int
	}{
		{"nothing", func() error { return nil }, "", 0},
		{"a mode", func() error { return os.Chmod(at("sub/deep/open"), 0o600) }, "sub/deep/open", 0},
		{"a new file", func() error { return os.WriteFile(at("other/own"), nil, 0o600) }, "other/own sub/deep/open", 1},
		{"a file in place of a link", func() error {
			return errors.Join(os.WriteFile(at("new"), nil, 0o640), os.Rename(at("new"), at("sub/link")))
		}, "other/own sub/deep/open sub/link", 2},
		{"a new directory", func() error {
			return errors.Join(os.MkdirAll(at("sub/more"), 0o755), os.WriteFile(at("sub/more/own"), nil, 0o600))
		}, "other/own sub/deep/open sub/link sub/more/own", 2},
		{"a directory in place of another", func() error {
			return errors.Join(os.Rename(at("other"), at("sub/moved")), os.Rename(at("sub/more"), at("other")))
		}, "other/own sub/deep/open sub/link sub/moved/own", 4},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		before := seen.unsaved
		if got := find(); got != step.want || seen.unsaved-before != step.listed {
			t.Errorf("%s: %q, want %q, and %d directories are listed, want %d", step.what, got, step.want, seen.unsaved-before, step.listed)
		}
	}
}

// TestRootReadsNoSecrets has root start a program that reads files of the system which only root
// reads. The control reads one that others can read.
func TestRootReadsNoSecrets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root is the owner of such files")
	}
	program := buildEscape(t)
	dir, err := os.MkdirTemp("/opt", "rye-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"token": 0o600, "open": 0o644} {
		write(t, filepath.Join(dir, name))
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	site := newSite(t, program)
	for _, rung := range []Rung{Strict, Landlock} {
		needRung(t, rung)
		for name, want := range map[string]bool{"token": false, "open": true} {
			res, _, err := site.run(t, rung, []string{program, "read", filepath.Join(dir, name)}, policy.NetNone, func(_ *Grant, _ *proc.Cmd) {})
			if got := strings.Contains(string(res.Stdout), `"reached":true`); err != nil || got != want {
				t.Errorf("%s %s: %s %v", rung, name, res.Stdout, err)
			}
		}
	}
}
