package confine

import (
	"syscall"
	"unsafe"
)

// Landlock has no right for the mode of a file: a program could make a key of its user
// readable for other users of the machine. In the rung landlock the filter passes the calls
// that set modes to the helper, which makes them on files that the program may write. The
// helper opens the file itself, so that no thread of the program can exchange it.

// Constants of Linux, with the names of its headers.
const (
	seccompNewListener = 1 << 3
	notifyReceive      = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	notifySend         = 0xc0182101
	notifyValid        = 0x40082102

	retNotify = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	retErrno  = 0x00050000
	bpfReturn = 0x06 // BPF_RET | BPF_K

	sysFchmodat2 = 452
	writeFile    = 1 << 1 // LANDLOCK_ACCESS_FS_WRITE_FILE
	maxPath      = 4096
)

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// notificationAnswer is struct seccomp_notif_resp.
type notificationAnswer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// asked reports whether a filter passes calls to the helper.
func asked(prog []syscall.SockFilter) bool {
	for _, f := range prog {
		if f.Code == bpfReturn && f.K == retNotify {
			return true
		}
	}
	return false
}

// refused replaces the instructions that pass calls to the helper.
func refused(prog []syscall.SockFilter) {
	for i, f := range prog {
		if f.Code == bpfReturn && f.K == retNotify {
			prog[i].K = retErrno | uint32(syscall.EPERM)
		}
	}
}

// modes serves the calls that set modes.
type modes struct {
	listener int
	writable []string // paths of rules: files, and directories with all below
}

func newModes(listener int, r *Ruleset) *modes {
	m := &modes{listener: listener}
	for _, rule := range r.Rules {
		if rule.Access&writeFile != 0 && !isBelow(rule.Path, "/dev") {
			m.writable = append(m.writable, rule.Path)
		}
	}
	return m
}

func isBelow(path, dir string) bool {
	return path == dir ||
		len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}

// serve answers until the listener fails. Then the kernel refuses the calls.
func (m *modes) serve() {
	defer syscall.Close(m.listener)
	for {
		var n notification
		switch no := ioctl(m.listener, notifyReceive, unsafe.Pointer(&n)); no {
		case 0:
		case syscall.EINTR, syscall.ENOENT: // a signal; the program ended
			continue
		default:
			return
		}
		a := notificationAnswer{id: n.id, errno: -int32(m.set(&n))}
		_ = ioctl(m.listener, notifySend, unsafe.Pointer(&a)) // the program may have ended
	}
}

func ioctl(fd int, command uintptr, arg unsafe.Pointer) syscall.Errno {
	_, _, no := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), command, uintptr(arg))
	return no
}

// set makes one call.
func (m *modes) set(n *notification) syscall.Errno {
	fd, mode, err := m.open(n)
	if err != nil {
		return errnoFrom(err)
	}
	defer syscall.Close(fd)
	// The process of the notification may have ended, and a new process have its number.
	no := ioctl(m.listener, notifyValid, unsafe.Pointer(&n.id))
	if no != 0 {
		return no
	}
	path := "/proc/self/fd/" + decimal(int64(fd))
	b := make([]byte, maxPath)
	size, err := syscall.Readlink(path, b)
	if err != nil {
		return errnoFrom(err)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return errnoFrom(err)
	}
	if int(st.Uid) != syscall.Geteuid() ||
		!m.writes(string(b[:size])) {
		return syscall.EPERM
	}
	return errnoFrom(syscall.Chmod(path, mode))
}

func (m *modes) writes(path string) bool {
	for _, w := range m.writable {
		if isBelow(path, w) {
			return true
		}
	}
	return false
}

// open opens the file of a call as the program would.
func (m *modes) open(n *notification) (fd int, mode uint32, err error) {
	thread := "/proc/" + decimal(int64(n.pid))
	dir := int32(atFDCWD)
	at := n.args[0]
	flags := uint64(0)
	switch n.nr {
	case syscall.SYS_FCHMOD:
		fd, err = syscall.Open(
			thread+"/fd/"+decimal(int64(int32(n.args[0]))),
			oPath|syscall.O_CLOEXEC,
			0,
		)
		return fd, uint32(n.args[1]), err
	case syscall.SYS_FCHMODAT, sysFchmodat2:
		dir = int32(n.args[0])
		at = n.args[1]
		mode = uint32(n.args[2])
		if n.nr == sysFchmodat2 {
			flags = n.args[3]
		}
	default: // chmod
		mode = uint32(n.args[1])
	}
	path, err := textOf(thread, at)
	if err != nil {
		return -1, 0, err
	}
	base := thread + "/cwd"
	if dir != atFDCWD {
		base = thread + "/fd/" + decimal(int64(dir))
	}
	how := oPath | syscall.O_CLOEXEC
	if flags&atSymlinkNoFollow != 0 {
		how |= syscall.O_NOFOLLOW
	}
	switch {
	case path == "" && flags&atEmptyPath == 0:
		return -1, 0, syscall.ENOENT
	case path == "":
		fd, err = syscall.Open(base, oPath|syscall.O_CLOEXEC, 0)
	case path[0] == '/':
		for _, self := range []string{"/proc/self", "/proc/thread-self", "/dev/fd"} { // they name the process that opens them
			if isBelow(path, self) {
				rest := path[len(self):]
				if path = thread + rest; self == "/dev/fd" {
					path = thread + "/fd" + rest
				}
			}
		}
		fd, err = syscall.Open(path, how, 0)
	default:
		var d int
		if d, err = syscall.Open(base, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err != nil {
			return -1, 0, err
		}
		fd, err = syscall.Openat(d, path, how, 0)
		syscall.Close(d)
	}
	return fd, mode, err
}

// textOf reads a text with a NUL at its end from the memory of a process.
func textOf(thread string, at uint64) (string, error) {
	fd, err := syscall.Open(thread+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", syscall.EPERM
	}
	defer syscall.Close(fd)
	b := make([]byte, maxPath)
	size, err := syscall.Pread(fd, b, int64(at)) // ends where no memory is mapped
	if err != nil {
		return "", syscall.EFAULT
	}
	for i, c := range b[:size] {
		if c == 0 {
			return string(b[:i]), nil
		}
	}
	return "", syscall.ENAMETOOLONG
}

func errnoFrom(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if no, ok := err.(syscall.Errno); ok {
		return no
	}
	return syscall.EIO
}
