//go:build unix

package gitcmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// TestConvertedPaths checks names that --stdin-paths reads in its own way, many files, and a
// directory below the top of the work tree.
func TestConvertedPaths(t *testing.T) {
	r, _ := scratch(t)
	names := []string{"plain.txt", `"quoted.txt`, `back\slash.txt`, "ends with a return.txt\r", "two\nlines.txt", "ä ö.txt", "utf8.txt"}
	for i := range 400 {
		names = append(names, fmt.Sprintf("many/%d.txt", i))
	}
	put(t, r, ".gitattributes", "*.txt text\n*.txt* text\nutf8.txt working-tree-encoding=UTF-8\n*.bin -text filter=none\n")
	const below = "sub \"dir\"\n"
	for _, name := range names {
		put(t, r, below+"/"+name, "a\r\n")
		put(t, r, below+"/unix "+name, "a\n")
	}
	put(t, r, below+"/x.bin", "a\r\n")
	asked := []string{"x.bin"}
	want := map[string]string{"x.bin": "filter=none"}
	for _, name := range names {
		asked = append(asked, name, "unix "+name)
		want[name] = "text, eol or ident"
	}
	for _, at := range []struct{ dir, prefix string }{{below, ""}, {"", below + "/"}} {
		g := r.In(filepath.Join(r.WorkTree, at.dir))
		paths, expected := []string{}, map[string]string{}
		for _, p := range asked {
			paths = append(paths, at.prefix+p)
			if want[p] != "" {
				expected[at.prefix+p] = want[p]
			}
		}
		got, err := g.Converted(t.Context(), paths)
		if err != nil || !maps.Equal(got, expected) {
			t.Errorf("in %q: %v, %d converted of %d", at.dir, err, len(got), len(expected))
		}
	}
}

// TestConvertedFails checks that a git that fails is an error: no file would be taken for a
// converted one.
func TestConvertedFails(t *testing.T) {
	r, _ := scratch(t)
	put(t, r, ".git/config", "[broken\n")
	put(t, r, "a.txt", "a")
	if got, err := r.In(r.WorkTree).Filtered(t.Context(), []string{"a.txt"}); err == nil || !strings.Contains(err.Error(), "check-attr") {
		t.Errorf("Filtered returned %v, %v", got, err)
	}
	if got, err := r.In(r.WorkTree).Converted(t.Context(), []string{"a.txt"}); err == nil {
		t.Errorf("Converted returned %v", got)
	}
}
