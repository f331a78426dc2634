package startheap

import (
	"syscall"
	"unsafe"
)

// Stacks have powers of two: a frame of block bytes needs one of mapped bytes.
// What is advised begins below it, with the 4 MiB that the heap has from the beginning.
const (
	block   = 12 << 20
	mapped  = 16 << 20
	advised = mapped + 6<<20
)

// largePages maps memory for the heap and asks for large pages there. The runtime maps 4 MiB
// at a time, and a range that it maps later does not have the advice. So a goroutine asks
// for a stack of 16 MiB, which is taken from the heap in one piece and which no code
// touches, advises, and ends: the runtime gives its stack back to the heap at once, where a
// block of the heap would need a collection.
func largePages() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end := top(false) &^ (4<<10 - 1)
		// An error, as for a part that is not mapped, leaves small pages: the process is slower only.
		_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, end-advised, advised, syscall.MADV_HUGEPAGE)
	}()
	<-done
}

// top returns an address near the top of the stack. It has an argument of its call in its frame,
// which is why the stack grows when it begins. It makes no call, so none of these pages
// is touched before the advice.
//
//go:noinline
func top(call bool) uintptr {
	if call {
		return first([block]byte{})
	}
	var b byte
	return uintptr(unsafe.Pointer(&b))
}

//go:noinline
func first(b [block]byte) uintptr { return uintptr(b[0]) }
