package lock

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
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

// TestReadStateKnown reads a lock that is known: it is used while the file has its text, and
// changing what was read changes nothing that is known.
func TestReadStateKnown(t *testing.T) {
	dir := t.TempDir()
	text := exampleLock(t).Render()
	file := filepath.Join(dir, LockFile)
	put := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	l, _ := ParseLock(text)
	l.Minor = 7 // as no text states it
	known := &Known{Text: text, Lock: l}
	s, err := ReadState(Dir(dir), known)
	if err != nil || s.Lock == nil || s.Lock.Minor != 7 || s.Lock == l {
		t.Fatalf("the known lock is not used: %+v, %v", s, err)
	}
	gone := s.Lock.Items[0].Ref
	s.Lock.RemoveItem(gone)
	if l.Item(gone) == nil {
		t.Error("a change of what was read changed what is known")
	}
	for _, other := range [][]byte{append(slices.Clone(text), '\n'), text[:len(text)-1], bytes.Replace(text, []byte("item: "), []byte("itez: "), 1)} {
		put(other)
		if s, err = ReadState(Dir(dir), known); err == nil && s.Lock.Minor == 7 {
			t.Errorf("the known lock is used for %d bytes instead of %d", len(other), len(text))
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if s, err = ReadState(Dir(dir), known); err != nil || s.Lock != nil {
		t.Errorf("without the file: %+v, %v", s, err)
	}
}

// TestHasItems changes, removes, repeats and exchanges entries.
func TestHasItems(t *testing.T) {
	l := exampleLock(t)
	l.SetItem(Item{Ref: ref("config:agent/limits"), Digest: digestOf("c")})
	l.SetItem(Item{Ref: ref("directive:a"), Digest: digestOf("d")})
	byKind := func(items []Item, kinds ...item.Kind) (out []Item) {
		for _, k := range kinds {
			for _, it := range items {
				if it.Ref.Kind == k {
					out = append(out, it)
				}
			}
		}
		return out
	}
	for _, order := range [][]item.Kind{{item.Tool, item.Directive, item.Config}, {item.Config, item.Directive, item.Tool}} {
		items := byKind(l.Items, order...)
		if len(items) != len(l.Items) || !l.HasItems(items) {
			t.Fatalf("the items are not those of the lock in the order %v", order)
		}
		for i := range items {
			changed := slices.Clone(items)
			changed[i].Digest[0] ^= 1
			twice := slices.Clone(items)
			twice[i] = twice[(i+1)%len(twice)]
			for name, other := range map[string][]Item{"changed": changed, "twice": twice, "removed": slices.Delete(slices.Clone(items), i, i+1), "more": append(slices.Clone(items), items[i])} {
				if l.HasItems(other) {
					t.Errorf("%s: %s: the items are those of the lock", items[i].Ref, name)
				}
			}
		}
	}
	if empty := (&Lock{}); !empty.HasItems(nil) || empty.HasItems(l.Items[:1]) || l.HasItems(nil) {
		t.Error("no items")
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
	l := &Lock{Bundles: []Bundle{{ID: idOf("github.com/acme/a"), Replace: Replacement{Path: "../a"}}, {ID: idOf("github.com/acme/d"), Replace: Replacement{Path: "../d"}}, {ID: idOf("github.com/acme/e")}}}
	fs := Replaced(m, l)
	if len(fs) != 2 || fs[0].Path != ProjectFileName || fs[0].Line != 3 || fs[1].Path != LockFile || fs[1].Code != diag.PolicyDenied {
		t.Errorf("%+v", fs)
	}
	if fs := Replaced(nil, nil); len(fs) != 0 {
		t.Errorf("%+v", fs)
	}
}
