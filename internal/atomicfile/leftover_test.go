package atomicfile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTemporary(t *testing.T) {
	for name, want := range map[string]bool{
		Prefix + rand.Text():                     true,
		Prefix + strings.Repeat("A", 26):         true,
		Prefix + strings.Repeat("A", 25):         false,
		Prefix + strings.Repeat("A", 27):         false,
		Prefix + strings.Repeat("a", 26):         false,
		Prefix + strings.Repeat("A", 23) + ".py": false,
		Prefix:                                   false,
		"x" + Prefix + strings.Repeat("A", 26):   false,
		Prefix + strings.Repeat("A", 25) + "1":   false,
		".git":                                   false,
		"":                                       false,
	} {
		if got := Temporary(name); got != want {
			t.Errorf("Temporary(%q) = %t", name, got)
		}
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	put := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	young, theirs := Prefix+strings.Repeat("Y", 26), Prefix+"notes.md"
	put(Prefix+strings.Repeat("A", 26), time.Hour)
	put(Prefix+strings.Repeat("B", 26), 11*time.Minute)
	put(young, time.Minute)
	put(theirs, time.Hour)
	put("item.py", time.Hour)
	folder := Prefix + strings.Repeat("D", 26)
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, folder), now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	Sweep(dir, now.Add(-10*time.Minute))
	if got, want := names(t, dir), strings.Join([]string{folder, young, theirs, "item.py"}, " "); got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	Sweep(filepath.Join(dir, "absent"), now) // must not panic or create anything
	if got := strings.Count(names(t, dir), " "); got != 3 {
		t.Errorf("%d entries after a sweep of an absent folder, want 4", got+1)
	}
}
