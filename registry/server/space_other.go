//go:build !linux && !darwin

package server

// unixModes reports whether files have the permission bits of Unix.
const unixModes = false

// freeSpace returns false: it is not known here.
func freeSpace(string) (int64, bool) { return 0, false }
