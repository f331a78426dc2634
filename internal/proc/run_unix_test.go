//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func sh(script string, args ...string) Cmd {
	return Cmd{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: []string{"PATH=/usr/bin:/bin"}}
}

func mustRun(t testing.TB, c Cmd) Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustTimeOut runs c with a time that ends it. A busy machine may need more than the first
// time until the program has begun, which its output shows: then it gets more.
func mustTimeOut(t *testing.T, c Cmd) Result {
	t.Helper()
	for c.Timeout = 300 * time.Millisecond; ; c.Timeout *= 4 {
		if r := mustRun(t, c); len(r.Stdout) > 0 || c.Timeout > 30*time.Second {
			return r
		}
	}
}

func TestRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := sh(`cat; echo "$1|$2"; echo err >&2; pwd; exit 3`, "a  b", "$(id)")
	c.Dir, c.Stdin = dir, strings.NewReader("in\n")
	r := mustRun(t, c)
	if got, want := string(r.Stdout), "in\na  b|$(id)\n"+dir+"\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if string(r.Stderr) != "err\n" || r.ExitCode != 3 || r.Signal != "" || r.TimedOut || r.Cancelled || r.Orphans {
		t.Errorf("%+v", r)
	}
	if r.Duration <= 0 || r.MaxRSS <= 0 {
		t.Errorf("no usage: %+v", r)
	}
	if err := r.Err("running x"); diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	if err := mustRun(t, sh("exit 0")).Err("x"); err != nil {
		t.Error(err)
	}
}

