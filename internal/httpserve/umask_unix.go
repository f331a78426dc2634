//go:build unix

package httpserve

import "syscall"

// onlyOwner makes files that are created now unusable for others, until restore is called.
func onlyOwner() (restore func()) {
	old := syscall.Umask(0o177)
	return func() {
		syscall.Umask(old)
	}
}
