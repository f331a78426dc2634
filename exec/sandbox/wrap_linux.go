package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Wrap changes cmd so that proc.Run starts its program confined. The first of the
// returned values is what confines it. Run cmd at once, and then call End.
func Wrap(cmd *proc.Cmd, g Grant, ladder Ladder) (Report, End, error) {
	rung, err := ladder.choose(g)
	if err != nil {
		return Report{}, nil, err
	}
	g.Rung, g.Limits = rung, g.Limits.WithDefaults()
	if g.Listings == nil { // the search after the run uses the listings of the search before it
		g.Listings = &Listings{}
	}
	w := &wrapped{g: g, ladder: ladder, original: *cmd}
	if err := w.resolve(); err != nil {
		return Report{}, nil, err
	}
	switch rung {
	case Strict:
		err = w.strict()
	case Landlock:
		err = w.landlock()
	default:
		w.basic()
	}
	if err == nil {
		err = w.channel(cmd)
	}
	if err != nil {
		w.layout.close()
		return Report{}, nil, err
	}
	return w.report, w.end, nil
}

// wrapped is one run.
type wrapped struct {
	g        Grant
	ladder   Ladder
	original proc.Cmd // with an absolute path and the environment complete
	found    string   // the path as errors name it
	spec     confine.Spec
	report   Report
	layout   *layout
	inbox    *inbox
	cgroup   *cgroup  // nil without
	remove   []string // directories to delete at the end
}

// resolve completes the program's path, environment and directory as proc does.
func (w *wrapped) resolve() error {
	c := &w.original
	if len(c.Argv) == 0 {
		return diag.New(diag.ExecutionFailed, "starting program: no command")
	}
	c.Env = proc.Merge(c.Env)
	if c.Path == "" {
		path, err := proc.LookPath(c.Argv[0], c.Env)
		if err != nil {
			return err
		}
		c.Path = path
	}
	w.found = c.Path
	if c.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
		}
		c.Dir = dir
	}
	if !filepath.IsAbs(c.Path) {
		c.Path = filepath.Join(c.Dir, c.Path)
	}
	return nil
}

// strict plans a run in namespaces of its own.
func (w *wrapped) strict() error {
	if w.g.Cache != "" {
		err := os.MkdirAll(filepath.Join(w.g.Cache, "home"), 0o700)
		if err != nil {
			return diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
		}
	}
	w.layout = newLayout(w.g)
	if err := w.layout.build(); err != nil {
		return err
	}
	w.spec = confine.Spec{Namespaces: true, Mounts: w.layout.steps(), Loopback: w.g.Net == policy.NetLoopback || w.g.Net == policy.NetHosts}
	if w.g.Net == policy.NetHosts {
		w.spec.Listen = proxyPort
	}
	env := []string{"TMPDIR=/tmp"}
	if w.g.Home != "" {
		env = append(env, "HOME="+w.g.Home)
	}
	w.original.Env = proc.Merge(w.original.Env, env)
	w.report.Layers = append(w.report.Layers, layerUser, layerMount, layerPID)
	if w.g.Net != policy.NetAny {
		w.report.Layers = append(w.report.Layers, layerNet)
	}
	w.report.Layers = append(w.report.Layers, layerIPC, layerUTS)
	for _, found := range w.layout.guarded {
		if !found.complete {
			w.missing("nested-protected")
		}
	}
	abi := landlockABI()
	w.spec.Landlock = newRuleset(abi, w.g.Net)
	w.strictRules(w.spec.Landlock)
	if len(w.g.Sockets) > 0 &&
		w.g.Net == policy.NetAny &&
		abi < 6 {
		w.missing("abstract-unix")
	}
	w.limits()
	return w.common(abi)
}

