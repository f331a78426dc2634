package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
)

// A directory that git takes for a repository is protected as .git is.
func TestRepositoryIsProtected(t *testing.T) {
	project := t.TempDir()
	for _, dir := range []string{"bare.git/objects", "bare.git/refs", "sub/tree", "half/objects", "half/refs"} {
		if err := os.MkdirAll(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"bare.git/HEAD", "sub/tree/HEAD", "sub/tree/commondir"} {
		if err := os.WriteFile(filepath.Join(project, file), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := Boundary{Project: project}
	for rel, denied := range map[string]bool{
		"bare.git/config": true, "bare.git/hooks/pre-commit": true, "bare.git/a/b/c": true, "bare.git/info/attributes": true,
		"sub/tree/config.worktree": true,
		"half/config":              false, "half/HEAD": true, "config": false, "bare.gitx/config": false, "sub/config": false,
	} {
		if err := b.CheckWrite(rel, rel); (diag.CodeOf(err) == diag.PolicyDenied) != denied {
			t.Errorf("%s: %v", rel, err)
		}
	}
	if err := (Boundary{}).CheckWrite("bare.git/config", "x"); err != nil {
		t.Errorf("without a project: %v", err)
	}
}
