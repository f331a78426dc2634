package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/atomicfile"
)

// lab is a home and a project for tests that start rye as processes of its
// own and disturb them.
type lab struct {
	t    testing.TB
	rye  string
	home string
	dir  string          // the project
	more func() []string // more of the environment; may be nil
}

func newLab(t testing.TB) *lab {
	t.Helper()
	rye, err := exec.LookPath("rye") // TestMain put this test binary on PATH under that name
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, rye: rye, home: t.TempDir(), dir: t.TempDir()}
	t.Cleanup(func() { writable(l.home) })
	return l
}

// writable lets a temporary folder be removed that holds read-only folders.
func writable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
}

func (l *lab) env() []string {
	env := []string{"HOME=" + l.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TEST_VERSION=v0.4.1"}
	for _, name := range []string{"config", "data", "state", "cache"} {
		env = append(env, fmt.Sprintf("XDG_%s_HOME=%s", strings.ToUpper(name), filepath.Join(l.home, name)))
	}
	if l.more != nil {
		env = append(env, l.more()...)
	}
	return env
}

func (l *lab) cmd(args ...string) *exec.Cmd {
	cmd := exec.Command(l.rye, args...)
	cmd.Dir, cmd.Env = l.dir, l.env()
	return cmd
}

// run returns stdout, all output and the exit status of a whole run.
func (l *lab) run(args ...string) (stdout, all string, status int) {
	l.t.Helper()
	cmd := l.cmd(args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if e := cmd.Run(); e != nil && !errors.As(e, &exit) {
		l.t.Fatal(e)
	}
	return out.String(), out.String() + err.String(), cmd.ProcessState.ExitCode()
}

// must is run for what has to succeed.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	stdout, all, status := l.run(args...)
	if status != 0 {
		l.t.Fatalf("rye %s: exit status %d\n%s", strings.Join(args, " "), status, all)
	}
	return stdout
}

// killed starts rye and ends it with SIGKILL after a random part of span. It
// reports whether the process was still at work.
func (l *lab) killed(span time.Duration, args ...string) bool {
	l.t.Helper()
	cmd := l.cmd(args...)
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(rand.N(span))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode() == -1
}

// span returns how long a whole run takes, and a little more.
func (l *lab) span(args ...string) time.Duration {
	start := time.Now()
	l.must(args...)
	return time.Since(start) * 11 / 10
}

func (l *lab) write(rel, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(path string) []byte {
	l.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// leftovers returns the temporary files below dir.
func leftovers(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), atomicfile.Prefix) {
			if !atomicfile.Temporary(d.Name()) {
				t.Errorf("%s is not recognised as a temporary file", path)
			}
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rounds is how often a test tries its luck.
func rounds(n int) int {
	switch {
	case testing.Short():
		return max(1, n/5)
	case os.Getenv("RYE_LONG") == "":
		return max(1, n/2)
	}
	return n
}
