package sandbox

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Warm is a helper that was started before it is known what it confines, in the rung
// strict in its own namespaces: its start and the decisions about a run go on at the same time. It has no
// descriptor but its socket, and ends if it gets no request.
type Warm struct {
	started chan struct{} // closed when the fields below are set
	rung    Rung
	p       *os.Process // nil if it could not be started: the run then starts its own
	fd      int         // our end of its socket
	group   *cgroup     // in which it is, nil without
	groups  atomic.Bool // it has one, or will have
	used    atomic.Bool
}

// Prestart starts a helper for the best rung of this system, or returns nil if there is
// no processor to spare. Call Drop in the end.
func Prestart(ctx context.Context, self string, ladder func() Ladder) *Warm {
	if self == "" || runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	w := &Warm{started: make(chan struct{})}
	go func() {
		defer close(w.started)
		l := ladder()
		if w.rung = l.Best; w.rung != Basic {
			w.start(ctx, self, l.cgroup)
		}
	}()
	return w
}

func (w *Warm) start(ctx context.Context, self string, in *delegation) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	theirs := os.NewFile(uintptr(fds[1]), "report")
	defer theirs.Close()
	if in != nil && !w.used.Load() {
		w.groups.Store(true)
		w.group, _ = newCgroup(in) // the report of the run states that it has none
	}
	cmd := proc.Cmd{Argv: []string{"rye", confine.Command, confine.Early}, Env: confine.Environ(), Dir: "/", Orderly: w.rung != Strict}
	cmd.Attr = func(a *syscall.SysProcAttr) {
		w.group.enclose(a)
		if w.rung == Strict {
			inNamespaces(a, true)
		}
	}
	p, err := proc.Start(ctx, self, cmd, []*os.File{nil, nil, nil, nil, theirs})
	if err != nil {
		unix.Close(fds[0])
		w.group.close()
		return
	}
	w.p, w.fd = p, fds[0]
}

// take returns whether the caller has the helper for itself: it was started, no other caller
// has it, and its namespaces are those of the grant.
func (w *Warm) take(g Grant) bool {
	if w == nil || g.Rung == Strict && g.Net == policy.NetAny {
		return false
	}
	<-w.started
	return w.p != nil && w.rung == g.Rung && w.used.CompareAndSwap(false, true)
}

// give sends the descriptors of a program: its standard streams, the request, and those
// of proc.Cmd.Files.
func (w *Warm) give(files []*os.File) (*os.Process, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	err := unix.Sendmsg(w.fd, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(files)
	return w.p, err
}

// Drop ends the helper if no run took it. It waits for the end only if there is a cgroup,
// which must not outlive this process.
func (w *Warm) Drop() {
	if w == nil || !w.used.CompareAndSwap(false, true) {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if <-w.started; w.p != nil {
			unix.Close(w.fd)
			w.group.close()
			_, _ = w.p.Wait()
		}
	}()
	if w.groups.Load() {
		<-ended
	}
}
