package log

import (
	"bytes"
	"testing"

	"github.com/ryeos/rye/internal/testing/logtest"
)

// A reader that has nothing yet proves an entry of a log of a million entries with at most
// five tiles and one entry bundle.
func TestColdProof(t *testing.T) {
	t.Parallel()
	entry := []byte("rye.dev/log/v1\ntype revocation\n")
	for _, size := range []int64{1, 256, 257, 999_999, 1_000_000, 1 << 20} {
		for _, index := range []int64{0, size / 2, size &^ 255, size - 256, size - 1} {
			if index < 0 || index >= size {
				continue
			}
			u := logtest.NewUniform(entry, size)
			root, err := u.Root()
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewReader(u.Read, Tree{size, root}).Entry(t.Context(), index)
			if err != nil || !bytes.Equal(got, entry) {
				t.Fatalf("entry %d of %d: %q, %v", index, size, got, err)
			}
			if u.Tiles > 5 || u.Bundles != 1 {
				t.Errorf("entry %d of %d: it read %d tiles and %d entry bundles", index, size, u.Tiles, u.Bundles)
			}
		}
	}
}
