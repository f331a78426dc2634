package confine

import (
	"errors"
	"syscall"
)

// early waits for the descriptors of a helper that was started before its request
// existed, and gives them the numbers that the others have from the start: the standard
// streams, and from ReportFD+1 the descriptors of the program. It returns the descriptor of the
// request, and -1 without an error if the parent needs no helper.
func early() (spec int, err error) {
	var b [1]byte
	oob := make([]byte, syscall.CmsgSpace(4*maxFiles))
	n, on, flags, _, err := syscall.Recvmsg(ReportFD, b[:], oob, syscall.MSG_CMSG_CLOEXEC)
	for err == syscall.EINTR {
		n, on, flags, _, err = syscall.Recvmsg(ReportFD, b[:], oob, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return -1, failed("start", "receiving the descriptors of the program", err)
	}
	if n == 0 {
		return -1, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:on])
	if err != nil || len(messages) != 1 || flags&syscall.MSG_CTRUNC != 0 {
		return -1, errors.New("the descriptors of the program did not arrive")
	}
	got, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(got) < 4 {
		return -1, errors.New("descriptors of the program are missing")
	}
	for i, fd := range got { // above all numbers that are given below
		high, _, no := syscall.Syscall(
			syscall.SYS_FCNTL,
			uintptr(fd),
			syscall.F_DUPFD_CLOEXEC,
			uintptr(ReportFD+2+2*len(got)),
		)
		if no != 0 {
			return -1, failed("start", "moving the descriptors of the program", no)
		}
		syscall.Close(fd)
		got[i] = int(high)
	}
	for i, fd := range got {
		if i == SpecFD {
			// It stays where it is: a file that another thread of the runtime opens meanwhile
			// gets the lowest free number, and closing it must not close the request.
			spec = fd
			continue
		}
		if i >= ReportFD {
			i++
		}
		err := syscall.Dup3(fd, i, syscall.O_CLOEXEC)
		for err == syscall.EBUSY { // another thread of the runtime is opening a file with this number
			err = syscall.Dup3(fd, i, syscall.O_CLOEXEC)
		}
		if err != nil {
			return -1, failed("start", "placing the descriptors of the program", err)
		}
		syscall.Close(fd)
	}
	return spec, nil
}

const maxFiles = 64
