package cas

import (
	"fmt"
	"testing"
)

func BenchmarkPending(b *testing.B) {
	s := newStore(b)
	for i := 0; b.Loop(); i++ {
		p, err := s.Begin()
		must(b, err)
		for k := range 5000 {
			must(b, p.Add(TreeFile{Rel: fmt.Sprintf("d%d/f%d", k%50, k), Bytes: fmt.Appendf(nil, "%d %d", i, k)}))
		}
		_, err = p.Commit(b.Context(), fmt.Sprintf("k%d", i), nil)
		must(b, err)
	}
}
