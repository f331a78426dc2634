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

// onRungs runs a test on every rung that isolates.
func onRungs(t *testing.T, test func(t *testing.T, r Rung)) {
	for _, r := range []Rung{Strict, Landlock} {
		t.Run(string(r), func(t *testing.T) {
			needs(t, r)
			test(t, r)
		})
	}
}

func TestFiles(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir, outside := project(t), project(t)
		hidden := filepath.Join(dir, "src", "keys")
		if err := os.MkdirAll(hidden, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{filepath.Join(hidden, "k"), filepath.Join(outside, "k")} {
			if err := os.WriteFile(p, []byte("secret\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		g := Grant{Rung: r, Project: dir, Write: []string{dir}, Hidden: []string{hidden}, Tmp: true, Net: "none", Home: "/home/user"}
		for script, want := range map[string]string{
			"pwd":                               dir,
			"cat rye.yaml":                      "rye: 1",
			"echo b > src/a; cat src/a":         "b",
			"echo t > $TMPDIR/t; cat $TMPDIR/t": "t",
			"cd; ls -A | wc -l":                 "0",
			"cat src/keys/k 2>/dev/null || echo refused":              "refused",
			"cat " + outside + "/k 2>/dev/null || echo refused":       "refused",
			"echo x 2>/dev/null > rye.yaml || echo refused":           "refused",
			"echo x 2>/dev/null >> .git/config || echo refused":       "refused",
			"touch .git/hooks/pre-commit 2>/dev/null || echo refused": "refused",
			"touch .ai/config/x 2>/dev/null || echo refused":          "refused",
			"touch .ai/x 2>/dev/null || echo refused":                 "refused",
			"mv .git moved 2>/dev/null || echo refused":               "refused",
			"touch .ai/tools/x && rm .ai/tools/x && echo ok":          "ok",
			"touch /usr/x 2>/dev/null || echo refused":                "refused",
			"touch /etc/x 2>/dev/null || echo refused":                "refused",
			"head -c1 /etc/shadow 2>/dev/null | wc -c":                "0",
			"mknod src/null c 1 3 2>/dev/null || echo refused":        "refused",
			"cat /proc/1/environ 2>/dev/null | grep -c SECRET":        "0",
		} {
			res, report, err := confined(t, g, script)
			if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want {
				t.Errorf("%s: %q, want %q (%v, stderr %q, %+v)", script, got, want, err, res.Stderr, report)
			}
		}
	})
}

// TestRepositories changes a repository with each grant of it.
func TestRepositories(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		for _, c := range []struct {
			script              string
			read, commit, clone string
		}{
			{"touch .git/objects/x 2>/dev/null && rm .git/objects/x && echo ok || echo refused", "refused", "ok", "ok"},
			{"touch .git/refs/x 2>/dev/null && rm .git/refs/x && echo ok || echo refused", "refused", "ok", "ok"},
			{"echo x 2>/dev/null >.git/index && echo ok || echo refused", "refused", "refused", "ok"},
			{"mv .git/refs/new .git/index 2>/dev/null && echo ok || echo refused", "refused", "refused", "ok"},
			{"touch .git/hooks/pre-commit 2>/dev/null && echo ok || echo refused", "refused", "refused", "refused"},
			{"rm -r .git/hooks 2>/dev/null && echo ok || echo refused", "refused", "refused", "refused"},
			{"echo x 2>/dev/null >>.git/config && echo ok || echo refused", "refused", "refused", "refused"},
		} {
			for mode, want := range map[Repositories]string{ReadRepositories: c.read, CommitRepositories: c.commit, CloneRepositories: c.clone} {
				dir := project(t)
				for _, f := range []string{".git/HEAD", ".git/index", ".git/refs/new", ".git/objects/y", ".git/hooks/x"} {
					write(t, filepath.Join(dir, f))
				}
				g := Grant{Rung: r, Project: dir, Write: []string{dir}, Tmp: true, Net: "none", Home: "/home/user", Repositories: mode}
				res, _, err := confined(t, g, c.script)
				if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want && !(r == Landlock && mode == CloneRepositories) {
					t.Errorf("%q: %s: %q, want %q (%v, %s)", mode, c.script, got, want, err, res.Stderr)
				}
			}
		}
	})
}

func TestStatusAndSignals(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		g := Grant{Rung: r, Project: dir, Read: []string{dir}, Net: "none"}
		for script, want := range map[string]struct {
			code   int
			signal string
		}{
			"exit 0": {0, ""}, "exit 7": {7, ""}, "exit 125": {125, ""}, "exit 255": {255, ""},
			"kill -9 $$": {137, "SIGKILL"}, "kill -TERM $$": {143, "SIGTERM"}, "kill -ABRT $$": {134, "SIGABRT"},
			"kill -USR1 0": {138, "SIGUSR1"},
		} {
			res, _, err := confined(t, g, script)
			if err != nil || res.ExitCode != want.code || res.Signal != want.signal {
				t.Errorf("%s: %d %q %v", script, res.ExitCode, res.Signal, err)
			}
		}
	})
}

func TestStartErrors(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		if err := os.WriteFile(filepath.Join(dir, "script"), []byte("#!/no/such\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		self, _ := os.Executable()
		for _, argv := range [][]string{{"./script"}, {"./src/a"}, {"./absent"}} {
			cmd := proc.Cmd{Argv: argv, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}
			_, bare := proc.Run(context.Background(), cmd)
			_, end, err := Wrap(&cmd, Grant{Self: self, Rung: r, Project: dir, Read: []string{dir}, Net: "none"}, Probe())
			if err != nil {
				t.Fatal(err)
			}
			res, err := proc.Run(context.Background(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if err = end(&res); err == nil || bare == nil || err.Error() != bare.Error() {
				t.Errorf("%v: %v, without the sandbox %v", argv, err, bare)
			}
		}
	})
}

// TestHiddenIsRemoved removes a hidden file after the mounts were planned: nothing is left to
// hide, and the program runs.
func TestHiddenIsRemoved(t *testing.T) {
	needs(t, Strict)
	readable := project(t)
	secret := filepath.Join(readable, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := project(t)
	cmd := proc.Cmd{Argv: []string{"sh", "-c", "ls " + readable + "; echo ran"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}
	grant := Grant{
		Self:    executable(t),
		Rung:    Strict,
		Project: dir,
		Read:    []string{dir, readable},
		Hidden:  []string{secret},
		Net:     "none",
	}
	_, end, err := Wrap(&cmd, grant, Probe())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	res, err := proc.Run(t.Context(), cmd)
	if err == nil {
		err = end(&res)
	}
	if err != nil || !strings.HasSuffix(string(res.Stdout), "ran\n") {
		t.Errorf("%q, %v", res.Stdout, err)
	}
}
