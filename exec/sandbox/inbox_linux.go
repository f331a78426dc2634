package sandbox

import (
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// inbox receives what the helper reports.
type inbox struct {
	fd     int
	early  *os.Process // a helper that was started early, which a run without a start must wait for
	listen func(net.Listener)
	exited func() // the program has ended, but perhaps not its children
	once   sync.Once
	done   chan struct{}

	ended   chan struct{} // closed with end
	failure *confine.Failure
	end     *confine.End
	err     error // of reading the reports
}

// newInbox returns an inbox and the socket of the helper.
func newInbox(listen func(net.Listener), exited func()) (*inbox, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return inboxOf(fds[0], listen, exited), os.NewFile(uintptr(fds[1]), "report"), nil
}

// inboxOf returns an inbox on our end of the socket of a helper that was started early.
func inboxOf(fd int, listen func(net.Listener), exited func()) *inbox {
	return &inbox{
		fd:     fd,
		listen: listen,
		exited: exited,
		ended:  make(chan struct{}),
	}
}

// started begins to receive: the helper has its socket.
func (in *inbox) started() {
	in.once.Do(func() {
		in.done = make(chan struct{})
		go in.receive()
	})
}

// finish waits for the last message. The helper has sent it, or has ended.
// A run that is cancelled before its program starts is cancelled, not SANDBOX_UNAVAILABLE,
// although the helper reports that it ended early.
func (in *inbox) finish() {
	in.once.Do(func() { // it was not started
		unix.Close(in.fd)
		if in.early != nil {
			go func() {
				_, _ = in.early.Wait()
			}()
		}
	})
	if in.done != nil {
		<-in.done
	}
}

func (in *inbox) receive() {
	defer close(in.done)
	defer unix.Close(in.fd)
	buf := make([]byte, 64<<10)
	oob := make([]byte, unix.CmsgSpace(4))
	for reset := false; ; {
		n, on, _, _, err := unix.Recvmsg(in.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		// A helper that ended before it read its request: the kernel returns this error
		// once, before the report that was sent.
		first := err == unix.ECONNRESET && !reset
		if reset = reset || first; first || err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			in.err = err
			return
		}
		m, _, err := confine.ParseMessage(buf[:n])
		switch {
		case err != nil:
			in.failure = &confine.Failure{Step: confine.VersionStep}
		case m.Failure != nil:
			in.failure = m.Failure
		case m.End != nil:
			in.end = m.End // nothing follows it
			close(in.ended)
			return
		case m.Exited:
			in.exited()
		case m.Listening:
			in.handOver(oob[:on])
		}
	}
}

// handOver passes the listener of the helper on.
func (in *inbox) handOver(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer f.Close()
	l, err := net.FileListener(f)
	if err == nil && in.listen != nil {
		in.listen(l)
	} else if err == nil {
		l.Close()
	}
}
