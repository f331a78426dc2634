package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// delegationVar makes TestMain use a delegated cgroup in the process that it kills.
const delegationVar = "RYE_TEST_SANDBOX_CGROUP"

// delegate returns a new cgroup with the controllers that this machine has in version 2,
// which can be none: starting, ending and removing need none.
func delegate(t *testing.T) *delegation {
	t.Helper()
	for _, mount := range []string{cgroupMount, filepath.Join(cgroupMount, "unified")} {
		var fs unix.Statfs_t
		if unix.Statfs(mount, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}
		dir, err := os.MkdirTemp(mount, "rye-test-")
		if err != nil {
			t.Skipf("no cgroup can be created: %v", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("a cgroup is left: %v", err)
			}
		})
		return &delegation{dir: dir, memory: enabled(dir, "memory"), pids: enabled(dir, "pids")}
	}
	t.Skip("version 2 of cgroups is not mounted")
	return nil
}

// run runs a command line of sh in a cgroup of d.
func (d *delegation) run(t *testing.T, g Grant, script string) (proc.Result, Report, error) {
	t.Helper()
	ladder := Probe().AtMost(g.Rung)
	ladder.cgroup = d
	var err error
	if g.Self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	cmd := proc.Cmd{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: g.Project, Timeout: 20 * time.Second}
	report, end, err := Wrap(&cmd, g, ladder)
	if err != nil {
		t.Fatal(err)
	}
	res, err := proc.Run(t.Context(), cmd)
	if err != nil {
		_ = end(nil)
		t.Fatal(err)
	}
	err = end(&res)
	return res, report, err
}

