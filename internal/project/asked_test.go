package project

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/policy"
)

// The log of a question repeats the parameters of a call only if they are short.
func TestChangeForLog(t *testing.T) {
	for _, size := range []int{10, 300 << 10} {
		c := &policy.FileChange{Applet: "write", Params: map[string]any{"content": strings.Repeat("x", size)}}
		if got := ChangeForLog(c); (got != nil) != (size == 10) {
			t.Errorf("%d bytes are recorded: %t", size, got != nil)
		}
	}
	if ChangeForLog(nil) != nil {
		t.Error("no change is recorded as one")
	}
}
