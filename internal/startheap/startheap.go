// Package startheap prepares the heap of a process that begins with a known amount of work.
// It sets no limit, and changes nothing but the time of a process.
package startheap

import (
	"runtime"
	"runtime/debug"
)

// percent is GOGC until the first collection: 4 MiB, the smallest heap of the runtime, times
// percent/100 are allocated before it.
const percent = 400

// Reserve prepares the heap for a few megabytes that are used at once. The first collection
// begins after 16 MiB, not after 4, and from then on the heap grows as any other. The first
// size bytes are taken from the system in large pages where it has them: in a virtual
// machine, each first use of a page of 4 KiB costs 2 to 3 µs, and a start uses two thousand.
//
// It does nothing if the environment of the process sets GOGC.
func Reserve(gogc string) {
	if gogc != "" {
		return
	}
	before := debug.SetGCPercent(-1)
	largePages()
	debug.SetGCPercent(percent)
	// A finalizer runs after the first collection: from then on memory counts more than time.
	runtime.AddCleanup(&struct{ b [16]byte }{}, func(percent int) { debug.SetGCPercent(percent) }, before)
}
