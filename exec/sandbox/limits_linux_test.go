package sandbox

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	python, err := exec.LookPath("python3")
	if err == nil {
		python, err = filepath.EvalSymlinks(python)
	}
	prefix := ""
	if err == nil { // a shim of a version manager is not an interpreter
		out, e := exec.Command(python, "-c", "import sys; print(sys.base_prefix, sys.executable)").Output()
		if prefix, python, _ = strings.Cut(strings.TrimSpace(string(out)), " "); e != nil {
			err = e
		}
	}
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		limits := policy.Limits{CPUSeconds: 1, MemoryMB: 128, Processes: 20, OpenFiles: 32, FileSizeMB: 1, DiskMB: 8}
		g := Grant{Rung: r, Project: dir, Write: []string{dir}, Tmp: true, Net: "none", Limits: limits}
		scripts := map[string]string{
			"cpu_seconds":  "while :; do :; done",
			"processes":    "for i in $(seq 40); do sleep 5 & done; wait",
			"file_size_mb": "head -c 2000000 /dev/zero > src/big",
		}
		if err == nil {
			g.Fixed = append(g.Fixed, prefix)
			scripts["memory_mb"] = python + " -c 'x = bytearray(300 << 20); x[::4096] = b\"x\" * len(x[::4096])'"
			scripts["open_files"] = python + " -c 'x = [open(\"/dev/null\") for i in range(100)]'"
		}
		for limit, script := range scripts {
			start := time.Now()
			res, _, err := confined(t, g, script)
			took := time.Since(start)
			d, ok := err.(*diag.Error)
			if !ok || d.Code != diag.ResourceExceeded || d.Details["limit"] != limit {
				t.Errorf("%s: %v (exit %d %s, %s)", limit, err, res.ExitCode, res.Signal, res.Stderr)
				continue
			}
			t.Logf("%s: max %v, measured %v, after %v", limit, d.Details["max"], d.Details["measured"], took.Round(10*time.Millisecond))
		}
	})
}

// TestDisk writes to the project: memory file systems are no disk.
func TestDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("writes megabytes")
	}
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		g := Grant{Rung: r, Project: dir, Write: []string{dir}, Net: "none", Limits: policy.Limits{DiskMB: 8}}
		_, report, err := confined(t, g, "for i in $(seq 400); do head -c 4000000 /dev/zero > src/a; sleep 0.01; done")
		if d, ok := err.(*diag.Error); !ok || d.Details["limit"] != "disk_mb" {
			t.Error(err, report)
		}
	})
}

// TestNewFiles has a limit that the program exceeds, and as the control one that it does not.
func TestNewFiles(t *testing.T) {
	const script = "i=0; while [ $i -lt 900 ]; do : > src/$i; i=$((i+1)); done; "
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		g := Grant{Rung: r, Project: dir, Write: []string{dir}, Net: "none", Limits: policy.Limits{Files: 200}}
		_, report, err := confined(t, g, script+"sleep 5")
		if d, ok := err.(*diag.Error); !ok || d.Details["limit"] != "files" {
			t.Error(err, report)
		}
		g.Limits.Files = 5000
		if _, _, err := confined(t, g, script); err != nil {
			t.Error(err)
		}
	})
}

func TestQuarantine(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		sub := filepath.Join(dir, "src")
		to := filepath.Join(t.TempDir(), "q")
		g := Grant{Rung: r, Project: dir, Write: []string{sub}, Net: "none", Quarantine: to}
		res, _, err := confined(t, g, "mkdir -p src/new/.git/hooks && echo evil > src/new/.git/hooks/pre-commit && echo x > src/.npmrc && echo ok")
		if strings.TrimSpace(string(res.Stdout)) != "ok" {
			t.Fatalf("%q %q", res.Stdout, res.Stderr)
		}
		d, ok := err.(*diag.Error)
		if !ok || d.Code != diag.PolicyDenied {
			t.Fatal(err)
		}
		if got := d.Details["quarantined"].([]string); len(got) != 2 {
			t.Error(got)
		}
		for _, p := range []string{"new/.git/hooks", ".npmrc"} {
			if _, err := os.Lstat(filepath.Join(sub, p)); err == nil {
				t.Errorf("%s is still there", p)
			}
		}
		if entries, _ := filepath.Glob(filepath.Join(to, "run-*", "*")); len(entries) != 2 {
			t.Error(entries)
		}
		if _, _, err := confined(t, g, "touch src/harmless"); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingSurvives starts children that leave the group and ignore signals.
func TestNothingSurvives(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		if res := nothingSurvives(t, r, "exit 0", time.Minute); !strings.Contains(string(res.Stdout), "up") || res.TimedOut {
			t.Errorf("end: %+v", res)
		}
		for limit := 700 * time.Millisecond; ; limit *= 4 { // a busy machine may need more until the program has begun
			res := nothingSurvives(t, r, "sleep 600", limit)
			if !res.TimedOut || limit > time.Minute {
				t.Fatalf("timeout: %+v", res)
			}
			if strings.Contains(string(res.Stdout), "up") {
				return
			}
		}
	})
}

