// Package every calls a function again and again until it is stopped.
//
// It keeps no time of its own: a call that lasts longer than the interval is followed by the next
// one at once, and calls do not run at the same time.
package every

import "time"

// Start calls f after each interval until stop is called, which waits for a call of f that runs. stop
// must be called once, and not by f.
func Start(interval time.Duration, f func(now time.Time)) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				f(now)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
