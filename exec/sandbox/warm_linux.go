package sandbox

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Warm starts helpers before it is known what they confine: their start and the decisions
// about a run go on at the same time. At most one waits; a helper serves one program. It
// has the starter of the process, too.
//
// The helper starts before the project is read, if there are two processors: its start takes as
// long as the decisions. It has no descriptors, and ends if no run fits.
type Warm struct {
	self    string
	ladder  func() Ladder
	early   bool // there is a processor for a helper that waits
	starter starter

	mu      sync.Mutex
	waiting *helper
	next    func() *helper // starts the one after that, if it was announced too
}

// NewWarm returns a Warm for the best rung of this system, which on a machine with one
// processor starts nothing early. It starts nothing yet.
func NewWarm(self string, ladder func() Ladder) *Warm {
	if self == "" {
		return nil
	}
	return &Warm{self: self, ladder: ladder, early: runtime.GOMAXPROCS(0) > 1, starter: starter{self: self}}
}

// Ahead announces a run that probably needs a helper: one starts unless one waits. If
// another run comes first (after), the one that waits is for that run, and the next starts
// when it is taken. The caller calls Drop in the end.
func (w *Warm) Ahead(ctx context.Context, after bool) {
	if w == nil || !w.early {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	start := func() *helper { return w.begin(ctx) }
	switch {
	case w.waiting == nil:
		w.waiting = start()
	case after:
		w.next = start
	}
}

func (w *Warm) begin(ctx context.Context) *helper {
	h := &helper{started: make(chan struct{})}
	go func() {
		defer close(h.started)
		l := w.ladder()
		if h.rung = l.Best; h.rung != Basic {
			h.start(ctx, w, l.cgroup)
		}
	}()
	return h
}

// take returns a helper for the caller alone, or nil: none was started, or its namespaces
// are not those of the grant.
func (w *Warm) take(g Grant) *helper {
	if w == nil || g.Rung == Strict && g.Net == policy.NetAny {
		return nil
	}
	w.mu.Lock()
	h := w.waiting
	w.mu.Unlock()
	if h == nil {
		return nil
	}
	<-h.started
	if h.p == nil || h.rung != g.Rung || !h.used.CompareAndSwap(false, true) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == h {
		if w.waiting = nil; w.next != nil {
			w.waiting, w.next = w.next(), nil
		}
	}
	return h
}

// again returns a helper of the starter for the caller alone, or nil: it starts none that
// is in a cgroup, because a clone with the same parent excludes that.
func (w *Warm) again(g Grant, l Ladder) *helper {
	if w == nil || g.Rung != Strict || l.cgroup != nil || g.Self != w.self {
		return nil
	}
	p, fd := w.starter.helper(inNamespaces(g.Net != policy.NetAny))
	if p == nil {
		return nil
	}
	return &helper{p: p, fd: fd}
}

// Drop ends the helper that waits.
func (w *Warm) Drop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	h := w.waiting
	w.waiting, w.next = nil, nil
	w.mu.Unlock()
	h.drop()
}

// helper is one helper, in the rung strict in its own namespaces. It has no descriptor but
// its socket, and ends if it gets no request.
type helper struct {
	started chan struct{} // closed when the fields below are set
	rung    Rung
	p       *os.Process // nil if it could not be started: the run then starts its own
	fd      int         // our end of its socket
	group   *cgroup     // in which it is, nil without
	groups  atomic.Bool // it has one, or will have
	used    atomic.Bool
}

func (h *helper) start(ctx context.Context, w *Warm, in *delegation) {
	if h.rung == Strict && in == nil {
		if h.p, h.fd = w.starter.helper(inNamespaces(true)); h.p != nil {
			return
		}
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	theirs := os.NewFile(uintptr(fds[1]), "report")
	defer theirs.Close()
	if in != nil {
		h.groups.Store(true) // before used is read: drop reads them in the other order
		if !h.used.Load() {
			h.group, _ = newCgroup(in) // the report of the run states that it has none
		}
	}
	cmd := proc.Cmd{Argv: []string{"rye", confine.Command, confine.Early}, Env: confine.Environ(), Dir: "/", Orderly: h.rung != Strict}
	cmd.Attr = func(a *syscall.SysProcAttr) {
		h.group.enclose(a)
		if h.rung == Strict {
			enter(a, inNamespaces(true))
		}
	}
	p, err := proc.Start(ctx, w.self, cmd, []*os.File{nil, nil, nil, nil, theirs})
	if err != nil {
		unix.Close(fds[0])
		h.group.close()
		return
	}
	h.p, h.fd = p, fds[0]
}

// give sends the descriptors of a program: its standard streams, the request, and those
// of proc.Cmd.Files.
func (h *helper) give(files []*os.File) (*os.Process, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	err := unix.Sendmsg(h.fd, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(files)
	return h.p, err
}

// drop ends the helper if no run took it. It waits for the end only if there is a cgroup,
// which must not outlive this process.
func (h *helper) drop() {
	if h == nil || !h.used.CompareAndSwap(false, true) {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if <-h.started; h.p != nil {
			unix.Close(h.fd)
			h.group.close()
			_, _ = h.p.Wait()
		}
	}()
	if h.groups.Load() {
		<-ended
	}
}
