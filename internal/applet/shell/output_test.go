package shell

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

const half = maxStream / 2

// TestHeadTail compares with the whole stream, however it was cut into writes.
func TestHeadTail(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 5))
	for _, size := range []int{0, 1, half - 1, half, half + 1, maxStream - 1, maxStream, maxStream + 1, maxStream + half, 5*maxStream + 7} {
		var whole strings.Builder
		for whole.Len() < size {
			whole.WriteByte(byte('a' + rnd.IntN(26)))
		}
		s := whole.String()
		for range 5 {
			h := headTail{half: half}
			for rest := s; rest != ""; {
				n := min(len(rest), 1+rnd.IntN(1+rnd.IntN(maxStream)))
				h.write([]byte(rest[:n]))
				rest = rest[n:]
			}
			got, cut := h.text()
			if cut != (size > maxStream) {
				t.Fatalf("%d bytes: cut %v", size, cut)
			}
			if !cut && got != s {
				t.Fatalf("%d bytes came back as %d", size, len(got))
			}
			if cut && (!strings.HasPrefix(got, s[:half]) || !strings.HasSuffix(got, s[len(s)-half:])) {
				t.Fatalf("%d bytes: head or tail differ", size)
			}
			if len(h.tail) > 2*half || len(h.head) > half {
				t.Fatalf("%d bytes kept in the tail", len(h.tail))
			}
		}
	}
}

func TestHeadTailKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		h := headTail{half: half}
		h.write([]byte(strings.Repeat("x", shift) + strings.Repeat("€", maxStream)))
		got, _ := h.text()
		if strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("shift %d: a character was cut", shift)
		}
	}
}
