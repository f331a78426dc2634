//go:build !linux && !darwin && !windows

package openat

import "os"

func renameBusy(from, to string) error { return os.Rename(from, to) }
