package inline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/testing/vterm"
)

// TestResized writes 200 lines while the terminal gets 20 other widths: each line is there once
// and in order, and at the end nothing of a block is left.
func TestResized(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const rows = 24 // the emulator drops rows when it has fewer
		columns := 80
		term := vterm.New(columns, rows)
		now := time.Unix(0, 0)
		w := inline.New(inline.Params{Out: term.TTY(), Mode: inline.Live, Size: func() (int, int) { return columns, rows }, Now: func() time.Time { now = now.Add(time.Second); return now }})
		var want []string
		for n := range 200 {
			if n%10 == 9 {
				columns = 40 + rnd.IntN(160)
				term.Resize(columns, rows)
				w.Draw()
			}
			line := fmt.Sprintf("line %03d %s", n, strings.Repeat("x", 1+rnd.IntN(25)))
			want = append(want, line)
			var block []string
			for i := range rnd.IntN(9) {
				block = append(block, fmt.Sprintf("block %d %s", i, strings.Repeat("y", rnd.IntN(200))))
			}
			w.Print([]string{line}, block)
		}
		w.Close()
		if got := strings.TrimSpace(term.Whole()); got != strings.Join(want, "\n") {
			t.Errorf("seed %d: the terminal has\n%s\nwant\n%s", seed, got, strings.Join(want, "\n"))
		}
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}
}
