package commitindex

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFollow makes a commit with the index of a run, while the person has staged another file or
// another change of the same one.
func TestFollow(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for _, c := range []struct {
		name, staged, want string
		fails              bool
	}{
		{"nothing staged", "", "", false},
		{"another file", "b", "b", false},
		{"the same file", "a", "a", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
			git := func(more []string, words ...string) string {
				t.Helper()
				cmd := exec.Command("git", words...)
				cmd.Dir, cmd.Env = dir, append(env, more...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %q: %v\n%s", words, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			put := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			git(nil, "init", "-q")
			put("a", "1\n")
			git(nil, "add", "a")
			git(nil, "commit", "-qm", "one")
			if c.staged != "" {
				put(c.staged, "staged\n")
				git(nil, "add", c.staged)
			}
			x, err := New(dir)
			if err != nil {
				t.Fatal(err)
			}
			put("a", "2\n")
			git(x.Environ(), "reset", "-q")
			git(x.Environ(), "add", "a")
			git(x.Environ(), "commit", "-qm", "two")
			if err := x.Close(t.Context(), env); (err != nil) != c.fails {
				t.Errorf("%v", err)
			}
			if got := git(nil, "diff", "--cached", "--name-only"); got != c.want {
				t.Errorf("staged is %q, want %q", got, c.want)
			}
			if _, err := os.Lstat(x.Dir()); err == nil {
				t.Error("the index of the run remains")
			}
		})
	}
	if x, err := New(t.TempDir()); x != nil || err != nil {
		t.Errorf("without a repository: %v %v", x, err)
	}
}
