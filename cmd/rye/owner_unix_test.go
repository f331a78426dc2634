//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machine is a computer with two users who share a directory: ada runs rye, the
// other one attacks her.
type machine struct {
	t        *testing.T
	dir, rye string
}

const ada, attacker = 65533, 65534

func newMachine(t *testing.T) *machine {
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	m := &machine{t: t}
	var err error
	// t.TempDir is in a directory that other users cannot enter.
	m.dir, err = os.MkdirTemp("", "rye-owner-*")
	m.check(err)
	t.Cleanup(func() { os.RemoveAll(m.dir) })
	m.check(os.Chmod(m.dir, 0o755))
	self, err := os.Executable()
	m.check(err)
	program, err := os.ReadFile(self)
	m.check(err)
	m.rye = filepath.Join(m.dir, "rye")
	m.check(os.WriteFile(m.rye, program, 0o755))
	m.make("home", 0o755, ada)
	m.make("shared", 0o777|os.ModeSticky, 0)
	// The machine's own one may have directories of other runs in it.
	m.make("tmp", 0o777|os.ModeSticky, 0)
	return m
}

func (m *machine) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) make(name string, mode os.FileMode, uid int) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	m.check(os.MkdirAll(path, 0o755))
	m.check(os.Chmod(path, mode))
	m.check(os.Chown(path, uid, uid))
}

// run runs rye as a user in a directory and returns its exit status and output.
func (m *machine) run(uid uint32, in, env string, args ...string) (int, string) {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), m.rye, args...)
	c.Dir = filepath.Join(m.dir, in)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(m.dir, "home"), "WORK=" + m.dir, "TMPDIR=" + filepath.Join(m.dir, "tmp")}, strings.Fields(env)...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// Security 7 and 8: an attacker prepares a project above ada's directory and a
// cache that she names. Neither is used before she accepts the project, and the
// cache never.
func TestOtherUserOfTheMachine(t *testing.T) {
	m := newMachine(t)
	m.make("shared/work", 0o755, ada)
	m.make("shared/.ai/tools", 0o755, attacker)
	m.make("shared/.ai", 0o755, attacker)
	m.make("shared/cache", 0o755, attacker)
	tool := filepath.Join(m.dir, "shared/.ai/tools/t.sh")
	m.check(os.WriteFile(tool, []byte("# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# description: T.\nid -u\n"), 0o644))
	m.check(os.Chown(tool, attacker, attacker))

	want := func(uid uint32, env string, code int, text string, args ...string) {
		t.Helper()
		if got, out := m.run(uid, "shared/work", env, args...); got != code || !strings.Contains(out, text) {
			t.Errorf("rye %s as %d: exit %d, want %d and %q:\n%s", strings.Join(args, " "), uid, got, code, text, out)
		}
	}
	refused := "/shared/.ai belongs to user "
	want(ada, "", 8, refused, "key", "new", "--owner", "ada", "--no-passphrase")
	want(ada, "", 8, refused, "sign", "*")
	want(0, "", 8, refused, "list") // root is not the owner either
	want(attacker, "HOME="+m.dir, 0, "tool:t", "list")

	want(ada, "", 0, "is accepted", "trust", "directory", "..")
	want(ada, "", 0, "tool:t", "list")
	if b, err := os.ReadFile(tool); err != nil || bytes.Contains(b, []byte("rye:signed")) {
		t.Errorf("the refused sign changed the tool: %v\n%s", err, b)
	}

	cache := "RYE_CACHE=" + filepath.Join(m.dir, "shared/cache")
	want(ada, cache, 1, "cache belongs to user ", "run", "tool", "rye/agent/telemetry/system")
	want(ada, "RYE_CACHE="+filepath.Join(m.dir, "shared/mine"), 0, "", "list")
}