// nothingSurvives runs a program with such children that ends in a way, and fails if one of
// them is left after the run.
func nothingSurvives(t *testing.T, r Rung, ending string, limit time.Duration) proc.Result {
	t.Helper()
	dir := project(t)
	g := Grant{Self: executable(t), Rung: r, Project: dir, Write: []string{dir}, Net: "none"}
	marker := strconv.FormatInt(time.Now().UnixNano()%1e9+7e9, 10) // the argument of a sleep that no other process has
	cmd := proc.Cmd{Argv: []string{"sh", "-c", "setsid sh -c \"trap '' TERM HUP INT; sleep " + marker + "\" >/dev/null 2>&1 & (setsid sleep " + marker + " &) >/dev/null 2>&1; echo up; " + ending},
		Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Timeout: limit, Grace: 500 * time.Millisecond}
	_, end, err := Wrap(&cmd, g, Probe())
	if err != nil {
		t.Fatal(err)
	}
	res, err := proc.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(&res); err != nil {
		t.Errorf("%s: %v %+v", ending, err, res)
	}
	if left := withArgument(marker); len(left) > 0 {
		t.Errorf("%s: %v survived", ending, left)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return res
}

func withArgument(arg string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range lines {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), arg) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			if pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// TestChildrenWithOutput shows that output of children after the end of the program is
// kept, as without the sandbox.
func TestChildrenWithOutput(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		res, _, err := confined(t, Grant{Rung: r, Project: dir, Read: []string{dir}, Net: "none"}, "(sleep 0.1; echo late) & echo early")
		if string(res.Stdout) != "early\nlate\n" || err != nil {
			t.Errorf("%q %v", res.Stdout, err)
		}
	})
}

func TestListener(t *testing.T) {
	needs(t, Strict)
	dir := project(t)
	listeners := make(chan net.Listener, 1)
	g := Grant{Rung: Strict, Project: dir, Read: []string{dir}, Net: "hosts", Listen: func(l net.Listener) {
		listeners <- l
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "from outside\n")
				c.Close()
			}
		}()
	}}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	res, _, err := confined(t, g, "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; cat <&3'")
	if got := string(res.Stdout); got != "from outside\n" || err != nil {
		t.Errorf("%q %q %v", got, res.Stderr, err)
	}
	(<-listeners).Close()
}

// TestSmallLimits runs a program under the smallest limits: the helper must live.
func TestSmallLimits(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		var l policy.Limits
		for _, limit := range l.All() {
			*limit.Value = limit.Low
		}
		l.Processes = 4
		res, _, err := confined(t, Grant{Rung: r, Project: dir, Read: []string{dir}, Tmp: true, Net: "none", Limits: l}, "sleep 0.3 & sleep 0.2; wait; exit 3")
		if res.ExitCode != 3 || err != nil {
			t.Errorf("%d %s %v: %s", res.ExitCode, res.Signal, err, res.Stderr)
		}
	})
}

func TestBasic(t *testing.T) {
	dir := project(t)
	g := Grant{Rung: Basic, Project: dir, Net: "any", Limits: policy.Limits{FileSizeMB: 1}}
	res, report, err := confined(t, g, "touch rye.yaml; exit 3")
	if res.ExitCode != 3 || err != nil || report.Rung != Basic {
		t.Errorf("%d %v %+v", res.ExitCode, err, report)
	}
	for _, name := range []string{layerMount, layerLandlock, layerSeccomp} {
		if !slices.Contains(report.Missing, name) || slices.Contains(report.Layers, name) {
			t.Errorf("%s: %+v", name, report)
		}
	}
	_, _, err = confined(t, g, "head -c 2000000 /dev/zero > big")
	if d, ok := err.(*diag.Error); !ok || d.Details["limit"] != "file_size_mb" {
		t.Error(err)
	}
}

// TestManyProcesses starts more processes one after the other than the namespace has
// numbers.
func TestManyProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	needs(t, Strict)
	dir := project(t)
	g := Grant{Rung: Strict, Project: dir, Read: []string{dir}, Net: "none", Limits: policy.Limits{Processes: 8}}
	res, report, err := confined(t, g, "i=0; while [ $i -lt 700 ]; do /bin/true || exit 9; i=$((i+1)); done; echo done")
	if string(res.Stdout) != "done\n" || err != nil || os.Geteuid() == 0 && pidMax(1) > 0 && slices.Contains(report.Missing, "rlimit.nproc") {
		t.Errorf("%d %v %s %+v", res.ExitCode, err, res.Stderr, report)
	}
}
