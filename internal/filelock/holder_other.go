//go:build !linux

package filelock

// holder returns 0: only Linux lists locks in a file.
func holder(string) (pid int, program string) { return 0, "" }
