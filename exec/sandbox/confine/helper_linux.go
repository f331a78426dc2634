package confine

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

func init() {
	// Any other command line is one of rye, whose main function reads it.
	n := len(os.Args)
	switch {
	case n < 2 || os.Args[1] != Command:
	case n == 2 || n == 3 && os.Args[2] == Early:
		os.Exit(run())
	case n == 3 && os.Args[2] == Starter:
		os.Exit(starter())
	}
}

// step is a failed step of the helper.
type step struct {
	name, what string
	err        error
}

func (s *step) Error() string {
	return s.name + ": " + s.what + ": " + s.err.Error()
}

func (s *step) Unwrap() error {
	return s.err
}

func failed(name, what string, err error) error {
	if err == nil {
		return nil
	}
	return &step{name, what, err}
}

// run is the whole process. Landlock, seccomp and the loss of capabilities apply to one
// thread and to the program that it starts. It is not the main thread, so that the
// program cannot signal the helper where Landlock scopes signals. The main thread receives
// signals and measures the program.
//
// A run ends when the helper reports that no process of the program is left. The kernel needs 1
// ms more for the namespaces, and rye does not wait for it.
func run() int {
	p := &program{ready: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		os.Exit(p.confined())
	}()
	p.receive()
	close(p.ready)
	p.watch()
	return Failed
}

func (p *program) confined() int {
	var err error
	request := SpecFD
	if len(os.Args) == 3 {
		if request, err = early(); request < 0 && err == nil {
			return Failed
		}
	}
	if err == nil {
		err = readSpec(p, request)
	}
	if err == nil {
		err = p.confineAndStart()
	}
	if err != nil {
		f := &Failure{Step: "start", What: err.Error()}
		if s := new(step); errors.As(err, &s) {
			f.Step, f.What = s.name, s.what+": "+s.err.Error()
		}
		if no := syscall.Errno(0); errors.As(err, &no) {
			f.Errno = int(no)
		}
		report(Message{Failure: f})
		return Failed
	}
	end := p.supervise()
	// The parent waits for this message, and not for the end of this process.
	report(Message{End: &end})
	if end.Signal != 0 {
		return 128 + end.Signal
	}
	return end.Code
}

func readSpec(p *program, fd int) error {
	var st syscall.Stat_t
	err := syscall.Fstat(fd, &st)
	if err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return errors.New("this command is started by rye only")
	}
	b := make([]byte, st.Size)
	n, err := syscall.Pread(fd, b, 0)
	if err != nil || n < len(b) {
		return failed("start", "reading the request", err)
	}
	syscall.Close(fd)
	spec, err := ParseSpec(b)
	if err != nil {
		return failed(VersionStep, "the request", err)
	}
	p.spec = spec
	return nil
}

// report sends a message. Nothing can be done if the parent is gone: it ends the
// helper.
func report(m Message, files ...int) {
	var oob []byte
	if len(files) > 0 {
		oob = syscall.UnixRights(files...)
	}
	_ = syscall.Sendmsg(ReportFD, AppendMessage(nil, m), oob, nil, syscall.MSG_NOSIGNAL)
}

func (p *program) confineAndStart() error {
	spec := p.spec
	syscall.CloseOnExec(ReportFD)
	last := uintptr(ReportFD + spec.Files)
	if err := closeRange(last+1, uintptr(^uint32(0)>>1), closeRangeCloexec); err != nil {
		return failed("descriptors", "close_range", err)
	}
	mask := syscall.Umask(0)
	if err := mount(spec.Mounts); err != nil {
		return err
	}
	syscall.Umask(mask)
	if err := network(spec); err != nil {
		return err
	}
	p.prepare()
	if err := prctl(prSetDumpable, 0, 0); err != nil {
		return failed("privileges", "dumpable", err)
	}
	if spec.Landlock != nil { // without isolation, set-user-id programs work as elsewhere
		if err := dropPrivileges(); err != nil {
			return err
		}
	}
	if err := restrict(spec.Landlock); err != nil {
		return err
	}
	<-p.ready // a signal of the program must not end the helper
	give, err := setLimits(spec.Rlimits, p.spare)
	if err != nil {
		return err
	}
	listener, err := filter(spec.Filter)
	if err != nil {
		return err
	}
	if listener >= 0 {
		go newModes(listener, spec.Landlock).serve()
	}
	return p.start(give)
}

// dropPrivileges gives up all capabilities of the thread and the ways to get some by
// exec, also of a user id 0.
func dropPrivileges() error {
	for c := uintptr(0); c <= capLastCap; c++ {
		// EPERM without namespaces: an ordinary user has none to drop.
		err := prctl(prCapbsetDrop, c, 0)
		if err != nil && err != syscall.EINVAL && err != syscall.EPERM {
			return failed("privileges", "bounding set", err)
		}
	}
	const bits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP, their locks, KEEP_CAPS_LOCKED, NO_CAP_AMBIENT_RAISE and its lock
	err := prctl(prSetSecurebits, bits, 0)
	if err != nil && err != syscall.EPERM {
		return failed("privileges", "secure bits", err)
	}
	if err := prctl(prCapAmbient, prCapAmbientClear, 0); err != nil {
		return failed("privileges", "ambient capabilities", err)
	}
	if err := dropCaps(); err != nil {
		return failed("privileges", "capabilities", err)
	}
	return failed("privileges", "no_new_privs", prctl(prSetNoNewPrivs, 1, 0))
}

// network sets the loopback interface up and creates the listener of the proxy.
func network(spec *Spec) error {
	if !spec.Loopback {
		return nil
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed("network", "socket", err)
	}
	defer syscall.Close(fd)
	if err := setUp(fd, "lo"); err != nil {
		return failed("network", "loopback interface", err)
	}
	if spec.Listen == 0 {
		return nil
	}
	l, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return failed("network", "socket of the proxy", err)
	}
	defer syscall.Close(l)
	err = syscall.Bind(
		l,
		&syscall.SockaddrInet4{Port: spec.Listen, Addr: [4]byte{127, 0, 0, 1}},
	)
	if err != nil {
		return failed("network", "address of the proxy", err)
	}
	if err := syscall.Listen(l, 128); err != nil {
		return failed("network", "listener of the proxy", err)
	}
	report(Message{Listening: true}, l)
	return nil
}
