package gitcmd

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestIgnored asks about ignored files among those that git does not judge: it ends at the first of them and answers
// nothing about the rest.
func TestIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write(".gitignore", "*.secret\n!open.secret\n")
	write("tracked.secret", "")
	run("add", "-f", "tracked.secret")
	run("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,a/sub")
	g, err := New(Params{Dir: dir, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"a/sub/one.txt", "a/sub/two.secret", "x.secret", "y.txt", "open.secret", "tracked.secret", "z/deep.secret"}
	found, err := g.Ignored(t.Context(), paths)
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, []string{"x.secret", "z/deep.secret"}) || diag.CodeOf(err) != diag.ExecutionFailed {
		t.Errorf("%q, %v", got, err)
	}
	if found, err := g.Ignored(t.Context(), paths[2:]); err != nil || !found["x.secret"] || found["y.txt"] || found["open.secret"] || found["tracked.secret"] {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := g.Ignored(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("no path: %v, %v", found, err)
	}
	write(".git/config", "[")
	if found, err := g.Ignored(t.Context(), paths); err == nil || found != nil {
		t.Errorf("a broken configuration: %v, %v", found, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if out, err := exec.Command("mkfifo", filepath.Join(dir, "z.gitignore")).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "z"), 0o755), os.Rename(filepath.Join(dir, "z.gitignore"), filepath.Join(dir, "z", ".gitignore"))); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Ignored(t.Context(), []string{"z/deep.secret"}); diag.CodeOf(err) != diag.NotRegular {
		t.Errorf("a pipe in place of .gitignore: %v", err)
	}
}
