package packages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/packages/source"
)

// Of the verdicts of two spaces, one that keeps the files from being read stays.
func TestReleaseAfter(t *testing.T) {
	unknown, broken := diag.New(diag.KeyUnknown, "unknown"), diag.New(diag.HashMismatch, "broken")
	for _, c := range []struct{ before, now, want error }{
		{nil, nil, nil}, {unknown, nil, unknown}, {nil, unknown, unknown}, {broken, nil, broken}, {broken, unknown, broken}, {unknown, broken, broken},
	} {
		before, now := &Release{Notes: []string{"a"}}, &Release{Notes: []string{"b"}}
		before.Refused, now.Refused = c.before, c.now
		if now.After(before); now.Refused != c.want || !slices.Equal(now.Notes, []string{"a", "b"}) {
			t.Errorf("%v, then %v: %v, %q", c.before, c.now, now.Refused, now.Notes)
		}
	}
}

// A directory that appeared during a download stays.
func TestWritePulledKeeps(t *testing.T) {
	snap, err := source.InMemory(source.Origin{}, map[string][]byte{"a": []byte("new")}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	base := atomicfile.Private(t.TempDir())
	if err := writePulled(t.Context(), snap, base, "fresh"); err != nil || read(t, base.Path("fresh/a")) != "new" {
		t.Fatal(err)
	}
	write(t, base.Path("taken/a"), "old")
	if err := os.Symlink(base.Path("missing"), base.Path("link")); err != nil {
		t.Log(err) // Windows needs a privilege
	}
	for _, name := range []string{"taken", "link"} {
		if _, err := os.Lstat(base.Path(name)); err != nil {
			continue
		}
		if err := writePulled(t.Context(), snap, base, name); err == nil || !strings.Contains(err.Error(), "it appeared while") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := read(t, base.Path("taken/a")); got != "old" {
		t.Errorf("the directory has %q", got)
	}
	if left, _ := filepath.Glob(base.Path("missing")); left != nil {
		t.Error("the target of a link was made")
	}
}
