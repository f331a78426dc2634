//go:build !linux

package sandbox

import (
	"errors"
	"time"
)

// stamp identifies a directory and its last change.
type stamp struct {
	device, inode uint64
	changed       time.Time
}

// stampOf knows nothing: programs are not confined to paths on this system.
func stampOf(string) (stamp, bool) { return stamp{}, false }

type stamps struct{}

func openStamps(string) (stamps, error) { return stamps{}, errors.ErrUnsupported }

func (stamps) close() {}

func (stamps) stamp(string) (stamp, bool) { return stamp{}, false }

func trackedDevice(string) (device uint64, onDisk bool) { return 0, false }
