//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// TestEscapes runs each program of the table in each rung of this system and
// compares what it reached with the table.
func TestEscapes(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, rung := range []Rung{Strict, Landlock} {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			needRung(t, rung)
			site := newSite(t, program)
			for _, row := range escapeRows() {
				want := row.strict
				if rung == Landlock {
					want = row.landlock
				}
				if want == "" {
					continue
				}
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					site.attempt(t, rung, row, want)
				})
			}
		})
	}
}

// TestEscapesAreReal runs the programs that change nothing outside of the test
// without a sandbox: an attempt that never succeeds would show nothing.
func TestEscapesAreReal(t *testing.T) {
	t.Parallel()
	site := newSite(t, buildEscape(t))
	for _, row := range escapeRows() {
		name, _, _ := strings.Cut(row.args, " ")
		if row.net != "" || !slices.Contains([]string{"read", "list", "dotdot", "symlinkout", "write", "create", "dialtcp", "dialudp", "dialunix", "dialabstract", "newprivs", "environ", "setid"}, name) ||
			strings.HasPrefix(row.name, "create") && row.name != "createoutside" || row.name == "readshadow" {
			continue
		}
		argv := site.argv(row)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = site.work, []string{"X=canary-of-the-caller"}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"reached":true`) {
			t.Errorf("%s: %s %v", row.name, out, err)
		}
	}
}

// TestEscapesCreated runs the programs that create protected paths where none were.
func TestEscapesCreated(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, rung := range escapeRungs() {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			needRung(t, rung)
			for _, row := range createdRows() {
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					if row.name == "flood" && rung != Strict {
						t.Skip("the search is the same in each rung")
					}
					site := newSite(t, program)
					before := site.files(t)
					res, _, err := site.run(t, rung, site.argv(row), policy.NetNone, func(g *Grant, _ *proc.Cmd) { g.Repositories = CommitRepositories })
					if !strings.Contains(string(res.Stdout), `"reached":true`) {
						if rung == Strict {
							t.Errorf("the program did not create the path: %s %s", res.Stdout, res.Stderr)
						}
						return // Landlock refuses some at once
					}
					var e *diag.Error
					if !errors.As(err, &e) || e.Code != diag.PolicyDenied || e.Details["quarantined"] == nil {
						t.Errorf("the run ends with %v", err)
					}
					for _, f := range site.files(t) {
						b, _ := os.ReadFile(filepath.Join(site.project, f))
						row, _, protected := policy.Protected(f)
						if protected && row.Path != ".git" && !slices.Contains(before, f) && string(b) != siteText {
							t.Errorf("%s remains", f)
						}
					}
				})
			}
		})
	}
}

// TestEscapesGrants grants protected paths by name, or through a link that a program
// made in an earlier run. The profile does not make them writable.
func TestEscapesGrants(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, rung := range escapeRungs() {
		for _, c := range []struct{ name, grant, link, create string }{
			{"git", ".git", "", ".git/hooks/planted"},
			{"hooks", ".git/hooks", "", ".git/hooks/planted"},
			{"hooks by a link", "reports", ".git/hooks", "reports/planted"},
			{"repository by a link", "reports", ".git", "reports/hooks/planted"},
			{"settings by a link", "reports", ".ai/config", "reports/agent/planted.yaml"},
			{"part of a project", "sub", "", "sub/.git/hooks/planted"},
			{"linked directory", "reports/new", "../out", "reports/new/planted"},
		} {
			t.Run(string(rung)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				needRung(t, rung)
				site := newSite(t, program)
				if c.link != "" {
					at := filepath.Join(site.project, c.grant)
					if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(filepath.Join(site.project, c.link), at); err != nil {
						t.Fatal(err)
					}
				}
				before := site.files(t)
				res, _, err := site.run(t, rung, []string{program, "mkdirall", filepath.Join(site.project, c.create)}, policy.NetNone, func(g *Grant, _ *proc.Cmd) {
					g.Write = []string{filepath.Join(site.project, c.grant)}
				})
				if strings.Contains(string(res.Stdout), `"reached":true`) && err == nil {
					t.Errorf("written: %s %s", res.Stdout, res.Stderr)
				}
				if after := site.files(t); !slices.Equal(before, after) {
					t.Errorf("the files were %q and are %q", before, after)
				}
			})
		}
	}
}

// files returns the paths of all files of the project.
func (s *escapeSite) files(t *testing.T) (out []string) {
	t.Helper()
	err := filepath.WalkDir(s.project, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(s.project, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEscapesLimits runs the programs that use more than permitted.
func TestEscapesLimits(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, rung := range escapeRungs() {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			needRung(t, rung)
			for _, row := range limitRows() {
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					site := newSite(t, program)
					res, _, err := site.run(t, rung, site.argv(escapeRow{args: row.args}), policy.NetNone, func(g *Grant, _ *proc.Cmd) { g.Limits = row.limits })
					var e *diag.Error
					if !errors.As(err, &e) || e.Code != diag.ResourceExceeded || e.Details["limit"] != row.limit || res.TimedOut {
						t.Errorf("%v (exit %d %s)\n%s%s", err, res.ExitCode, res.Signal, res.Stdout, res.Stderr)
					}
				})
			}
		})
	}
}

// TestEscapesSurvive runs the programs that try to outlive their run: they hold a lock
// on a file, which must be free afterwards.
func TestEscapesSurvive(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, rung := range escapeRungs() {
		for _, name := range []string{"doublefork", "ignoreterm", "killparent"} {
			t.Run(string(rung)+"/"+name, func(t *testing.T) {
				t.Parallel()
				needRung(t, rung)
				site := newSite(t, program)
				lock := filepath.Join(site.work, "alive")
				f := site.survive(t, rung, []string{program, name, lock}, lock)
				defer f.Close()
				if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
					t.Errorf("a process survives the run: %v", err)
				}
			})
		}
	}
}

// survive runs a program, of which some end by a limit of time only, and opens the file that
// the program locked. A busy machine may need more than the first time until the program has
// begun: then it gets more.
func (s *escapeSite) survive(t *testing.T, rung Rung, argv []string, lock string) *os.File {
	t.Helper()
	for limit := 500 * time.Millisecond; ; limit *= 4 {
		res, _, err := s.run(t, rung, argv, policy.NetNone, func(_ *Grant, c *proc.Cmd) {
			c.Grace = 100 * time.Millisecond
			if argv[1] == "ignoreterm" {
				c.Timeout = limit
			}
		})
		t.Logf("%+v %v", res, err)
		f, err := os.OpenFile(lock, os.O_RDWR, 0)
		if err == nil {
			return f
		}
		if !res.TimedOut || limit > 30*time.Second {
			t.Fatalf("the program did not hold the lock: %v", err)
		}
	}
}

// escapeRungs returns the rungs of the tests that create files, exceed limits or try to
// survive: the best one of this system, and with RYE_LONG, which .ci/run sets, all. TestEscapes
// always runs on all.
func escapeRungs() []Rung {
	all := []Rung{Strict, Landlock}
	if best := Probe().Best; os.Getenv("RYE_LONG") == "" && slices.Contains(all, best) {
		return []Rung{best}
	}
	return all
}

// needRung ends the test where the kernel does not have a rung. In .ci/run on Linux
// each rung must exist.
func needRung(t *testing.T, rung Rung) {
	t.Helper()
	ladder := Probe()
	if ladder.reaches(rung) {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("the rung %s is not available: %+v", rung, ladder.Layers)
	}
	t.Skipf("the rung %s is not available: %+v", rung, ladder.Layers)
}

var escapeProgram struct {
	sync.Once
	path string
	err  error
}

// buildEscape builds testdata/escape once.
func buildEscape(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("some hundred programs are started")
	}
	p := &escapeProgram
	p.Do(func() {
		dir, err := os.MkdirTemp("", "rye-escape-")
		if err != nil {
			p.err = err
			return
		}
		p.path = filepath.Join(dir, "escape")
		cmd := exec.Command("go", "build", "-o", p.path, "./testdata/escape")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.path
}

// siteText is the content of each file of a site.
const siteText = "secret\n"

// escapeSite is the machine that the programs attack: a project with a repository, a
// home, files outside, and servers on loopback.
type escapeSite struct {
	program, dir, project, work, home, out string
	hosts                                  []string
	dialer                                 *net.Dialer
	places                                 *strings.Replacer
}

func newSite(t *testing.T, program string) *escapeSite {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &escapeSite{program: program, dir: dir, project: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), out: filepath.Join(dir, "out")}
	s.work = filepath.Join(s.project, "work")
	s.write(t, "out/secret", "home/.ssh/id_ed25519", "home/.config/rye/trust/a.toml", "home/.local/share/rye/keys/a.pem", "project/plain.txt", "project/work/x",
		"project/.git/HEAD", "project/.git/objects/x", "project/sub/.git/HEAD", "project/.ai/tools/a.sh", "project/.ai/threads/t/transcript.jsonl")
	for _, row := range protectedRows() {
		if path, ok := strings.CutPrefix(row.args, "write {project}/"); ok {
			s.write(t, "project/"+path)
		}
	}
	s.setup(t)
	if err := syscall.Mkfifo(filepath.Join(s.out, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	suid := s.copySetuid(t)
	tcp, udp, abstract := s.servers(t)
	s.places = strings.NewReplacer("{project}", s.project, "{home}", s.home, "{out}", s.out, "{keys}", filepath.Join(s.home, ".local/share/rye/keys"),
		"{trust}", filepath.Join(s.home, ".config/rye/trust"), "{tcp}", tcp, "{udp}", udp, "{abstract}", abstract, "{suid}", suid, "{pid}", strconv.Itoa(os.Getpid()),
		"{starter}", strconv.Itoa(startStarter(t).p.Pid))
	return s
}

func (s *escapeSite) write(t *testing.T, files ...string) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(s.dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(siteText), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// setup makes what is not a plain file: a configuration that names directories of the
// project, and links at protected paths.
func (s *escapeSite) setup(t *testing.T) {
	t.Helper()
	s.write(t, "project/.hooks/pre-push", "project/shared.gitconfig", "project/shared/envrc")
	config := "[core]\n\thooksPath = .hooks\n[include]\n\tpath = ../shared.gitconfig\n"
	if err := os.WriteFile(filepath.Join(s.project, ".git/config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../shared/envrc", filepath.Join(s.project, "work/.envrc")); err != nil {
		t.Fatal(err)
	}
}

// copySetuid returns a copy of the program that starts as another user, if the test
// can make one.
func (s *escapeSite) copySetuid(t *testing.T) string {
	t.Helper()
	path := filepath.Join(s.work, "suid")
	b, err := os.ReadFile(s.program)
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(path, 65534, 65534)
	}
	if err == nil {
		err = os.Chmod(path, 0o755|os.ModeSetuid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// servers starts the servers of the host.
func (s *escapeSite) servers(t *testing.T) (tcp, udp, abstract string) {
	t.Helper()
	listen := func(network, addr string) net.Listener {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Close()
			}
		}()
		return l
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go echo(pc)
	// An address of the test, so that a long temporary directory does not matter.
	sock := filepath.Join(s.out, "docker.sock")
	listen("unix", sock)
	listen("unix", filepath.Join(s.project, "dev.sock"))
	abstract = "rye-escape-" + strconv.Itoa(os.Getpid()) + filepath.Base(filepath.Dir(s.dir))
	listen("unix", "@"+abstract)
	s.hosts = []string{"rebind.test", "listed.test"}
	s.dialer = &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}}
	return listen("tcp", "127.0.0.1:0").Addr().String(), pc.LocalAddr().String(), abstract
}

// echo answers every datagram. To questions of DNS it answers that each name has
// the address 127.0.0.1.
func echo(pc net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		q := buf[:n]
		if n < 17 {
			pc.WriteTo(q, from)
			continue
		}
		end := 12
		for end < n && q[end] != 0 {
			end += 1 + int(q[end])
		}
		end = min(end+5, n)
		out := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
		if q[end-3] == 1 { // A
			out[7] = 1
			out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
		}
		pc.WriteTo(out, from)
	}
}

func (s *escapeSite) argv(row escapeRow) []string {
	argv := []string{s.program}
	for _, a := range strings.Fields(row.args) {
		argv = append(argv, s.places.Replace(a))
	}
	return argv
}

// run runs the program in a rung with the profile of an ordinary tool, after change.
func (s *escapeSite) run(t *testing.T, rung Rung, argv []string, mode string, change func(*Grant, *proc.Cmd)) (proc.Result, Report, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var proxy *Proxy
	g := Grant{
		Self: self, Rung: rung, Project: s.project, Read: []string{s.project}, Write: []string{s.project}, Fixed: []string{s.program}, Tmp: true, Home: s.home,
		Hidden: []string{filepath.Join(s.home, ".local/share/rye"), filepath.Join(s.home, ".config/rye")}, Net: mode, Quarantine: filepath.Join(s.dir, "quarantine"),
		Listen: func(l net.Listener) {
			proxy = StartProxy(t.Context(), l, ProxyParams{Hosts: s.hosts, Dialer: s.dialer})
		},
	}
	cmd := proc.Cmd{Path: argv[0], Argv: argv, Dir: s.work, Env: []string{"PATH=/usr/bin:/bin"}, Timeout: 20 * time.Second}
	if mode == policy.NetHosts {
		cmd.Env = append(cmd.Env, ProxyEnv(ProxyAddr, s.hosts)...)
	}
	if change != nil {
		change(&g, &cmd)
	}
	report, end, err := Wrap(&cmd, g, Probe())
	if diag.CodeOf(err) == diag.PolicyDenied {
		return proc.Result{}, report, err // the grant itself is refused
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := proc.Run(t.Context(), cmd)
	if proxy != nil {
		proxy.Close()
	}
	if err != nil {
		end(nil)
		t.Fatal(err)
	}
	err = end(&res)
	return res, report, err
}

// attempt runs one row and compares the outcome with the table.
func (s *escapeSite) attempt(t *testing.T, rung Rung, row escapeRow, want string) {
	mode := row.net
	if mode == "" {
		mode = policy.NetNone
	}
	res, report, err := s.run(t, rung, s.argv(row), mode, nil)
	if err != nil {
		t.Errorf("%v", err)
	}
	var got struct {
		Tried   string
		Reached bool
		Error   string
	}
	if json.Unmarshal(res.Stdout, &got) != nil || got.Tried == "" {
		got.Error = res.Signal
		if res.ExitCode == 128+int(syscall.SIGSYS) {
			got.Error = "SIGSYS"
		}
	}
	layer, reason, _ := strings.Cut(want, " ")
	if layer == "reached:" {
		t.Logf("reached %t: %s", got.Reached, reason)
		return
	}
	has := func(l string) bool { return l == layer || strings.HasPrefix(l, layer+":") }
	if slices.Contains([]string{"userns", "mountns", "pidns", "netns", "landlock", "seccomp", "rlimits"}, layer) && !slices.ContainsFunc(report.Layers, has) {
		t.Errorf("the layer %s is not among %v", layer, report.Layers)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(got.Error, "status "), " ")
	if got.Reached || !slices.Contains(strings.Fields(reason), first) {
		t.Errorf("%s %s: reached %t with %q (exit %d %s, %s), want %s", row.name, strings.Join(s.argv(row)[1:], " "), got.Reached, got.Error, res.ExitCode, res.Signal, res.Stderr, want)
	}
}
