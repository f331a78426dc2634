package gitcmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Since uses the times of the branch itself: not those of merged commits, and not
// one before an earlier commit of the branch.
func TestSince(t *testing.T) {
	dir := t.TempDir()
	day := func(n int) string { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).Format(time.RFC3339) }
	git := func(when int, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_COMMITTER_DATE="+day(when), "GIT_AUTHOR_DATE="+day(when),
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	add := func(when int, line string) {
		t.Helper()
		name := filepath.Join(dir, "p", "rye.sum")
		old, _ := os.ReadFile(name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, append(old, line+"\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		git(when, "add", ".")
		git(when, "commit", "-qm", line)
	}
	git(1, "init", "-q", "-b", "main")
	add(5, "one")
	git(6, "checkout", "-qb", "side")
	add(2, "merged") // its author chose an early date
	git(7, "checkout", "-q", "main")
	git(8, "merge", "-q", "--no-ff", "-m", "merge", "side")
	add(3, "early") // before its parent
	add(9, "last")
	g, err := New(Params{Dir: dir, Cwd: dir, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Repo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{"one": 5, "merged": 8, "early": 8, "last": 9, "absent": 0} {
		at, err := repo.Since(t.Context(), "main", "p/rye.sum", line)
		if got := at.UTC(); err != nil || want == 0 && !at.IsZero() || want > 0 && got.Format(time.RFC3339) != day(want) {
			t.Errorf("%s: %v, %v, want day %d", line, got, err, want)
		}
	}
	if _, err := repo.Since(t.Context(), "--all", "p/rye.sum", "one"); err == nil {
		t.Error("an option is taken as a revision")
	}
}
