package glob

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"net:*.acme.io", "net:api.*", true}, {"net:*", "net:evil.io", true}, {"net:*.io", "net:*.com", false}, {"a*c", "abc", true},
		{"a?c", "a*", true}, {"a?c", "ac", false}, {"", "", true}, {"*", "", true}, {"**", "*x*", true}, {"rye.[ab].x", "rye.c.x", true},
		{"a", "b", false}, {"?", "é", true}, {"??", "é", false},
	} {
		if Overlaps(c.a, c.b) != c.want || Overlaps(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %t", c.a, c.b, c.want)
		}
	}
}

// A text that both patterns match is an overlap.
func TestOverlapsIsConservative(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, n int) string {
		var b strings.Builder
		runes := []rune(alphabet)
		for range rng.IntN(n) {
			b.WriteRune(runes[rng.IntN(len(runes))])
		}
		return b.String()
	}
	both := 0
	for range 100_000 {
		a, b, text := word("abé*?[]!-", 6), word("abé*?[]!-", 6), word("abé", 6)
		if Text(a, text) && Text(b, text) {
			if both++; !Overlaps(a, b) {
				t.Fatalf("%q matches %q and %q, which do not overlap", text, a, b)
			}
		}
	}
	if both < 100 {
		t.Errorf("only %d pairs matched", both)
	}
}
