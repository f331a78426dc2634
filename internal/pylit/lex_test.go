package pylit

import (
	"strings"
	"testing"
)

// TestOperatorLen compares it with the longest operator that a text begins with.
func TestOperatorLen(t *testing.T) {
	operators := strings.Fields("**= //= >>= <<= ... -> := == != <= >= += -= *= /= %= &= |= ^= @= ** // << >> + - * / % & | ^ = < > : @ . ; , ~")
	parts := strings.Split("+-*/%&|^=<>:@.;,~!a 1", "")
	for _, a := range parts {
		for _, b := range append(parts, "") {
			for _, c := range append(parts, "") {
				want := 0
				for _, op := range operators {
					if strings.HasPrefix(a+b+c, op) {
						want = max(want, len(op))
					}
				}
				if got := operatorLen(a + b + c); got != want {
					t.Errorf("%q begins with an operator of %d bytes, want %d", a+b+c, got, want)
				}
			}
		}
	}
}
