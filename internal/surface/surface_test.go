package surface

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/stdlib"
)

// The user has the time of the allowance to confirm a copy or a signature of an agent.
func TestAgentsQuestionsEnd(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rye.yaml"), []byte("rye: 1\npolicy:\n  agents:\n    approvals:\n      timeout_seconds: 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := &project.Env{
		Getenv: func(name string) string {
			if name == "HOME" || name == "USERPROFILE" || name == "AppData" || name == "LocalAppData" {
				return home
			}
			return ""
		},
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"} },
		Now:     time.Now,
		Stdlib:  stdlib.FS(),
		Etc:     filepath.Join(home, "etc"),
		Base:    dir,
		Named:   dir,
	}
	p, err := env.Open(t.Context(), project.Strict)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Workspace(t.Context(), p, exec.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if w.AskTimeout != 7*time.Second {
		t.Errorf("the time of a question is %v", w.AskTimeout)
	}
}
