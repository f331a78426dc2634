//go:build unix

package proc

import (
	"os"
	"strconv"
	"syscall"
)

// keepListed is keepInherited for a system that lists the descriptors of a process in
// a directory.
func keepListed(dir string) {
	names, _ := os.ReadDir(dir) // a directory that cannot be read has none
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
