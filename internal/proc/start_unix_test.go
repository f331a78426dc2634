//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// EXEC-2 of the original: E2BIG has to be understood.
func TestE2BIG(t *testing.T) {
	c := sh("exit 0", "small", strings.Repeat("x", 4<<20))
	_, err := Run(t.Context(), c)
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.ExecutionFailed || e.Details["return_code"] != 126 || e.Reason != "too_long" || len(e.Message) > 300 {
		t.Fatalf("%v", err)
	}
	if runtime.GOOS == "linux" && !strings.Contains(e.Message, "argument 5 has 4194304 bytes") {
		t.Error(e.Message)
	}
	c = sh("exit 0")
	c.Env = append(c.Env, "BIG="+strings.Repeat("x", 4<<20))
	if _, err = Run(t.Context(), c); err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), `variable "BIG"`) || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

func file(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartFaults(t *testing.T) {
	dir := t.TempDir()
	plain := file(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644)
	crlf := file(t, filepath.Join(dir, "crlf"), "#!/bin/sh\r\necho\r\n", 0o755)
	noexec := file(t, filepath.Join(dir, "data"), "\x00\x01data", 0o755)
	path := []string{"PATH=" + dir}
	for name, tc := range map[string]struct {
		c    Cmd
		exit any
		want string
	}{
		"missing":       {Cmd{Argv: []string{"no-such-program"}, Env: path}, 127, "command not found"},
		"missing file":  {Cmd{Argv: []string{dir + "/nope"}, Env: path}, 127, "command not found"},
		"no PATH":       {Cmd{Argv: []string{"sh"}}, 127, "command not found"},
		"not ours":      {Cmd{Argv: []string{"sh"}, Env: path}, 127, "command not found"},
		"no name":       {Cmd{Argv: []string{""}, Env: path}, 127, "name is empty"},
		"no argv":       {Cmd{Env: path}, nil, "no command"},
		"not exec":      {Cmd{Argv: []string{"plain"}, Env: path}, 126, "not executable"},
		"not exec path": {Cmd{Argv: []string{plain}, Env: path}, 126, "not executable"},
		"interpreter":   {Cmd{Argv: []string{crlf}, Env: path}, 127, "interpreter"},
		"format":        {Cmd{Argv: []string{noexec}, Env: path}, 126, "not a program of this system"},
		"a folder":      {Cmd{Argv: []string{dir}, Env: path}, 126, "not executable"},
		"no dir":        {Cmd{Argv: []string{"/bin/sh"}, Dir: dir + "/gone"}, nil, "working directory"},
		"NUL":           {Cmd{Argv: []string{"/bin/sh", "a\x00b"}}, nil, "NUL"},
		"NUL in env":    {Cmd{Argv: []string{"/bin/sh"}, Env: []string{"A=s3cret\x00"}}, nil, "NUL"},
		"bad env":       {Cmd{Argv: []string{"/bin/sh"}, Env: []string{"nothing"}}, nil, "no name"},
	} {
		_, err := Run(t.Context(), tc.c)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.ExecutionFailed || e.Details["return_code"] != tc.exit || !strings.Contains(e.Message, tc.want) {
			t.Errorf("%s: %v, want %q with exit %v", name, err, tc.want, tc.exit)
			continue
		}
		if tc.exit != nil && tc.want != "name is empty" && e.Reason == "" && !strings.Contains(e.Message, "has no PATH") {
			t.Errorf("%s: no hint", name)
		}
		if strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: the message shows a value: %s", name, e.Message)
		}
	}
}

// V42: neither the current directory nor our own PATH is searched.
func TestV42LookPath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file(t, filepath.Join(dir, "tool"), "#!/bin/sh\necho hijacked\n", 0o755)
	file(t, filepath.Join(dir, "sub/tool"), "#!/bin/sh\necho sub\n", 0o755)
	t.Setenv("PATH", dir)
	for _, path := range []string{"", ".", ":", ":/nowhere", "/nowhere:", "./", "sub", "..", ":::"} {
		if got, err := LookPath("tool", []string{"PATH=" + path}); err == nil {
			t.Errorf("PATH=%q finds %s", path, got)
		}
	}
	file(t, filepath.Join(dir, "a/tool"), "", 0o644)
	if err := os.MkdirAll(filepath.Join(dir, "b/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere", "PATH=" + dir + "/a:" + dir + "/b:.:" + dir + "/sub:" + dir}
	got, err := LookPath("tool", env)
	if err != nil || got != filepath.Join(dir, "sub/tool") {
		t.Errorf("%s, %v", got, err)
	}
	if r := mustRun(t, Cmd{Argv: []string{"tool"}, Env: env}); string(r.Stdout) != "sub\n" {
		t.Errorf("%q", r.Stdout)
	}
	if r := mustRun(t, Cmd{Argv: []string{"./tool"}, Dir: filepath.Join(dir, "sub")}); string(r.Stdout) != "sub\n" {
		t.Errorf("relative to Dir: %q", r.Stdout)
	}
	if r := mustRun(t, Cmd{Path: "/bin/sh", Argv: []string{"other name", "-c", "echo $0"}}); string(r.Stdout) != "other name\n" {
		t.Errorf("Path apart from Argv[0]: %q", r.Stdout)
	}
}

// A program that was just written is busy while a process has it open for writing.
func TestBusyFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not busy here")
	}
	path := file(t, filepath.Join(t.TempDir(), "x"), "#!/bin/sh\necho ran\n", 0o755)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	if r := mustRun(t, Cmd{Argv: []string{path}}); string(r.Stdout) != "ran\n" {
		t.Errorf("%q", r.Stdout)
	}
}

// TestOnStdout sees everything that stdout got, also what is not kept.
func TestOnStdout(t *testing.T) {
	var got []byte
	res, err := Run(t.Context(), Cmd{
		Path: "/bin/sh", Argv: []string{"sh", "-c", "printf 'a\\nb'; echo x >&2; printf c"},
		MaxStdout: -1, OnStdout: func(b []byte) { got = append(got, b...) },
	})
	if err != nil || string(got) != "a\nbc" || res.StdoutDropped != 4 || string(res.Stderr) != "x\n" {
		t.Errorf("%q, %+v, %v", got, res, err)
	}
}

// TestSlowCallback sees everything that a program wrote before it ended, also if the callback is
// slower than the program.
func TestSlowCallback(t *testing.T) {
	t.Parallel()
	got := 0
	const size = 60_000
	res, err := Run(t.Context(), Cmd{
		Path: "/bin/sh", Argv: []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero", size)},
		Env: []string{"PATH=/usr/bin:/bin"}, Grace: -1, MaxStdout: -1,
		OnStdout: func(b []byte) {
			got += len(b)
			time.Sleep(afterKill + 200*time.Millisecond)
		},
	})
	if err != nil || got != size || res.Orphans {
		t.Errorf("%d of %d bytes, %+v, %v", got, size, res, err)
	}
}
