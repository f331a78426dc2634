package git

import "syscall"

// limitAddressSpace makes a single allocation of more than maxSpace bytes fail, which ends
// the process: the heap is sampled too late for it.
func limitAddressSpace() {
	limit := syscall.Rlimit{Cur: maxSpace, Max: maxSpace}
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &limit)
}
