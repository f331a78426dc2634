package confine

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		os.Exit(run())
	}
}

// step is a failed step of the helper.
type step struct {
	name, what string
	err        error
}

func (s *step) Error() string { return s.name + ": " + s.what + ": " + s.err.Error() }

func (s *step) Unwrap() error { return s.err }

func failed(name, what string, err error) error {
	if err == nil {
		return nil
	}
	return &step{name, what, err}
}

// run is the whole process. Landlock, seccomp and the loss of capabilities apply to one
// thread and to the program that it starts. It is not the main thread, so that the
// program cannot signal the helper where Landlock scopes signals.
func run() int {
	status := make(chan int)
	go func() {
		runtime.LockOSThread()
		status <- confined()
	}()
	return <-status
}

func confined() int {
	debug.SetGCPercent(-1) // the helper allocates little, and its memory cannot grow under the limits
	spec, err := readSpec()
	if err != nil {
		report(Message{Failure: &Failure{Step: "start", What: err.Error()}})
		return Failed
	}
	p, err := confineAndStart(spec)
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
	report(Message{End: &end})
	if end.Signal != 0 {
		return 128 + end.Signal
	}
	return end.Code
}

func readSpec() (*Spec, error) {
	f := os.NewFile(SpecFD, "spec")
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.New("this command is started by rye only")
	}
	f.Close()
	spec := &Spec{}
	return spec, json.Unmarshal(b, spec)
}

// report sends a message. Nothing can be done if the parent is gone: it ends the
// helper.
func report(m Message, files ...int) {
	b, err := json.Marshal(m)
	if err != nil {
		return
	}
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	_ = unix.Sendmsg(ReportFD, b, oob, nil, unix.MSG_NOSIGNAL)
}

func confineAndStart(spec *Spec) (*program, error) {
	unix.CloseOnExec(ReportFD)
	last := uint(ReportFD + spec.Files)
	if err := unix.CloseRange(last+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, failed("descriptors", "close_range", err)
	}
	mask := unix.Umask(0)
	if err := mount(spec.Mounts); err != nil {
		return nil, err
	}
	unix.Umask(mask)
	if err := network(spec); err != nil {
		return nil, err
	}
	p := &program{spec: spec, outputs: outputs()}
	p.prepare()
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, failed("privileges", "dumpable", err)
	}
	if spec.Landlock != nil { // without isolation, set-user-id programs work as elsewhere
		if err := dropPrivileges(); err != nil {
			return nil, err
		}
	}
	if err := restrict(spec.Landlock); err != nil {
		return nil, err
	}
	give, err := setLimits(spec.Rlimits)
	if err != nil {
		return nil, err
	}
	if err := filter(spec.Filter); err != nil {
		return nil, err
	}
	return p, p.start(give)
}

// dropPrivileges gives up all capabilities of the thread and the ways to get some by
// exec, also of a user id 0.
func dropPrivileges() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// EPERM without namespaces: an ordinary user has none to drop.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL && err != unix.EPERM {
			return failed("privileges", "bounding set", err)
		}
	}
	const bits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP, their locks, KEEP_CAPS_LOCKED, NO_CAP_AMBIENT_RAISE and its lock
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, bits, 0, 0, 0); err != nil && err != unix.EPERM {
		return failed("privileges", "secure bits", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failed("privileges", "ambient capabilities", err)
	}
	if err := dropCaps(); err != nil {
		return failed("privileges", "capabilities", err)
	}
	return failed("privileges", "no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}

// dropCaps gives up the capabilities of the calling thread.
func dropCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&hdr, &none[0])
}

// network sets the loopback interface up and creates the listener of the proxy.
func network(spec *Spec) error {
	if !spec.Loopback {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed("network", "socket", err)
	}
	defer unix.Close(fd)
	ifr, _ := unix.NewIfreq("lo")
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return failed("network", "loopback interface", err)
	}
	if spec.Listen == 0 {
		return nil
	}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return failed("network", "socket of the proxy", err)
	}
	defer unix.Close(l)
	if err := unix.Bind(l, &unix.SockaddrInet4{Port: spec.Listen, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return failed("network", "address of the proxy", err)
	}
	if err := unix.Listen(l, 128); err != nil {
		return failed("network", "listener of the proxy", err)
	}
	report(Message{Listening: true}, l)
	return nil
}
