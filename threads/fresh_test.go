package threads

import (
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// TestNewTokens: what a cache gave and what was sent before is not new; a conversation that fills
// a window of 400,000 in 40 turns has used little more than that.
func TestNewTokens(t *testing.T) {
	var n newTokens
	for _, c := range []struct {
		name  string
		count func()
		want  int64
	}{
		{"the first request", func() { n.add(message.Usage{Input: 1000, Output: 50}, false) }, 1050},
		{"sent again without a cache", func() { n.add(message.Usage{Input: 1250, Output: 10}, false) }, 1050 + 200 + 10},
		{"from a cache", func() { n.add(message.Usage{Input: 40, CacheRead: 1260, Output: 10}, false) }, 1260 + 40 + 10},
		{"written to a cache", func() { n.add(message.Usage{CacheWrite5m: 1400, Output: 5}, false) }, 1310 + 90 + 5},
		{"a failed attempt", func() { n.missed(message.Usage{Input: 1505, Output: 7}) }, 1405 + 100 + 7},
		{"its repetition", func() { n.add(message.Usage{Input: 1505, Output: 20}, false) }, 1512 + 20},
		{"a request of a program", func() { n.add(message.Usage{Input: 300, CacheRead: 100, Output: 30}, true) }, 1532 + 330},
		{"a shorter conversation", func() { n.add(message.Usage{Input: 500, Output: 10}, false) }, 1862 + 10},
	} {
		c.count()
		if n.used != c.want {
			t.Errorf("%s: %d, want %d", c.name, n.used, c.want)
		}
	}
	n = newTokens{}
	for sent := int64(10_000); sent <= 400_000; sent += 10_000 {
		n.add(message.Usage{Input: sent, Output: 500}, false)
	}
	if n.used < 400_000 || n.used > 410_000 {
		t.Errorf("a window of 400,000 took %d tokens", n.used)
	}
	if got := n.next(Estimate{Input: 402_000, Output: 1000}, false); got != 2500 {
		t.Errorf("the next call has at most %d", got)
	}
}
