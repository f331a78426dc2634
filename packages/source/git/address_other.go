//go:build !linux

package git

// limitAddressSpace limits a process on Linux only. On Windows, its job object does.
func limitAddressSpace() {}
