package inline_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/inline"
)

// TestErase: the block is erased without a row that can have other text, a question
// has no block below it, and lines wait until it is answered.
func TestErase(t *testing.T) {
	var out bytes.Buffer
	now, columns := time.Unix(0, 0), 40
	w := inline.New(inline.Params{Out: &out, Mode: inline.Live, Size: func() (int, int) { return columns, 24 }, Now: func() time.Time { now = now.Add(time.Second); return now }})
	wrote := func(want string) {
		t.Helper()
		got := strings.NewReplacer("\x1b[?2026h", "", "\x1b[?2026l", "", "\x1b[", "^").Replace(out.String())
		if got != want {
			t.Errorf("it writes %q, want %q", got, want)
		}
		out.Reset()
	}
	w.Block([]string{strings.Repeat("x", 60), "status  "})
	wrote(strings.Repeat("x", 38) + "…\nstatus")
	columns = 20 // a terminal may have divided the first line: a row of it stays, but no text is lost
	w.Append("done")
	wrote("\r^1A^Jdone\n" + strings.Repeat("x", 18) + "…\nstatus")
	resume := w.Suspend()
	wrote("\r^1A^J")
	w.Append("later")
	w.Block([]string{"new"})
	wrote("")
	resume()
	wrote("later\nnew")
	w.Close()
	wrote("\r^J")
}
