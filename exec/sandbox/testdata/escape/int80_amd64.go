//go:build linux

package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// int80 makes a system call of the 32-bit interface, whose numbers a filter for 64
// bits would read wrongly.
func int80() error {
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(mem, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3}) // mov $20 (getpid), %eax; int $0x80; ret
	code := uintptr(unsafe.Pointer(&mem[0]))
	entry := &code
	(*(*func())(unsafe.Pointer(&entry)))()
	return nil
}
