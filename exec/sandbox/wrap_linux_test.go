package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// confined runs a command line of sh under a grant.
func confined(t *testing.T, g Grant, script string) (proc.Result, Report, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.Self = self
	cmd := proc.Cmd{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: g.Project}
	report, end, err := Wrap(&cmd, g, Probe())
	if err != nil {
		t.Fatal(err)
	}
	res, err := proc.Run(context.Background(), cmd)
	if err != nil {
		_ = end(nil)
		t.Fatal(err)
	}
	err = end(&res)
	return res, report, err
}

// project returns a directory with files of a project.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{".git/objects", ".ai/tools", ".ai/config", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", "rye.yaml": "rye: 1\n", "src/a": "a\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func needs(t *testing.T, r Rung) {
	t.Helper()
	if l := Probe(); !l.reaches(r) {
		err := l.unavailable(r, "")
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestStrict(t *testing.T) {
	needs(t, Strict)
	dir := project(t)
	g := Grant{Rung: Strict, Project: dir, Write: []string{dir}, Tmp: true, Net: "none", Home: "/home/user"}
	res, report, err := confined(t, g, `pwd; id -u; echo b > src/b; cat src/a; ls /; ls -la $HOME; echo $$; ls /proc | grep -c '^[0-9]'; echo x > /tmp/x; cat /tmp/x; touch rye.yaml .git/hooks/x .ai/x 2>&1; touch .ai/tools/ok; ls .ai/tools; exit 7`)
	t.Logf("%+v %v\n%s%s", report, err, res.Stdout, res.Stderr)
	if res.ExitCode != 7 || !strings.Contains(string(res.Stdout), "a\n") {
		t.Error(res.ExitCode)
	}
}
