package lock

import (
	"fmt"
	"testing"
)

// benchLock is a lock of 20 bundles and 100 items.
func benchLock(b testing.TB) *Lock {
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("github.com/acme/b%d", i))
	}
	l := locked(b, requiring(b, ids...), ids...)
	for i := range 100 {
		it := Link{ref(fmt.Sprintf("tool:a/t%d", i)), digestOf("x")}
		l.SetItem(Item{Ref: it.Ref, Digest: it.Digest, Chain: []Link{it, {ref("tool:rye/run"), digestOf("r")}, {ref("tool:rye/prim"), digestOf("p")}}})
	}
	return l
}

func BenchmarkParseLock(b *testing.B) {
	text := benchLock(b).Render()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if l, fs := ParseLock(text); l == nil {
			b.Fatal(fs)
		}
	}
}

func BenchmarkParseManifest(b *testing.B) {
	text := example(b, "rye.yaml")
	for b.Loop() {
		if m, fs := ParseProjectFile(text); m == nil {
			b.Fatal(fs)
		}
	}
}
