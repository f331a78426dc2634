//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// residentSize returns the largest resident size of an ended process, in
// bytes. Linux includes the parent's size at the fork. Therefore the measuring
// process stays small and starts others to write the corpora.
func residentSize(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}
