//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// residentSize returns the largest resident size of an ended process, in
// bytes. Linux counts what the parent had at the fork too, which is why the
// program that measures stays small and lets others write the corpora.
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
