package startheap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The heap is larger until the first collection, and then as before.
func TestReserve(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	now := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	if Reserve("off"); now() != 100 {
		t.Errorf("with GOGC in the environment: %d, want 100", now())
	}
	Reserve("")
	if now() != percent {
		t.Errorf("before a collection: %d, want %d", now(), percent)
	}
	for range 500 { // cleanups run after the collection, in a goroutine of their own
		if runtime.GC(); now() == 100 {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if now() != 100 {
		t.Errorf("after a collection: %d, want 100", now())
	}
}