// strictRules grants what the mounts show: Landlock is the second barrier here.
func (w *wrapped) strictRules(r *confine.Ruleset) {
	read := uint64(fsReadFile | fsReadDir)
	write := uint64(fsWrite)
	if w.g.Exec == nil {
		read = read | fsExecute
		write = write | fsExecute
	} else {
		w.executables(r)
	}
	grant(r, "/", true, read)
	for _, d := range devices() {
		grant(r, d, false, fsReadFile|fsWriteFile|fsIoctl)
	}
	for p, m := range w.layout.mounts {
		switch m.do {
		case confine.TmpDir:
			grant(r, p, true, write)
		case confine.Writable:
			fi, err := os.Stat(cmp.Or(m.src, p))
			grant(r, p, err == nil && fi.IsDir(), write)
		}
	}
}

// common adds the layers that do not depend on namespaces.
func (w *wrapped) common(abi int) (err error) {
	if w.spec.Filter, err = seccompFilter(w.g.Net, len(w.g.Sockets) > 0 || w.g.OwnSockets, w.g.Exec == nil, !w.spec.Namespaces); err != nil {
		return diag.New(diag.Internal, "preparing the sandbox: seccomp filter: %w", err)
	}
	w.report.Rung = w.g.Rung
	w.report.Layers = append(w.report.Layers, landlockName(abi), layerSeccomp, layerRlimits)
	if w.layout != nil {
		w.report.Notes = w.layout.notes
	}
	w.command()
	return nil
}

// command adds the program to the spec.
func (w *wrapped) command() {
	c := w.original
	w.spec.Path = c.Path
	w.spec.Argv = c.Argv
	w.spec.Env = c.Env
	w.spec.Dir = c.Dir
	w.spec.Files = len(c.Files)
	grace := cmp.Or(c.Grace, proc.DefaultGrace)
	w.spec.Linger = max(grace, 0).Milliseconds()
	w.spec.Grace = max(grace-200*time.Millisecond, 50*time.Millisecond).Milliseconds()
}

func (w *wrapped) missing(what string) {
	w.report.missing(what)
}

// basic plans a run without isolation, under limits.
func (w *wrapped) basic() {
	w.report = basicReport(w.ladder)
	w.report.Layers = append(w.report.Layers, layerRlimits)
	w.limits()
	w.command()
}

// channel makes cmd start the helper, with the spec and the socket for its reports.
func (w *wrapped) channel(cmd *proc.Cmd) error {
	if w.g.Self == "" {
		return diag.New(diag.SandboxUnavailable, "preparing the sandbox: the path of this program is not known")
	}
	fail := func(err error) error {
		return diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
	}
	spec, err := memory(confine.AppendSpec(nil, &w.spec))
	if err != nil {
		return fail(err)
	}
	exited := sync.OnceFunc(func() {
		if w.original.OnExit != nil {
			w.original.OnExit()
		}
	})
	var group *cgroup
	early, fd := w.g.Starter.take(w.g, w.ladder)
	if early != nil {
		w.inbox = inboxOf(fd, w.g.Listen, exited)
		w.inbox.early = early
		cmd.Files = append([]*os.File{spec}, cmd.Files...)
		cmd.Spawn = func(files []*os.File) (*os.Process, error) {
			return early, give(fd, files)
		}
	} else {
		in, theirs, err := newInbox(w.g.Listen, exited)
		if err != nil {
			spec.Close()
			return fail(err)
		}
		w.inbox = in
		cmd.Files = append([]*os.File{spec, theirs}, cmd.Files...)
		if w.ladder.cgroup != nil {
			group, _ = newCgroup(w.ladder.cgroup) // the report states why the run has none
		}
	}
	w.enclosed(group)
	// OnExit: if the helper was killed
	cmd.OnExit = exited
	cmd.Ended = w.inbox.ended
	cmd.Path = w.g.Self
	cmd.Argv = []string{"rye", confine.Command}
	cmd.Env = confine.Environ()
	cmd.Dir = "/"
	in := w.inbox
	started := cmd.OnStart
	cmd.OnStart = func(pid int) {
		in.started()
		if started != nil {
			started(pid)
		}
	}
	if !w.spec.Namespaces {
		cmd.Orderly = true // the helper ends all children, also if this process is killed
	}
	cmd.Attr = func(a *syscall.SysProcAttr) {
		w.cgroup.enclose(a)
		if w.spec.Namespaces {
			enter(a, inNamespaces(w.g.Net != policy.NetAny))
		}
	}
	return nil
}

