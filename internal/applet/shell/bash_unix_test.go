//go:build unix

package shell

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

// TestMain runs eight tests at a time: most of them wait for programs that wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // -parallel N overrides it
	}
	m.Run()
}

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
}

func TestBash(t *testing.T) {
	t.Parallel()
	needBash(t)
	dir := wiretest.Project(t, map[string]string{"sub/f.txt": "content\n"})
	for name, c := range map[string]struct {
		in                     obj
		output, stdout, stderr string
	}{
		"stdout":             {obj{"command": "echo hi"}, "hi\n", "hi\n", ""},
		"no newline":         {obj{"command": "printf hi"}, "hi", "hi", ""},
		"nothing":            {obj{"command": "true"}, "", "", ""},
		"both, in order":     {obj{"command": "echo 1; sleep 1; echo 2 >&2; sleep 1; echo 3"}, "1\n2\n3\n", "1\n3\n", "2\n"},
		"a bash word":        {obj{"command": "a=(x y); [[ ${#a[@]} == 2 ]] && echo two"}, "two\n", "two\n", ""},
		"stdin is empty":     {obj{"command": "cat; echo end"}, "end\n", "end\n", ""},
		"working_dir":        {obj{"command": "cat f.txt", "working_dir": "sub"}, "content\n", "content\n", ""},
		"not UTF-8":          {obj{"command": `printf 'a\xffb'`}, "a\uFFFDb", "a\uFFFDb", ""},
		"dash":               {obj{"command": "-x 2>/dev/null || echo dash"}, "dash\n", "dash\n", ""},
		"braces stay as are": {obj{"command": "echo '{file_path} ${HOME}'"}, "{file_path} ${HOME}\n", "{file_path} ${HOME}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ok(t, dir, "bash", c.in)
			if got["output"] != c.output || got["stdout"] != c.stdout || got["stderr"] != c.stderr {
				t.Errorf("output %q stdout %q stderr %q", got["output"], got["stdout"], got["stderr"])
			}
			if got["exit_code"] != float64(0) || got["truncated"] != false || got["duration_ms"] == nil {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestBashEnvironment(t *testing.T) {
	needBash(t)
	t.Setenv("FOR_BASH", "given")
	if got := ok(t, t.TempDir(), "bash", obj{"command": "echo $FOR_BASH"}); got["output"] != "given\n" || got["stdout"] != "given\n" || got["stderr"] != "" {
		t.Errorf("got %v", got)
	}
}

func TestBashFailures(t *testing.T) {
	t.Parallel()
	needBash(t)
	dir := wiretest.Project(t, map[string]string{"f": ""})
	got, exit := run(t, dir, "bash", obj{"command": "echo out; echo why >&2; exit 3"})
	wiretest.CheckFailure(t, got, exit, "EXECUTION_FAILED", "exit status 3")
	if got["exit_code"] != float64(3) || got["stdout"] != "out\n" || got["stderr"] != "why\n" {
		t.Errorf("got %v", got)
	}
	got, exit = run(t, dir, "bash", obj{"command": "kill -9 $$"})
	wiretest.CheckFailure(t, got, exit, "EXECUTION_FAILED", "SIGKILL")
	if got, _ := run(t, dir, "bash", obj{"command": "no-such-program-here"}); got["exit_code"] != float64(127) {
		t.Errorf("got %v", got)
	}
	fails(t, dir, "bash", obj{}, "VALIDATION_FAILED", "command is missing")
	fails(t, dir, "bash", obj{"command": "true", "timeout": 601}, "VALIDATION_FAILED", "600")
	fails(t, dir, "bash", obj{"command": "true", "timeout": 0}, "VALIDATION_FAILED", "timeout")
	fails(t, dir, "bash", obj{"command": "true", "workdir": "."}, "UNKNOWN_PARAMETER", "working_dir")
	fails(t, dir, "bash", obj{"command": "true", "working_dir": "f"}, "FILE_SYSTEM_ERROR", "not a directory")
	fails(t, dir, "bash", obj{"command": "true", "working_dir": "no"}, "FILE_SYSTEM_ERROR", "not a directory")
}

func TestBashWithoutBash(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	fails(t, dir, "bash", obj{"command": "true"}, "EXECUTION_FAILED", "no bash in PATH", "127")
}

func TestBashCutsLongOutput(t *testing.T) {
	t.Parallel()
	needBash(t)
	dir := t.TempDir()
	got := ok(t, dir, "bash", obj{"command": "echo first; seq 200000; echo last; echo alone >&2"})
	for key, limit := range map[string]int{"stdout": maxStream, "output": maxMixed} {
		s := got[key].(string)
		if len(s) > limit+100 || !strings.HasPrefix(s, "first\n1\n") || !strings.Contains(s, "bytes left out") {
			t.Errorf("%s: %d bytes, %q…", key, len(s), s[:20])
		}
		if !strings.HasSuffix(strings.ReplaceAll(s, "alone\n", ""), "199999\n200000\nlast\n") {
			t.Errorf("%s ends %q", key, s[len(s)-40:])
		}
	}
	if got["truncated"] != true || got["stderr"] != "alone\n" {
		t.Errorf("truncated %v stderr %q", got["truncated"], got["stderr"])
	}
}

func TestBashLimitIsExact(t *testing.T) {
	t.Parallel()
	needBash(t)
	dir := t.TempDir()
	got := ok(t, dir, "bash", obj{"command": "head -c " + strconv.Itoa(maxStream) + " /dev/zero | tr '\\0' x"})
	if got["truncated"] != false || len(got["stdout"].(string)) != maxStream {
		t.Errorf("truncated %v, %d bytes", got["truncated"], len(got["stdout"].(string)))
	}
	got = ok(t, dir, "bash", obj{"interleaved": true, "command": "echo 1; sleep 1; echo 2 >&2"})
	if got["output"] != "1\n2\n" || got["stdout"] != nil || got["stderr"] != nil {
		t.Errorf("interleaved: %v", got)
	}
	got = ok(t, dir, "bash", obj{"command": "head -c " + strconv.Itoa(maxStream+1) + " /dev/zero | tr '\\0' x"})
	if got["truncated"] != true {
		t.Error("one byte more is not marked as cut")
	}
}

// TestBashTimeoutEndsTheGroup wants the grandchildren gone, also those that
// ignore SIGTERM.
func TestBashTimeoutEndsTheGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for timeouts")
	}
	t.Parallel()
	needBash(t)
	dir := t.TempDir()
	for limit := 700 * time.Millisecond; ; limit *= 4 { // a busy machine may need more until the command has begun
		got, exit := run(t, dir, "bash", obj{
			"command": `(trap '' TERM; echo $BASHPID >pid1; while :; do sleep 0.05; done) & sleep 60 & echo $! >pid2; until test -s pid1; do sleep 0.02; done; echo started; wait`,
			"timeout": limit.Seconds(),
		})
		wiretest.CheckFailure(t, got, exit, "TIMEOUT", limit.String(), "and its processes")
		if got["timed_out"] == true && got["stdout"] == "started\n" {
			break
		}
		if limit > 30*time.Second {
			t.Fatalf("got %v", got)
		}
		_ = os.Remove(filepath.Join(dir, "pid1"))
	}
	for _, file := range []string{"pid1", "pid2"} {
		gone(t, dir, file)
	}
}

// gone waits for the process whose id is in a file to end.
func gone(t *testing.T, dir, file string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(wiretest.Get(t, dir, file)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("%s: process %d is still there", file, pid)
}

// zombie reports a process that ended and was not waited for: what
// adopted it may be slow, or absent in a container.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestBashBackgroundDoesNotHang leaves a child that keeps the pipes open.
func TestBashBackgroundDoesNotHang(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a program in the background")
	}
	t.Parallel()
	needBash(t)
	dir := t.TempDir()
	begin := time.Now()
	got := ok(t, dir, "bash", obj{"command": "sleep 100 & echo $! >pid; echo done", "timeout": 60})
	if got["stdout"] != "done\n" {
		t.Errorf("got %v", got)
	}
	if time.Since(begin) > 50*time.Second {
		t.Error("the call waited for the background process")
	}
	gone(t, dir, "pid")
}

func TestBashIsCancelledWithItsContext(t *testing.T) {
	t.Parallel()
	needBash(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	got, exit := wiretest.Applets(Applets()).RunJSON(t, ctx, wire.Params{Dir: dir}, "bash", `{"command":"sleep 100 & echo $! >pid; touch ready; wait"}`)
	wiretest.CheckFailure(t, got, exit, "CANCELLED")
	gone(t, dir, "pid")
}

func TestWorkingDirStaysInTheProject(t *testing.T) {
	t.Parallel()
	needBash(t)
	top := t.TempDir()
	dir := filepath.Join(top, "p")
	wiretest.Put(t, dir, "in/a.txt", "inside\n")
	wiretest.Put(t, top, "p-evil/secret.txt", "secret\n")
	for link, target := range map[string]string{"out": "../p-evil", "good": "in"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"..", "out", "good/../../p-evil", filepath.Join(top, "p-evil"), "/"} {
		fails(t, dir, "bash", obj{"command": "cat secret.txt", "working_dir": path}, "PATH_ESCAPE")
	}
	fails(t, dir, "bash", obj{"command": "true", "working_dir": "in/a.txt"}, "FILE_SYSTEM_ERROR", "not a directory")
	if got := ok(t, dir, "bash", obj{"command": "cat a.txt", "working_dir": "good"}); got["stdout"] != "inside\n" {
		t.Errorf("got %v", got)
	}
}
