//go:build !linux

package filelock

import "time"

// leaving returns 0: whether the holder lives is not known.
func leaving(string) time.Duration { return 0 }

// holder returns 0: only Linux lists locks in a file.
func holder(string) (pid int, program string) { return 0, "" }
