// Package stack prepares the stack of a goroutine for a deep chain of calls. It sets no
// limit, and changes nothing but the time of a run.
package stack

// reserved is what Reserve has after it, in bytes. A run of a tool needs about half.
const reserved = 40 << 10

// Reserve makes the stack of the calling goroutine large enough for a deep chain of calls at
// once. A stack that grows while it is deep is copied each time, and the runtime reads the
// tables of each function on it: four times for a run of a tool, which is a twentieth of
// the processor time of a new process.
func Reserve() { frame(false) }

// frame has an argument of its call in its frame, which is why the stack grows when it
// begins. It never makes the call, so the pages are not touched.
//
//go:noinline
func frame(call bool) byte {
	if call {
		return first([reserved]byte{})
	}
	return 0
}

//go:noinline
func first(b [reserved]byte) byte { return b[0] }
