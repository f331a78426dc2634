package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/journal"
)

func newJournal(t *testing.T) journal.Journal {
	dir := t.TempDir()
	return journal.Journal{
		Record: filepath.Join(dir, "a", "unfinished.json"), Lock: filepath.Join(dir, "a", "unfinished.lock"),
		Dirs: map[string]string{"a": filepath.Join(dir, "a"), "b": filepath.Join(dir, "new", "b")},
	}
}

// content returns the text of a file, and fails for one that others may read.
func content(t *testing.T, j journal.Journal, dir, name string) string {
	t.Helper()
	path := filepath.Join(j.Dirs[dir], name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: mode %v, %v", path, fi.Mode(), err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	j := newJournal(t)
	if err := j.Write(t.Context(), journal.File{Dir: "a", Name: "x", Data: []byte("1")}, journal.File{Dir: "b", Name: "y", Data: []byte("2\x00")}); err != nil {
		t.Fatal(err)
	}
	if x, y := content(t, j, "a", "x"), content(t, j, "b", "y"); x != "1" || y != "2\x00" || j.Pending() {
		t.Errorf("%q, %q, pending %t", x, y, j.Pending())
	}
	if fi, err := os.Stat(j.Dirs["b"]); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
		t.Errorf("directory mode %v, %v", fi.Mode(), err)
	}
}

// A record that a killed process left is applied once, and before the next change.
func TestFinish(t *testing.T) {
	j := newJournal(t)
	leave := func(data string) {
		t.Helper()
		text := fmt.Sprintf(`{"files": [{"dir": "a", "name": "x", "data": %q}]}`, data)
		if err := errors.Join(os.MkdirAll(j.Dirs["a"], 0o700), os.WriteFile(j.Record, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	leave("MQ==")
	if !j.Pending() {
		t.Error("the record is not pending")
	}
	if err := j.Finish(t.Context()); err != nil || content(t, j, "a", "x") != "1" || j.Pending() {
		t.Errorf("%v, %q, pending %t", err, content(t, j, "a", "x"), j.Pending())
	}
	if err := os.Remove(filepath.Join(j.Dirs["a"], "x")); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(j.Dirs["a"], "x")); err == nil {
		t.Error("the change was made twice")
	}
	leave("Mg==")
	if err := j.Write(t.Context(), journal.File{Dir: "b", Name: "y", Data: []byte("3")}); err != nil || content(t, j, "a", "x") != "2" || content(t, j, "b", "y") != "3" {
		t.Errorf("%v: %q, %q", err, content(t, j, "a", "x"), content(t, j, "b", "y"))
	}
}

// A record names files in the given directories and nothing else.
func TestRefuses(t *testing.T) {
	j := newJournal(t)
	if err := os.MkdirAll(j.Dirs["a"], 0o700); err != nil {
		t.Fatal(err)
	}
	record := func(dir, name string) string {
		return fmt.Sprintf(`{"files": [{"dir": %q, "name": %q, "data": ""}]}`, dir, name)
	}
	for what, text := range map[string]string{
		"not JSON": "x", "another directory": record("c", "x"), "no directory": record("", "x"), "no name": record("a", ""),
		"above": record("a", "../x"), "parent": record("a", ".."), "itself": record("a", "."), "below": record("a", "b/x"),
		"absolute": record("a", "/x"), "large": record("a", "x") + strings.Repeat(" ", 1<<20),
	} {
		if err := os.WriteFile(j.Record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var e *diag.Error
		if err := j.Finish(t.Context()); !errors.As(err, &e) || e.Reason != "journal" || e.Details["path"] != j.Record {
			t.Errorf("%s: %v", what, err)
		}
		if err := j.Write(t.Context(), journal.File{Dir: "a", Name: "y"}); err == nil {
			t.Errorf("%s: another change replaces the record", what)
		}
		if left, _ := filepath.Glob(filepath.Join(j.Dirs["a"], "[xy]")); len(left) > 0 {
			t.Errorf("%s: wrote %q", what, left)
		}
	}
	if err := os.Remove(j.Record); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), journal.File{Dir: "c", Name: "x"}); err == nil || j.Pending() {
		t.Errorf("a change in an unknown directory: %v, pending %t", err, j.Pending())
	}
	if runtime.GOOS == "windows" {
		return
	}
	target := filepath.Join(t.TempDir(), "record")
	if err := errors.Join(os.WriteFile(target, []byte(record("a", "x")), 0o600), os.Symlink(target, j.Record)); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(t.Context()); err == nil {
		t.Error("a record behind a link is applied")
	}
}
