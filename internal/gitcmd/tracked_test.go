package gitcmd

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder that is laid out as a repository of its own, which tracks nothing,
// hides nothing from the one that tracks its files.
func TestTrackedSeesThroughARepositoryInside(t *testing.T) {
	for name, config := range map[string]string{
		"none": "", "bare": "[core]\n\tbare = true\n", "elsewhere": "[core]\n\tbare = false\n\tworktree = .\n", "damaged": "[core\n",
	} {
		r, git := scratch(t)
		trust := filepath.Join(r.WorkTree, "home", "trust")
		for rel, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "objects/keep": "", "refs/keep": "", "key.toml": "x\n"} {
			path := filepath.Join(trust, filepath.FromSlash(rel))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if tracked, err := Tracked(t.Context(), trust, os.Environ()); tracked || err != nil {
			t.Errorf("%s, before: %v, %v", name, tracked, err)
		}
		git("add", "home/trust/HEAD", "home/trust/config", "home/trust/key.toml", "home/trust/objects/keep", "home/trust/refs/keep")
		if tracked, err := Tracked(t.Context(), trust, os.Environ()); !tracked || err != nil {
			t.Errorf("%s: %v, %v", name, tracked, err)
		}
	}
	if tracked, err := Tracked(t.Context(), t.TempDir(), os.Environ()); tracked || err != nil {
		t.Errorf("without a repository: %v, %v", tracked, err)
	}
}