// V43: nothing of our environment or stdin is inherited.
func TestV43NothingInherited(t *testing.T) {
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("SECRET", "s3cret")
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	for _, given := range [][]string{nil, {}, {"B=2", "A=0", "A=1"}} {
		got := string(mustRun(t, Cmd{Path: env, Argv: []string{"env"}, Env: given}).Stdout)
		want := ""
		if len(given) > 0 {
			want = "A=1\nB=2\n"
		}
		if got != want {
			t.Errorf("with %q the program sees %q", given, got)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	old := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = old; r.Close() }()
	w.WriteString("secret of the parent\n")
	if got := mustRun(t, sh("cat")).Stdout; len(got) != 0 {
		t.Errorf("the program read %q from our stdin", got)
	}
}

func alive(pid string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil || n <= 0 || syscall.Kill(n, 0) != nil {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	return !bytes.Contains(stat, []byte(") Z ")) // an orphan's zombie waits for init
}

func dies(t *testing.T, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(strings.TrimSpace(pid)); err != nil {
		t.Fatalf("no process id: %q", pid)
	}
	for range 3000 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(pid))
	syscall.Kill(n, syscall.SIGKILL)
	t.Errorf("process %d is alive", n)
}

// The original killed only the direct child.
func TestTimeoutKillsTheGroup(t *testing.T) {
	for name, script := range map[string]string{
		"plain":         `sleep 600 & echo $!; wait`,
		"ignoring TERM": `trap "" TERM; sh -c 'trap "" TERM; while :; do sleep 1; done' & echo $!; while :; do sleep 1; done`,
		"stopped":       `sleep 600 & echo $!; kill -STOP $$`,
		"only below":    `sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh(script)
			c.Grace = 300 * time.Millisecond
			r := mustTimeOut(t, c)
			if !r.TimedOut || r.Cancelled || r.Signal == "" || r.ExitCode <= 128 {
				t.Errorf("%+v", r)
			}
			if diag.CodeOf(r.Err("x")) != diag.Timeout {
				t.Error(r.Err("x"))
			}
			dies(t, string(r.Stdout))
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := sh(`sleep 600 & echo $!; wait`)
	c.OnLine = func(Stream, []byte) { cancel() }
	r, err := Run(ctx, c)
	if err != nil || !r.Cancelled || r.TimedOut || r.Signal != "SIGTERM" || r.ExitCode != 143 || diag.CodeOf(r.Err("x")) != diag.Cancelled {
		t.Errorf("%+v, %v", r, err)
	}
	dies(t, string(r.Stdout))
	if r, err = Run(ctx, sh("echo never")); err != nil || !r.Cancelled || len(r.Stdout) > 0 {
		t.Errorf("started after the end: %+v, %v", r, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err = Run(ctx, sh("sleep 600")); err != nil || !r.TimedOut || r.Cancelled {
		t.Errorf("deadline: %+v, %v", r, err)
	}
}

func TestGraceIsUsed(t *testing.T) {
	c := sh(`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
	c.Grace = 20 * time.Second
	r := mustTimeOut(t, c)
	if string(r.Stdout) != "up\nbye\n" || !r.TimedOut || r.ExitCode != 0 || r.Err("x") == nil {
		t.Errorf("%+v %s", r, r.Stdout)
	}
}

// A descendant that keeps an output open must not keep Run.
func TestGrandchildHoldsPipe(t *testing.T) {
	c := sh(`sleep 600 & echo $!`)
	c.Grace = 100 * time.Millisecond
	r := mustRun(t, c)
	if r.ExitCode != 0 || r.Orphans {
		t.Errorf("%+v", r)
	}
	dies(t, string(r.Stdout))

	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	c = sh(`setsid sh -c 'echo $$; exec sleep 600' & sleep 0.2`)
	c.Grace = 100 * time.Millisecond
	r = mustRun(t, c)
	if !r.Orphans || r.ExitCode != 0 {
		t.Errorf("a descendant in its own session: %+v", r)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout))); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestGrandchildMayFinish(t *testing.T) {
	c := sh(`(sleep 0.2; echo late) & echo early`)
	c.Grace = 30 * time.Second
	if r := mustRun(t, c); string(r.Stdout) != "early\nlate\n" {
		t.Errorf("%q", r.Stdout)
	}
}

func TestBackgroundDiesWithRun(t *testing.T) {
	r := mustRun(t, sh(`sleep 600 >/dev/null 2>&1 </dev/null & echo $!`))
	dies(t, string(r.Stdout))
}

func TestHugeOutput(t *testing.T) {
	c := sh(`head -c 30000000 /dev/zero & head -c 20000000 /dev/zero >&2; wait`)
	c.MaxStderr = 1000
	r := mustRun(t, c)
	if len(r.Stdout) != DefaultMaxOutput || r.StdoutDropped != 30000000-DefaultMaxOutput {
		t.Errorf("stdout kept %d, dropped %d", len(r.Stdout), r.StdoutDropped)
	}
	if len(r.Stderr) != 1000 || r.StderrDropped != 20000000-1000 {
		t.Errorf("stderr kept %d, dropped %d", len(r.Stderr), r.StderrDropped)
	}
	c = sh("echo abc")
	c.MaxStdout = -1
	if r = mustRun(t, c); len(r.Stdout) != 0 || r.StdoutDropped != 4 {
		t.Errorf("kept %q, dropped %d", r.Stdout, r.StdoutDropped)
	}
	c.MaxStdout = 4
	if r = mustRun(t, c); string(r.Stdout) != "abc\n" || r.StdoutDropped != 0 {
		t.Errorf("kept %q, dropped %d", r.Stdout, r.StdoutDropped)
	}
}

func TestOnLine(t *testing.T) {
	var got []string
	c := sh(`printf 'a\n\nb\r\n'; printf 'err\n' >&2; sleep 0.1; printf 'half'; sleep 0.1; printf ' line\nlast'`)
	c.MaxStdout = -1
	c.OnLine = func(s Stream, line []byte) { got = append(got, fmt.Sprintf("%d:%s", s, line)) }
	mustRun(t, c)
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if want := []string{"1:a", "1:", "1:b\r", "1:half line", "1:last", "2:err"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLineCutter(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for in, want := range map[string][]int{
		"":                       nil,
		"\n\n":                   {0, 0},
		long:                     {maxLine},
		long + "\n":              {maxLine},
		long + "\n\n":            {maxLine, 0},
		long + "y\nz":            {maxLine, 1, 1},
		long + long + "ab\ncd\n": {maxLine, maxLine, 2, 2},
	} {
		for _, step := range []int{1, 7, 1000, 1 << 20} {
			var got []int
			var mu sync.Mutex
			l := &lineCutter{mu: &mu, fn: func(_ Stream, b []byte) { got = append(got, len(b)) }}
			for chunk := range slices.Chunk([]byte(in), step) {
				l.write(chunk)
			}
			l.flush()
			if !slices.Equal(got, want) {
				t.Errorf("%d bytes in steps of %d: %v, want %v", len(in), step, got, want)
			}
		}
	}
}

type brokenReader struct{ n int }

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, errors.New("the disk is gone")
	}
	return copy(p, "data"), nil
}

func TestStdin(t *testing.T) {
	big := strings.Repeat("0123456789", 300000)
	c := sh("cat")
	c.Stdin = strings.NewReader(big)
	if r := mustRun(t, c); string(r.Stdout) != big {
		t.Errorf("%d bytes came back", len(r.Stdout))
	}
	c = sh("exit 0") // does not read
	c.Stdin = strings.NewReader(big)
	if r := mustRun(t, c); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	for _, script := range []string{"cat", "sleep 600"} {
		c = sh(script)
		c.Stdin, c.Grace = &brokenReader{n: 2}, time.Second
		if _, err := Run(t.Context(), c); diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("%s with broken input: %v", script, err)
		}
	}
}

