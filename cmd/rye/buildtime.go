package main

import (
	"runtime/debug"
	"time"
)

// buildTime returns the time of the commit this binary was built from, zero
// when it was built without one. The clock cannot honestly be earlier.
func buildTime() time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return time.Time{}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			t, _ := time.Parse(time.RFC3339, s.Value)
			return t
		}
	}
	return time.Time{}
}
