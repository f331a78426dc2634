package sandbox

import (
	"cmp"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// starterWait is how long the starter may need for one helper on a machine with much work.
const starterWait = 10 * time.Second

// starterFrom is the first helper of a process that the starter starts. Its own start costs
// as much processor time as it saves with three or four helpers of a small process.
const starterFrom = 4

// Starter starts helpers in namespaces for this process by a process of its own. What it cannot
// do this process does itself, as for the first helpers.
// A new user namespace excludes vfork, so each start copies the page tables of the process that
// does it; the starter is small. It is not dumpable but while it clones, because only root can
// write the ids of a process that is not. In a cgroup rye starts helpers itself: clone3 refuses
// an exit signal with the same parent.
type Starter struct {
	self string
	wait time.Duration // starterWait, if not 0

	mu     sync.Mutex
	wanted int // helpers that it was asked for
	p      *os.Process
	fd     int
	broken bool // it failed once: it is not asked again
}

// NewStarter returns a Starter of helpers whose program is the file self, nil without one. It
// starts nothing yet.
func NewStarter(self string) *Starter {
	if self == "" {
		return nil
	}
	return &Starter{self: self}
}

// take returns a helper for the caller alone and our end of its socket, or nil. It starts
// none that is in a cgroup, because a clone with the same parent excludes that.
func (s *Starter) take(g Grant, l Ladder) (p *os.Process, ours int) {
	if s == nil ||
		g.Rung != Strict ||
		l.cgroup != nil ||
		g.Self != s.self {
		return nil, -1
	}
	return s.helper(inNamespaces(g.Net != policy.NetAny))
}

// give sends a helper the descriptors of a program: its standard streams, the request, and
// the files of proc.Cmd.Files.
func give(socket int, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	err := unix.Sendmsg(
		socket,
		[]byte{0},
		unix.UnixRights(fds...),
		nil,
		unix.MSG_NOSIGNAL,
	)
	runtime.KeepAlive(files)
	return err
}

// helper starts an early helper with the namespaces and ids of a, which is a child of this
// process, and returns it with our end of its socket. It returns nil if this process
// must start the helper: for the first ones, and without a starter.
func (s *Starter) helper(a *syscall.SysProcAttr) (p *os.Process, ours int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted++; s.wanted < starterFrom || s.broken || s.p == nil && !s.begin() {
		return nil, -1
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1
	}
	defer unix.Close(fds[1])
	pid, err := s.ask(a, fds[1])
	if err == nil {
		p, err = s.child(pid)
	}
	if err != nil { // also for an error of the system: it can have left a zombie
		s.end()
		unix.Close(fds[0])
		return nil, -1
	}
	return p, fds[0]
}

// begin starts the starter. Its only descriptor is its socket.
func (s *Starter) begin() bool {
	s.broken = true
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	theirs := os.NewFile(uintptr(fds[1]), "starter")
	defer theirs.Close()
	wait := unix.NsecToTimeval(cmp.Or(s.wait, starterWait).Nanoseconds())
	cmd := proc.Cmd{Argv: []string{"rye", confine.Command, confine.Starter}, Env: confine.StarterEnviron(), Dir: "/"}
	if err = unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err == nil {
		s.p, err = proc.StartSelf(s.self, cmd, []*os.File{nil, nil, nil, theirs})
	}
	if err != nil {
		unix.Close(fds[0])
		return false
	}
	s.fd = fds[0]
	s.broken = false
	return true
}

// ask returns the answer for one helper with a socket.
func (s *Starter) ask(a *syscall.SysProcAttr, socket int) (pid int, err error) {
	request := confine.Start{
		Number: uint64(s.wanted),
		Path:   s.self,
		Flags:  uint64(a.Cloneflags),
		UID:    a.UidMappings[0].HostID,
		GID:    a.GidMappings[0].HostID,
	}
	for _, c := range a.AmbientCaps {
		request.Caps = append(request.Caps, uint64(c))
	}
	if err := unix.Sendmsg(s.fd, confine.AppendStart(nil, &request), unix.UnixRights(socket), nil, unix.MSG_NOSIGNAL); err != nil {
		return 0, err
	}
	b := make([]byte, 64)
	for deadline := time.Now().Add(cmp.Or(s.wait, starterWait)); ; {
		n, _, err := unix.Recvfrom(s.fd, b, 0)
		if err == unix.EINTR && time.Now().Before(deadline) {
			continue // after each signal the time of the socket begins again
		}
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, unix.ECONNRESET // the starter has ended
		}
		return confine.ParseStarted(b[:n], request.Number)
	}
}

// child returns a process that is a child of this one, or an error.
func (s *Starter) child(pid int) (*os.Process, error) {
	if pid == s.p.Pid {
		return nil, unix.ECHILD
	}
	var info unix.Siginfo
	err := unix.Waitid(
		unix.P_PID,
		pid,
		&info,
		unix.WEXITED|unix.WNOHANG|unix.WNOWAIT,
		nil,
	)
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

// end ends the starter, for good. Helpers that it started remain.
func (s *Starter) end() {
	s.broken = true
	unix.Close(s.fd)
	_ = s.p.Kill()
	p := s.p
	go func() { _, _ = p.Wait() }()
}
