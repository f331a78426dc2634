package filelock

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long a lock is waited for whose holder was killed, or is not known.
const (
	killedWait  = 2 * time.Second
	unknownWait = 100 * time.Millisecond
)

// leaving returns how long it is reasonable to wait for the end of a lock because the process that took it has ended, 0 if it
// lives. A dead process has no number in a namespace of processes, as one of another container.
func leaving(path string) time.Duration {
	pid, _ := holder(path)
	switch {
	case pid == 0:
		return unknownWait
	case syscall.Kill(pid, 0) == syscall.ESRCH:
		return killedWait
	}
	return 0
}

// holder returns the process that has a lock of the file, from /proc/locks. A
// process of another container has no number here.
func holder(path string) (pid int, program string) {
	var at syscall.Stat_t
	if syscall.Stat(path, &at) != nil {
		return 0, ""
	}
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, ""
	}
	dev := uint64(at.Dev) //nolint:unconvert // the type differs between architectures
	major := dev>>8&0xfff | dev>>32&^0xfff
	minor := dev&0xff | dev>>12&^0xff
	file := fmt.Sprintf("%02x:%02x:%d", major, minor, at.Ino)
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 4242 fe:00:131 0 EOF; "->" marks one that waits
		words := strings.Fields(line)
		if len(words) < 8 || words[1] != "FLOCK" || words[5] != file {
			continue
		}
		if pid, err = strconv.Atoi(words[4]); err != nil || pid <= 0 {
			return 0, ""
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			return pid, ""
		}
		return pid, strconv.QuoteToGraphic(string(bytes.TrimSpace(name)))
	}
	return 0, ""
}
