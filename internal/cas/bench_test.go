package cas

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
)

func BenchmarkFile(b *testing.B) {
	s := newStore(b)
	content := bytes.Repeat([]byte("x"), 4000)
	b.Run("hit", func(b *testing.B) {
		sum := sha256.Sum256(content)
		for b.Loop() {
			if _, err := s.File(sum, "x.py", content); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			c := fmt.Appendf(content, "%d", i)
			if _, err := s.File(sha256.Sum256(c), "x.py", c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tree of 100, hit", func(b *testing.B) {
		var files []TreeFile
		for i := range 100 {
			files = append(files, TreeFile{Rel: fmt.Sprintf("d%d/f%d.py", i%7, i), Bytes: content})
		}
		for b.Loop() {
			if _, err := s.Tree(files); err != nil {
				b.Fatal(err)
			}
		}
	})
}
