package startheap

import (
	"bytes"
	"os"
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

// The advice is given for a range that the heap then uses.
func TestLargePages(t *testing.T) {
	const setting = "/sys/kernel/mm/transparent_hugepage/enabled"
	if _, err := os.Stat(setting); err != nil {
		t.Skip("this system has no large pages that programs can ask for")
	}
	advised := func() int {
		b, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Skip(err)
		}
		return bytes.Count(b, []byte(" hg"))
	}
	before := advised()
	largePages()
	if got := advised(); got <= before && before == 0 {
		t.Errorf("%d ranges have the advice, before %d", got, before)
	}
}
