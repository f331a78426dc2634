package stack

import (
	"runtime/metrics"
	"testing"
)

// TestReserve compares the memory for stacks before and after many goroutines reserved.
func TestReserve(t *testing.T) {
	stacks := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	const n = 50
	before := stacks()
	ready, done := make(chan bool), make(chan bool)
	for range n {
		go func() {
			Reserve()
			ready <- true
			<-done
		}()
	}
	for range n {
		<-ready
	}
	if got := stacks() - before; got < n*reserved {
		t.Errorf("%d goroutines have %d bytes of stack, want at least %d", n, got, n*reserved)
	}
	close(done)
}
