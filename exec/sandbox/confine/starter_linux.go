package confine

import (
	"os"
	"syscall"
)

// starterFD is the socket of the starter.
const starterFD = 3

// starter starts helpers for its parent, whose children they are. A process in a new user
// namespace begins with a copy of the page tables of the process that starts it: the starter
// has small page tables, and nothing to write to afterwards. It serves until the
// other end of its socket is closed, and its descriptors are that socket and, during a
// request, the one of the helper.
func starter() int {
	_ = prctl(prSetDumpable, 0, 0)
	syscall.CloseOnExec(starterFD)
	b := make([]byte, maxStart)
	oob := make([]byte, syscall.CmsgSpace(4))
	for {
		n, on, flags, _, err := syscall.Recvmsg(starterFD, b, oob, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0
		}
		s, err := ParseStart(b[:n])
		socket := received(oob[:on])
		if err != nil || socket < 0 || flags&(syscall.MSG_CTRUNC|syscall.MSG_TRUNC) != 0 {
			return Failed // the parent is another version, and starts its helpers itself
		}
		pid, err := s.start(socket)
		syscall.Close(socket)
		no, _ := err.(syscall.Errno)
		if err != nil && no == 0 {
			no = syscall.EINVAL
		}
		if syscall.Sendmsg(starterFD, AppendStarted(nil, s.Number, pid, no), nil, nil, syscall.MSG_NOSIGNAL) != nil {
			return Failed
		}
	}
}

// maxStart is the longest request.
const maxStart = 8 << 10

// received returns the one descriptor of a message, -1 without.
func received(oob []byte) int {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return -1
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0]
}

// start starts one helper. What is not a question of the clone is what package proc does
// for every program.
func (s *Start) start(socket int) (pid int, err error) {
	// A child that fails after the clone is a zombie of the parent, which does not know it.
	if err := syscall.Faccessat(atFDCWD, s.Path, 1, 0); err != nil {
		return 0, err
	}
	attr := &syscall.SysProcAttr{
		Cloneflags: uintptr(s.Flags) | syscall.CLONE_PARENT,
		// The kernel sends it when the thread of rye ends that started the starter.
		Pdeathsig:   syscall.SIGKILL,
		Setpgid:     true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: s.UID, HostID: s.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: s.GID, HostID: s.GID, Size: 1}},
	}
	for _, c := range s.Caps {
		attr.AmbientCaps = append(attr.AmbientCaps, uintptr(c))
	}
	// The ids of a process that is not dumpable are written by root only, and the child
	// is like the starter until exec.
	if err := prctl(prSetDumpable, 1, 0); err != nil {
		return 0, err
	}
	defer func() { _ = prctl(prSetDumpable, 0, 0) }()
	none := ^uintptr(0)
	return syscall.ForkExec(s.Path, []string{os.Args[0], Command, Early}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   Environ(),
		Files: []uintptr{none, none, none, none, uintptr(socket)},
		Sys:   attr,
	})
}
