package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// race returns how long a race lasts, and with how many runs at once. .ci/long sets RYE_RACE.
func race() (d time.Duration, runs []int) {
	if d, err := time.ParseDuration(os.Getenv("RYE_RACE")); err == nil {
		return d, []int{2, 8}
	}
	return time.Second, []int{2}
}

// canary makes a repository of the user outside of the project, and returns what checks
// that nothing of it changed.
func canary(t *testing.T, dir string) (check func() error) {
	t.Helper()
	files := []string{".git/HEAD", ".git/config", ".git/hooks/pre-commit", ".git/info/exclude", ".git/objects/x", ".git/refs/x", ".envrc", "x.txt"}
	for _, f := range files {
		write(t, filepath.Join(dir, f))
	}
	modes := func() string {
		var out strings.Builder
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err == nil {
				fmt.Fprintln(&out, p, fi.Mode())
			}
			return err
		})
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		return out.String()
	}
	before := modes()
	return func() error {
		if now := modes(); now != before {
			return fmt.Errorf("the directory outside of the project was\n%sand is\n%s", before, now)
		}
		return nil
	}
}

// TestRaceQuarantine has runs that make protected paths while others exchange the directories
// with them for links that lead out of the project. rye moves the protected paths away, and
// nothing outside. The control does the same by path, as a search and an act without
// descriptors do, and loses files outside.
func TestRaceQuarantine(t *testing.T) {
	program := buildEscape(t)
	needRung(t, Strict)
	lasts, numbers := race()
	for _, runs := range numbers {
		t.Run(strconv.Itoa(runs), func(t *testing.T) {
			site := newSite(t, program)
			other := filepath.Join(site.dir, "other")
			check := canary(t, other)
			stop := filepath.Join(site.project, "stop")
			pairs := []string{program, "swapdirs", stop}
			for i := range 40 {
				pairs = append(pairs, filepath.Join(site.work, "x"+strconv.Itoa(i)), filepath.Join(site.work, "y"+strconv.Itoa(i)))
			}
			deadline := time.Now().Add(lasts)
			var wg sync.WaitGroup
			for range runs / 2 {
				wg.Go(func() {
					site.run(t, Strict, pairs, policy.NetNone, func(_ *Grant, c *proc.Cmd) { c.Timeout = time.Hour })
				})
			}
			var mu sync.Mutex
			moved, made := 0, 0
			for range runs - runs/2 {
				wg.Go(func() {
					for time.Now().Before(deadline) {
						_, _, err := site.run(t, Strict, []string{program, "repos", site.work, other}, policy.NetNone, nil)
						mu.Lock()
						if made++; diag.CodeOf(err) == diag.PolicyDenied {
							moved++
						}
						mu.Unlock()
						if err := check(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for time.Now().Before(deadline) {
				time.Sleep(20 * time.Millisecond)
			}
			write(t, stop)
			wg.Wait()
			if err := check(); err != nil {
				t.Error(err)
			}
			if t.Logf("%d of %d runs had protected paths moved", moved, made); moved == 0 {
				t.Error("no run had protected paths moved")
			}
		})
	}
}

// TestRaceQuarantineIsReal is the control of TestRaceQuarantine: the same programs without a
// sandbox, and a search that acts by path.
func TestRaceQuarantineIsReal(t *testing.T) {
	program := buildEscape(t)
	site := newSite(t, program)
	other := filepath.Join(site.dir, "other")
	check := canary(t, other)
	args := []string{"swapdirs", filepath.Join(site.project, "stop")}
	for i := range 40 {
		args = append(args, filepath.Join(site.work, "x"+strconv.Itoa(i)), filepath.Join(site.work, "y"+strconv.Itoa(i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exchange := exec.CommandContext(ctx, program, args...)
	if err := exchange.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exchange.Process.Kill(); _ = exchange.Wait() }()
	for ctx.Err() == nil {
		if out, err := exec.CommandContext(ctx, program, "repos", site.work, other).CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		found := findProtected(site.project, site.project, nil, nil)
		for i, p := range found.fixed {
			if strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(p))), "x") {
				_ = os.Rename(p, filepath.Join(site.dir, "gone"+strconv.Itoa(i)))
			}
		}
		found.root.close()
		if check() != nil {
			return
		}
	}
	t.Error("acting by path did no harm: the race shows nothing")
}

// TestRaceMounts starts runs that write a nested configuration of git while others exchange
// its directory for another one: it is never written. The control shows that the exchange
// succeeds if no run protects it.
func TestRaceMounts(t *testing.T) {
	program := buildEscape(t)
	needRung(t, Strict)
	lasts, numbers := race()
	for _, runs := range numbers {
		t.Run(strconv.Itoa(runs), func(t *testing.T) {
			site := newSite(t, program)
			config := "project/deep/sub/.git/config"
			site.write(t, config, "project/deep/sub/.git/HEAD", "project/decoy/x", "project/deep/decoy/x")
			stop := filepath.Join(site.project, "stop")
			deadline := time.Now().Add(lasts)
			at := func(rel string) string { return filepath.Join(site.project, rel) }
			exchange := []string{program, "swapdirs", stop, at("deep"), at("decoy"), at("deep/sub"), at("deep/decoy")}
			var wg sync.WaitGroup
			for range runs / 2 {
				wg.Go(func() {
					res, _, err := site.run(t, Strict, exchange, policy.NetNone, func(_ *Grant, c *proc.Cmd) { c.Timeout = time.Hour })
					if !strings.Contains(string(res.Stdout), "EBUSY") {
						t.Errorf("the directories were exchanged: %s %s %v", res.Stdout, res.Stderr, err)
					}
				})
			}
			for range runs - runs/2 {
				wg.Go(func() {
					for time.Now().Before(deadline) {
						for _, rel := range []string{"deep/sub/.git/config", "decoy/sub/.git/config", "deep/decoy/.git/config"} {
							res, _, err := site.run(t, Strict, []string{program, "write", at(rel)}, policy.NetNone, nil)
							if strings.Contains(string(res.Stdout), `"reached":true`) {
								t.Errorf("%s was written: %v", rel, err)
							}
						}
					}
				})
			}
			for time.Now().Before(deadline) {
				time.Sleep(20 * time.Millisecond)
			}
			write(t, stop)
			wg.Wait()
			if b, err := os.ReadFile(filepath.Join(site.dir, config)); err != nil || string(b) != siteText {
				t.Errorf("the configuration is %q, %v", b, err)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		site := newSite(t, program)
		site.write(t, "project/deep/x", "project/decoy/x")
		stop := filepath.Join(site.project, "stop")
		time.AfterFunc(200*time.Millisecond, func() { _ = os.WriteFile(stop, nil, 0o600) })
		res, _, err := site.run(t, Strict, []string{program, "swapdirs", stop, filepath.Join(site.project, "deep"), filepath.Join(site.project, "decoy")}, policy.NetNone, nil)
		if err != nil || !strings.Contains(string(res.Stdout), `"reached":true`) {
			t.Errorf("directories without protected paths cannot be exchanged: %s %v", res.Stdout, err)
		}
	})
}

// TestReplacedBeforeMount plans a run, and puts another directory or a link in the place of
// what the search found. The program does not start.
func TestReplacedBeforeMount(t *testing.T) {
	program := buildEscape(t)
	needRung(t, Strict)
	for _, c := range []struct {
		name    string
		replace func(s *escapeSite, at string) error
	}{
		{"the same directory", func(*escapeSite, string) error { return nil }},
		{"another directory", func(s *escapeSite, at string) error {
			return errors.Join(os.Rename(at, at+"-was"), os.MkdirAll(filepath.Join(at, "sub/.git"), 0o755), os.WriteFile(filepath.Join(at, "sub/.git/config"), nil, 0o600))
		}},
		{"a link", func(s *escapeSite, at string) error {
			return errors.Join(os.Rename(at, at+"-was"), os.Symlink(at+"-was", at))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t, program)
			site.write(t, "project/deep/sub/.git/config", "project/deep/sub/.git/HEAD")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			argv := []string{program, "create", filepath.Join(site.project, "work/new")}
			cmd := proc.Cmd{Path: program, Argv: argv, Dir: site.work, Env: []string{"PATH=/usr/bin:/bin"}, Timeout: 20 * time.Second}
			_, end, err := Wrap(&cmd, Grant{
				Self: self, Rung: Strict, Project: site.project, Read: []string{site.project}, Write: []string{site.project}, Fixed: []string{program},
				Tmp: true, Home: site.home, Net: policy.NetNone, Quarantine: filepath.Join(site.dir, "quarantine"),
			}, Probe())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.replace(site, filepath.Join(site.project, "deep")); err != nil {
				t.Fatal(err)
			}
			res, err := proc.Run(t.Context(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			err = end(&res)
			_, started := os.Lstat(filepath.Join(site.project, "work/new"))
			if c.name == "the same directory" {
				if err != nil || started != nil {
					t.Errorf("the control does not run: %v %v", err, started)
				}
				return
			}
			if diag.CodeOf(err) != diag.SandboxUnavailable || started == nil {
				t.Errorf("the program ran: %v %s", err, res.Stdout)
			}
		})
	}
}
