//go:build unix

package proc

import (
	"net"
	"os"
	"syscall"

	"github.com/ryeos/rye/diag"
)

// Pair returns the two ends of a connection that has no address: one for this process
// and one for Cmd.Files of a program.
func Pair() (ours net.Conn, theirs *os.File, err error) {
	// A program that is started meanwhile must not inherit an end.
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, diag.New(diag.FileSystemError, "opening a connection for a program: %w", err)
	}
	mine := os.NewFile(uintptr(fds[0]), "connection")
	theirs = os.NewFile(uintptr(fds[1]), "connection of a program")
	ours, err = net.FileConn(mine) // a copy of the descriptor, which can be closed while it is read
	mine.Close()
	if err != nil {
		theirs.Close()
		return nil, nil, diag.New(diag.FileSystemError, "opening a connection for a program: %w", err)
	}
	return ours, theirs, nil
}
