//go:build !linux

package sandbox

import "time"

// stamp identifies a directory and its last change.
type stamp struct {
	device, inode uint64
	changed       time.Time
}

// stampOf knows nothing: programs are not confined to paths on this system.
func stampOf(string) (stamp, bool) { return stamp{}, false }

func trackedDevice(string) (device uint64, onDisk bool) { return 0, false }
