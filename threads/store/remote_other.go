//go:build !linux && !darwin && !windows

package store

// remote returns the name of the network file system that a directory is on, or "".
// This system has no portable way to ask.
func remote(string) (string, error) { return "", nil }
