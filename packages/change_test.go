package packages

import (
	"github.com/ryeos/rye/lock/edit"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/lock"
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

func read(t *testing.T, p string) string {
	t.Helper()
	b, err := os.ReadFile(p)
	if os.IsNotExist(err) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Protection 14: if one file cannot be written, those before it get their old
// text, except rye.sum.
func TestRestore(t *testing.T) {
	e := New(Params{Base: t.TempDir()})
	write(t, e.file(lock.ProjectFileName), "old manifest\n")
	if err := os.Mkdir(e.file(lock.LockFile), 0o755); err != nil { // blocks the file
		t.Fatal(err)
	}
	w := &writer{e: e}
	w.write(lock.SumFile, nil, []byte("sum\n"))
	w.write(lock.ProjectFileName, []byte("old manifest\n"), []byte("new manifest\n"))
	w.write(lock.LockFile, nil, []byte("lock\n"))
	if w.err == nil {
		t.Fatal("a folder was overwritten")
	}
	w.restore()
	if m, s := read(t, e.file(lock.ProjectFileName)), read(t, e.file(lock.SumFile)); m != "old manifest\n" || s != "sum\n" {
		t.Errorf("after restore: %q, %q", m, s)
	}
}

// hold removes the staging directories of killed processes and nothing else.
func TestSweep(t *testing.T) {
	e := New(Params{Base: t.TempDir()})
	work := filepath.Join(e.p.Base, ".ai", "cache", "tmp")
	left := atomicfile.Prefix + strings.Repeat("A", 26)
	write(t, filepath.Join(work, left, "0", "f"), "half")
	write(t, filepath.Join(work, "other", "f"), "whole")
	release, err := e.hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release()
	if exists(filepath.Join(work, left)) || !exists(filepath.Join(work, "other", "f")) {
		t.Error("hold removed the wrong directory")
	}
}

func TestVendorText(t *testing.T) {
	for _, c := range []struct {
		in   string
		on   bool
		want string
	}{
		{"", true, "rye: 1\nvendor: true\n"},
		{"rye: 1", true, "rye: 1\nvendor: true\n"},
		{"# a\nrye: 1\nvendor: false # b\nname: github.com/a/b\n", true, "# a\nrye: 1\nname: github.com/a/b\nvendor: true\n"},
		{"rye: 1\nvendor: true\n", false, "rye: 1\n"},
	} {
		if got := string(edit.Vendor([]byte(c.in), c.on)); got != c.want {
			t.Errorf("%q, %t: %q, want %q", c.in, c.on, got, c.want)
		}
	}
}

func TestRemoveSum(t *testing.T) {
	text := "github.com/a/b v1.0.0 h1:x\ngithub.com/a/b v1.0.0-rc.1 h1:y\ngithub.com/a/bb v1.0.0 h1:z\n"
	got := string(removeSum([]byte(text), lock.Module{ID: idOf("github.com/a/b"), Version: "v1.0.0"}))
	if strings.Contains(got, "h1:x") || !strings.Contains(got, "h1:y") || !strings.Contains(got, "h1:z") {
		t.Errorf("%q", got)
	}
}

// Protection 6: only a bundle that was locked before can widen its permissions.
func TestChangesOf(t *testing.T) {
	old := &lock.Lock{Bundles: []lock.Bundle{
		{ID: idOf("github.com/a/a"), Version: "v1.0.0", Caps: []string{"rye.execute.tool.x"}},
		{ID: idOf("github.com/a/b"), Version: "v1.0.0"},
		{ID: idOf("github.com/a/c"), Version: "v1.0.0", Caps: []string{"net:x.example"}},
	}}
	now := &lock.Lock{Bundles: []lock.Bundle{
		{ID: idOf("github.com/a/a"), Version: "v1.1.0", Caps: []string{"rye.execute.tool.x", "net:api.example"}, Exec: []string{".ai/tools/x.sh"}},
		{ID: idOf("github.com/a/c"), Version: "v1.1.0"},
		{ID: idOf("github.com/a/d"), Version: "v1.0.0", Caps: []string{"net:new.example"}},
	}}
	got := map[string]Change{}
	for _, c := range changesOf(old, now) {
		got[c.ID] = c
	}
	a := got["github.com/a/a"]
	if !a.Widens() || strings.Join(a.NewCaps, " ") != "net:api.example" || strings.Join(a.NewHosts, " ") != "api.example" || len(a.NewExec) != 1 {
		t.Errorf("a: %+v", a)
	}
	for id, to := range map[string]string{"github.com/a/b": "", "github.com/a/c": "v1.1.0", "github.com/a/d": "v1.0.0"} {
		if c, ok := got[id]; !ok || c.To != to || c.Widens() {
			t.Errorf("%s: %+v", id, c)
		}
	}
	if len(got["github.com/a/c"].GoneCaps) != 1 || len(got) != 4 {
		t.Errorf("%d changes: %+v", len(got), got)
	}
}

func (e *Engine) file(name string) string { return filepath.Join(e.p.Files, name) }