func TestSignal(t *testing.T) {
	r := mustRun(t, sh("kill -9 $$"))
	if r.Signal != "SIGKILL" || r.ExitCode != 137 || r.TimedOut || r.Cancelled {
		t.Errorf("%+v", r)
	}
	if err := r.Err("x"); !strings.Contains(err.Error(), "SIGKILL") {
		t.Error(err)
	}
}

func TestManyAtOnceLeakNothing(t *testing.T) {
	mustRun(t, sh("exit 0"))
	files, routines := countFDs(t), runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			c := sh(`cat; echo "$1"; exit "$1"`, strconv.Itoa(i))
			c.Stdin, c.Timeout = strings.NewReader("in\n"), time.Minute
			r, err := Run(t.Context(), c)
			if err != nil || string(r.Stdout) != fmt.Sprintf("in\n%d\n", i) || r.ExitCode != i {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
			Run(t.Context(), Cmd{Argv: []string{"/no/such/program"}, Stdin: strings.NewReader("x")})
		})
	}
	wg.Wait()
	for range 1500 {
		if countFDs(t) <= files && runtime.NumGoroutine() <= routines {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("descriptors %d -> %d, goroutines %d -> %d", files, countFDs(t), routines, runtime.NumGoroutine())
}

func countFDs(t *testing.T) int {
	des, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(des)
}

func TestUsage(t *testing.T) {
	r := mustRun(t, sh(`i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`))
	if r.CPU <= 0 || r.MaxRSS < 100<<10 || r.MaxRSS > 10<<30 {
		t.Errorf("CPU %v, MaxRSS %d", r.CPU, r.MaxRSS)
	}
}

func BenchmarkRun(b *testing.B) {
	b.Run("Run", func(b *testing.B) {
		for b.Loop() {
			if _, err := Run(b.Context(), Cmd{Argv: []string{"/bin/true"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os/exec", func(b *testing.B) {
		for b.Loop() {
			c := exec.Command("/bin/true")
			c.Stdout, c.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestCancelGrace wants what ctx has ended to be killed sooner than what ran
// out of its own time.
func TestCancelGrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := sh(`trap '' TERM; echo up; while :; do sleep 0.05; done`)
	c.Grace, c.CancelGrace = 10*time.Hour, 50*time.Millisecond
	c.OnLine = func(Stream, []byte) { cancel() }
	if r, err := Run(ctx, c); err != nil || !r.Cancelled || r.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", r, err)
	}
	c = sh(`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
	c.Grace, c.CancelGrace = 20*time.Second, time.Nanosecond
	if r := mustTimeOut(t, c); string(r.Stdout) != "up\nbye\n" || !r.TimedOut {
		t.Errorf("%+v %s", r, r.Stdout)
	}
}
