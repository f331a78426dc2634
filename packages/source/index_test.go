package source

import (
	"bytes"
	"testing"
)

// FuzzIndex: what is taken for an index is written the same way again.
func FuzzIndex(f *testing.F) {
	good := renderIndex([]File{{Path: ".ai/a b", Size: 3}, {Path: "rye.yaml", Size: 0, Executable: true}})
	for _, b := range [][]byte{nil, good, good[:len(good)-1], []byte(indexHead), append(bytes.Clone(good), good...), bytes.ReplaceAll(good, []byte(".ai"), []byte("../.."))} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := parseIndex(b)
		if err == nil && !bytes.Equal(renderIndex(files), b) {
			t.Errorf("%q is read as %v", b, files)
		}
	})
}
