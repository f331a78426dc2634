package every_test

import (
	"testing"
	"time"

	"github.com/ryeos/rye/internal/every"
)

// TestStart has a function called repeatedly, and not after stop, which waits for the call that runs.
func TestStart(t *testing.T) {
	third := make(chan struct{})
	leave := make(chan struct{})
	n := 0
	stop := every.Start(time.Millisecond, func(time.Time) {
		if n++; n == 3 {
			close(third)
			<-leave
		}
	})
	<-third
	stopped := make(chan int)
	go func() {
		stop()
		stopped <- n // no call changes it any more
	}()
	select {
	case <-stopped:
		t.Fatal("stop did not wait for the call")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	after := <-stopped
	time.Sleep(5 * time.Millisecond)
	if n != after {
		t.Errorf("%d calls after stop", n-after)
	}
}