// left are the cgroups in a delegated one.
func (d *delegation) left(t *testing.T) (out []string) {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(d.dir, "*", "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCgroup(t *testing.T) {
	d := delegate(t)
	for _, rung := range []Rung{Strict, Landlock, Basic} {
		t.Run(string(rung), func(t *testing.T) {
			needs(t, rung)
			dir := project(t)
			g := Grant{Rung: rung, Project: dir, Read: []string{dir}, Net: "none", Tmp: true}
			// A child that leaves the group and ignores signals is in the cgroup as well.
			res, report, err := d.run(t, g, "grep ^0: /proc/self/cgroup; (setsid sh -c \"trap '' TERM HUP; sleep 60\" &) >/dev/null 2>&1; exit 3")
			if err != nil || res.ExitCode != 3 || !strings.Contains(string(res.Stdout), "/"+cgroupPrefix) {
				t.Errorf("%v %d %s%s", err, res.ExitCode, res.Stdout, res.Stderr)
			}
			if !slices.Contains(report.Layers, layerCgroup) || slices.Contains(report.Missing, layerCgroup) {
				t.Errorf("%+v", report)
			}
			if slices.Contains(report.Missing, "cgroup.memory") == d.memory || slices.Contains(report.Missing, "cgroup.pids") == d.pids {
				t.Errorf("%+v of %+v", report, d)
			}
			if left := d.left(t); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// TestCgroupUnavailable has a delegated cgroup that disappears: the run has limits of
// processes, and its report names the missing layer.
func TestCgroupUnavailable(t *testing.T) {
	gone := &delegation{dir: filepath.Join(t.TempDir(), "gone"), memory: true, pids: true}
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		res, report, err := gone.run(t, Grant{Rung: r, Project: dir, Read: []string{dir}, Net: "none"}, "echo ok")
		if string(res.Stdout) != "ok\n" || err != nil || !slices.Contains(report.Missing, layerCgroup) || slices.Contains(report.Layers, layerCgroup) {
			t.Errorf("%q %v %+v", res.Stdout, err, report)
		}
	})
}

// TestCgroupLimits starts programs in a cgroup without the helper, which would measure
// them before the kernel refuses them something.
func TestCgroupLimits(t *testing.T) {
	program := buildEscape(t)
	d := delegate(t)
	for _, c := range []struct {
		limit, args string
		has         bool
	}{{"memory_mb", "memhog 96", d.memory}, {"memory_mb", "memfdhog 96", d.memory}, {"processes", "forkbomb 24", d.pids}} {
		t.Run(c.args, func(t *testing.T) {
			if !c.has {
				t.Skipf("%s has no such controller: %+v", d.dir, d)
			}
			group, err := newCgroup(d)
			if err != nil {
				t.Fatal(err)
			}
			defer group.close()
			if err := group.limit(64<<20, 4); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, strings.Fields(c.args)...)
			cmd.SysProcAttr = &unix.SysProcAttr{}
			group.enclose(cmd.SysProcAttr)
			out, err := cmd.CombinedOutput()
			if limit, measured := group.exceeded(); limit != c.limit || err == nil {
				t.Errorf("%s %d, %v: %s", limit, measured, err, out)
			}
		})
	}
}

// TestCgroupOfHelper ends the helper together with its program: the run has exceeded
// the limit, although nothing reports its end.
func TestCgroupOfHelper(t *testing.T) {
	program := buildEscape(t)
	d := delegate(t)
	if !d.memory {
		t.Skipf("%s has no controller for memory", d.dir)
	}
	for _, rung := range []Rung{Strict, Landlock, Basic} {
		t.Run(string(rung), func(t *testing.T) {
			needs(t, rung)
			dir := project(t)
			g := Grant{Rung: rung, Project: dir, Read: []string{dir}, Fixed: []string{program}, Net: "none", Limits: policy.Limits{MemoryMB: 96, OpenFiles: 1024}}
			script := program + " memfdhog 96"
			res, _, err := d.run(t, g, script)
			var e *diag.Error
			if !errors.As(err, &e) || e.Code != diag.ResourceExceeded || e.Details["limit"] != "memory_mb" {
				t.Errorf("%v (exit %d %s) %s", err, res.ExitCode, res.Signal, res.Stderr)
			}
			t.Logf("%v", err)
		})
	}
}

// TestCgroupOfTheDead kills a process during a run: the next one removes its cgroup, and
// leaves that of a run which goes on.
func TestCgroupOfTheDead(t *testing.T) {
	needs(t, Landlock)
	d, dir := delegate(t), project(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rye := exec.Command(self)
	rye.Env = append(os.Environ(), deathVar+"="+string(Landlock)+" "+dir, delegationVar+"="+d.dir)
	out, err := rye.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := rye.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	group, err := newCgroup(d)
	if err != nil {
		t.Fatal(err)
	}
	if left := d.left(t); len(left) != 2 {
		t.Errorf("%v: one of them is in use, and was removed", left)
	}
	_ = rye.Process.Kill()
	_ = rye.Wait()
	if _, _, err := d.run(t, Grant{Rung: Landlock, Project: dir, Read: []string{dir}, Net: "none"}, "true"); err != nil {
		t.Error(err)
	}
	if left := d.left(t); !slices.Equal(left, []string{filepath.Join(group.dir, "cgroup.procs")}) {
		t.Errorf("%v are left", left)
	}
	group.close()
	if left := inDirectory(dir); len(left) > 0 {
		t.Errorf("%v survived", left)
	}
}

// TestDelegation has directories in place of cgroups.
func TestDelegation(t *testing.T) {
	const both = "cpu memory pids\n"
	tree := func(t *testing.T, own, above string) string {
		mount := t.TempDir()
		for dir, enabled := range map[string]string{"a": above, "a/own": own} {
			for name, text := range map[string]string{"cgroup.procs": "", "cgroup.subtree_control": enabled, "cgroup.controllers": both} {
				at := filepath.Join(mount, dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return mount
	}
	for name, c := range map[string]struct {
		own, above, want, why string
		marked                bool
	}{
		"own":         {own: both, want: "a/own"},
		"above":       {above: "memory pids", want: "a"},
		"one":         {above: "pids", want: "a"},
		"none":        {why: "the controllers memory and pids are not available"},
		"of systemd":  {above: both, marked: true, why: "systemd manages"},
		"other words": {above: "memory_recursiveprot", why: "not available"},
	} {
		t.Run(name, func(t *testing.T) {
			mount := tree(t, c.own, c.above)
			d, why := delegationOf(mount, "/a/own", c.marked)
			if d == nil {
				if c.want != "" || !strings.Contains(why, c.why) {
					t.Errorf("%q, want %q", why, c.why)
				}
				return
			}
			if d.dir != filepath.Join(mount, c.want) || d.pids != true || d.memory == (name == "one") {
				t.Errorf("%+v, want %s", d, c.want)
			}
		})
	}
	if os.Geteuid() != 0 { // root writes everything
		mount := tree(t, "", both)
		if err := os.Chmod(filepath.Join(mount, "a", "cgroup.procs"), 0o444); err != nil {
			t.Fatal(err)
		}
		if d, why := delegationOf(mount, "/a/own", false); d != nil || !strings.Contains(why, "cannot write") {
			t.Errorf("%+v %q", d, why)
		}
	}
}
