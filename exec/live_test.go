package exec

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

func TestSplitLive(t *testing.T) {
	var got []string
	on := splitLive(func(s proc.Stream, line []byte) { got = append(got, fmt.Sprintf("%d:%s", s, line)) })
	on(proc.Stderr, []byte(proc.LiveMark+"half"))
	on(proc.Stdout, []byte(proc.LiveMark+"a result"))
	on(proc.Stderr, []byte("x"+proc.LiveMark))
	if want := []string{"3:half", "1:" + proc.LiveMark + "a result", "2:x" + proc.LiveMark}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if splitLive(nil) != nil {
		t.Error("no receiver, but lines are passed")
	}
	for in, want := range map[string]string{
		"": "", "a\nb": "a\nb", proc.LiveMark + "x": "", proc.LiveMark + "x\na\n" + proc.LiveMark + "y\nb": "a\nb", "a" + proc.LiveMark + "\n": "a" + proc.LiveMark + "\n",
	} {
		if got := withoutLive([]byte(in)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
