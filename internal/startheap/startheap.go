// Package startheap delays the first collection of garbage of a process that begins with a known
// amount of work. It sets no limit, and changes nothing but the time of a process.
package startheap

import (
	"runtime"
	"runtime/debug"
)

// percent is GOGC until the first collection: 4 MiB, the smallest heap of the runtime, times
// percent/100 are allocated before it.
const percent = 400

// usual is GOGC of a process that lives on: the value of the runtime.
const usual = 100

// Reserve makes the first collection begin after 16 MiB, not after 4. From then on the heap
// grows as any other. It does nothing if the environment of the process sets GOGC, whose
// value is gogc.
//
// Large pages for this heap were tried: they save a third of the page faults, but the kernel
// takes them from memory that a virtual machine has not used yet, where the first use of
// each costs the host milliseconds. In turn they gained nothing.
func Reserve(gogc string) {
	if gogc != "" {
		return
	}
	debug.SetGCPercent(percent)
	// The cleanup runs after the first collection: from then on memory is worth more than time.
	runtime.AddCleanup(
		&struct{ b [16]byte }{},
		func(percent int) { debug.SetGCPercent(percent) },
		usual,
	)
}