// inNamespaces returns the namespaces of the helper. It keeps the user id of this process, so
// that files which the program writes belong to the user. The capabilities are for
// the mounts: the helper gives them up before it starts the program.
func inNamespaces(network bool) *syscall.SysProcAttr {
	uid := os.Geteuid()
	gid := os.Getegid()
	a := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}
	if network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if uid != 0 {
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
	return a
}

// enter adds namespaces to the attributes of a process.
func enter(a, in *syscall.SysProcAttr) {
	a.Cloneflags = in.Cloneflags
	a.UidMappings = in.UidMappings
	a.GidMappings = in.GidMappings
	a.AmbientCaps = in.AmbientCaps
}

// memory returns a file without a name that contains b.
func memory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("rye-sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "rye-sandbox")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// end implements End.
func (w *wrapped) end(res *proc.Result) error {
	defer func() {
		for _, dir := range w.remove {
			_ = os.RemoveAll(dir)
		}
		w.cgroup.close()
		w.layout.close()
	}()
	w.inbox.finish()
	w.cgroup.kill()
	if f := w.inbox.failure; f != nil {
		if f.Step == confine.SignalStep && (res == nil || res.TimedOut || res.Cancelled) {
			return w.quarantine() // rye ended the run; the signal can have crossed the start
		}
		return w.stepError(f)
	}
	if res == nil && w.spec.Namespaces {
		return w.stepError(&confine.Failure{Step: "namespaces", What: "the system refuses to start a process in new namespaces"})
	}
	if res == nil {
		return nil
	}
	end := w.inbox.end
	if end == nil { // the helper was killed with the program, or failed
		limit, measured := w.cgroup.exceeded()
		err := w.quarantine()
		if err == nil && limit != "" && res.Signal != "" {
			return exceededError(limit, w.g.Limits, measured)
		} else if err != nil || res.Signal != "" || res.TimedOut || res.Cancelled {
			return err
		}
		return unreported(res, w.inbox.err)
	}
	res.ExitCode = end.Code
	res.Signal = ""
	if end.Signal != 0 {
		res.ExitCode, res.Signal = 128+end.Signal, unix.SignalName(syscall.Signal(end.Signal))
	}
	res.MaxRSS, res.CPU = end.MaxRSS, time.Duration(end.CPU)*time.Microsecond
	if err := w.quarantine(); err != nil {
		return err
	}
	if res.TimedOut || res.Cancelled {
		return nil
	}
	return w.exceeded(res, end)
}

// stepError returns the error for a step of the helper that failed.
func (w *wrapped) stepError(f *confine.Failure) error {
	if f.Step == "exec" {
		c := w.original
		c.Path = w.found
		return proc.StartError(c, syscall.Errno(f.Errno))
	}
	if f.Step == confine.VersionStep {
		return otherVersion(w.g.Self)
	}
	return diag.New(diag.SandboxUnavailable, "starting the sandbox: %s: %s", f.Step, strings.TrimSpace(f.What)).
		WithReason("sandbox_step").
		WithDetail("step", f.Step).
		WithDetail("wanted", string(w.report.Rung)).
		WithDetail("layers", w.report.Layers).
		WithDetail("missing", w.report.Missing)
}

// quarantine checks every directory that the program could write.
func (w *wrapped) quarantine() error {
	if w.layout == nil {
		return nil
	}
	defer w.g.Listings.save(time.Now())
	var all []string
	for root, before := range w.layout.guarded {
		moved, err := quarantine(
			w.g.Project,
			root,
			w.g.Quarantine,
			len(all),
			before,
			w.g.Protected,
			w.g.Listings,
			w.g.Git,
			w.g.Repositories,
		)
		all = append(all, moved...)
		if err != nil {
			return quarantined(all, w.g.Quarantine, err)
		}
	}
	return quarantined(all, w.g.Quarantine, nil)
}
