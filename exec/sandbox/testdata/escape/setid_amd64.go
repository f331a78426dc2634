//go:build linux

package main

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setIDOfArch uses the system calls that only this architecture has.
func setIDOfArch(call, name string, mode uint32) error {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	p := uintptr(unsafe.Pointer(path))
	var no syscall.Errno
	switch call {
	case "chmod":
		_, _, no = unix.Syscall(unix.SYS_CHMOD, p, uintptr(mode), 0)
	case "open":
		_, _, no = unix.Syscall(unix.SYS_OPEN, p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, uintptr(mode))
		if no == unix.EEXIST {
			return errors.New("the file exists")
		}
	case "creat":
		_, _, no = unix.Syscall(unix.SYS_CREAT, p, uintptr(mode), 0)
	case "mknod":
		_, _, no = unix.Syscall(unix.SYS_MKNOD, p, uintptr(unix.S_IFREG|mode), 0)
	default:
		return errors.New("no system call " + call)
	}
	if no != 0 {
		return no
	}
	return nil
}
