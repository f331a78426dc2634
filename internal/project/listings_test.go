package project

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ryeos/rye/internal/memo"
)

// TestListingsAreAuthentic loads what was saved, and nothing that anything else wrote.
func TestListingsAreAuthentic(t *testing.T) {
	state := t.TempDir()
	of := func(memoDir, name string, build byte) listings {
		m := memo.New(filepath.Join(state, memoDir))
		t.Cleanup(m.Close)
		return listings{ownFiles{m, memo.Listings, filepath.Join(state, listingsDir), [32]byte{build}}, name}
	}
	text := []byte("rye listings 1\nwhatever they are")
	mine := of(MemoDir, "p", 1)
	if got := mine.Load(); got != nil {
		t.Fatalf("nothing was saved: %q", got)
	}
	mine.Save(text)
	if got := of(MemoDir, "p", 1).Load(); !bytes.Equal(got, text) {
		t.Fatalf("%q, want what was saved", got)
	}
	file := filepath.Join(state, listingsDir, "p")
	if fi, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if got := of(MemoDir, "p", 2).Load(); got != nil {
		t.Errorf("another program loads %q", got)
	}
	if got := of("other", "p", 1).Load(); got != nil {
		t.Errorf("another account loads %q", got)
	}
	if err := os.Link(file, filepath.Join(state, listingsDir, "q")); err != nil {
		t.Fatal(err)
	}
	if got := of(MemoDir, "q", 1).Load(); got != nil {
		t.Errorf("another project loads %q", got)
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := of(MemoDir, "p", 1).Load(); got != nil {
			t.Fatalf("with byte %d changed it loads %q", i, got)
		}
	}
	most := bytes.Repeat([]byte("x"), maxListings)
	mine.Save(most)
	mine.Save(append(most, 'x'))
	if saved, err := os.ReadFile(file); err != nil || len(saved) != maxListings {
		t.Errorf("the file has %d bytes, %v, want the %d of the bound", len(saved), err, maxListings)
	}
	if got := of(MemoDir, "p", 1).Load(); !bytes.Equal(got, most) {
		t.Errorf("a file of the bound: %d bytes are loaded", len(got))
	}
}
