package links

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFollow compares Follow with filepath.EvalSymlinks, in both orders of the paths.
func TestFollow(t *testing.T) {
	base := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(base, "a", "b"), 0o755))
	must(os.WriteFile(filepath.Join(base, "a", "b", "file"), nil, 0o644))
	for name, to := range map[string]string{"l": "a", "a/up": "..", "abs": filepath.Join(base, "l", "b"), "loop": "loop", "gone": "nowhere", "a/b/self": "file"} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Skip("no links:", err)
		}
	}
	paths := []string{".", "a", "a/b/file", "l", "l/b", "l/b/file", "a/up/l/up/a", "abs/file", "abs/self", "l/up/abs/../a", "loop", "loop/x",
		"gone", "gone/x", "absent", "absent/x", "a/b/file/x", "a//b/", "a/../a/b", "l/.."}
	for i := range 2 * len(paths) {
		seen := Seen{}
		for k := range paths {
			j := k
			if i%2 == 1 {
				j = len(paths) - 1 - k
			}
			path := base + "/" + paths[(j+i)%len(paths)]
			want, werr := filepath.EvalSymlinks(path)
			got, err := seen.Follow(path)
			if (err != nil) != (werr != nil) || err == nil && got != want {
				t.Errorf("%s: %q %v, want %q %v", path, got, err, want, werr)
			}
			if os.IsNotExist(err) != os.IsNotExist(werr) {
				t.Errorf("%s: %v, want %v", path, err, werr)
			}
		}
	}
	if got := (Seen{}).Real(filepath.Join(base, "absent")); got != filepath.Join(base, "absent") {
		t.Errorf("a path that does not exist is at %q", got)
	}
}
