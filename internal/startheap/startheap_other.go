//go:build !linux

package startheap

// largePages does nothing: the system decides by itself.
func largePages() {}
