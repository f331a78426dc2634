package lock

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ryeos/rye/diag"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadState(t *testing.T) {
	s, err := ReadState(Dir(t.TempDir()), nil)
	if err != nil || s.ProjectFile == nil || s.Lock != nil || s.Sum == nil || s.ProjectText != nil || s.LockText != nil || s.SumText != nil {
		t.Fatalf("empty directory: %+v, %v", s, err)
	}
	// Glob characters of the directory's own path are not part of a pattern.
	name := "a[b]*?c"
	if runtime.GOOS == "windows" {
		name = "a[b]c" // it permits no other
	}
	dir := filepath.Join(t.TempDir(), name)
	manifest := "rye: 1\nworkspace: [./bundles/*, ./bundles/x, ./none]\n"
	m, _ := ParseProjectFile([]byte(manifest))
	l := &Lock{Manifest: m.Settings()}
	writeFiles(t, dir, map[string]string{
		ProjectFileName: manifest, LockFile: string(l.Render()), SumFile: "",
		"bundles/x/rye.yaml": "rye: 1\nname: x\n", "bundles/y/rye.yaml": "", "bundles/none/file": "", "bundles/file": "",
	})
	if s, err = ReadState(Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	if len(s.Members) != 2 || s.Members[0].Path != "./bundles/x" || s.Members[1].Path != "./bundles/y" {
		t.Errorf("members %+v", s.Members)
	}
	if s.Lock == nil || s.Theirs != nil || len(s.Notes) != 0 || s.SumText == nil || string(s.ProjectText) != manifest {
		t.Errorf("state %+v", s)
	}
}

func TestReadStateErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		code  diag.Code
		path  string
	}{
		"manifest": {map[string]string{ProjectFileName: "rye: [\n"}, diag.ParsingError, ProjectFileName},
		"lock":     {map[string]string{LockFile: ""}, diag.ParsingError, LockFile},
		"sum":      {map[string]string{SumFile: "x\n"}, diag.ParsingError, SumFile},
		"member":   {map[string]string{ProjectFileName: "rye: 1\nworkspace: [./m]\n", "m/rye.yaml": "x: 1\n"}, diag.ValidationFailed, "m/rye.yaml"},
		"type":     {map[string]string{LockFile + "/x": ""}, diag.NotRegular, ""},
	} {
		dir := t.TempDir()
		writeFiles(t, dir, c.files)
		_, err := ReadState(Dir(dir), nil)
		if fs := diag.FindingsOf(err); diag.CodeOf(err) != c.code || c.path != "" && (len(fs) == 0 || fs[0].Path != c.path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplaced(t *testing.T) {
	m, _ := ParseProjectFile([]byte("rye: 1\nreplace:\n  github.com/acme/a: ../a\n  github.com/acme/b: github.com/acme/c\n"))
	l := &Lock{Bundles: []Bundle{{ID: "github.com/acme/a", Replace: "../a"}, {ID: "github.com/acme/d", Replace: "../d"}, {ID: "github.com/acme/e"}}}
	fs := Replaced(m, l)
	if len(fs) != 2 || fs[0].Path != ProjectFileName || fs[0].Line != 3 || fs[1].Path != LockFile || fs[1].Code != diag.PolicyDenied {
		t.Errorf("%+v", fs)
	}
	if fs := Replaced(nil, nil); len(fs) != 0 {
		t.Errorf("%+v", fs)
	}
}
