package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// memoryStore is a Store in memory.
type memoryStore struct {
	b     []byte
	saved int
}

func (s *memoryStore) Load() []byte { return s.b }

func (s *memoryStore) Save(b []byte) { s.b, s.saved = b, s.saved+1 }

// TestStoredListings searches in one process after another. An unchanged directory is not
// listed again, and each change is found, whatever the store has.
func TestStoredListings(t *testing.T) {
	dir := t.TempDir()
	device, _ := trackedDevice(dir)
	if device == 0 {
		t.Skip("the file system of the test is not one whose times are used")
	}
	for i := range minUnsaved {
		write(t, filepath.Join(dir, fmt.Sprintf("d%02d/plain", i)))
	}
	nextTick(t)
	store := &memoryStore{}
	process := func() (*Listings, []string) {
		l := Stored(store)
		l.young = time.Nanosecond
		l.onDisk(device)
		fixed := findProtected(dir, dir, nil, l).fixed
		l.save(time.Now())
		return l, fixed
	}
	if _, fixed := process(); len(fixed) != 0 || store.saved != 1 {
		t.Fatalf("%q, saved %d times", fixed, store.saved)
	}
	if l, fixed := process(); len(fixed) != 0 || store.saved != 1 || l.unsaved != 0 || len(l.dirs) != minUnsaved+1 {
		t.Fatalf("%q, saved %d times, %d of %d directories listed", fixed, store.saved, l.unsaved, len(l.dirs))
	}
	old := time.Now().Add(-time.Hour)
	secret := filepath.Join(dir, "d07/.envrc")
	write(t, secret)
	if err := os.Chtimes(filepath.Dir(secret), old, old); err != nil {
		t.Fatal(err)
	}
	if l, fixed := process(); !slices.Equal(fixed, []string{secret}) || l.unsaved != 1 {
		t.Errorf("a new file: %q, %d directories listed", fixed, l.unsaved)
	}
	elsewhere := filepath.Join(dir, "d08-was")
	if err := os.Rename(filepath.Join(dir, "d08"), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "d07"), filepath.Join(dir, "d08")); err != nil {
		t.Fatal(err)
	}
	if _, fixed := process(); !slices.Equal(fixed, []string{filepath.Join(dir, "d08/.envrc")}) {
		t.Errorf("a directory has the name of another: %q", fixed)
	}
}

// TestStoredListingsRefused uses no listing of another device, of a time that is to come,
// or of a text that is not complete.
func TestStoredListingsRefused(t *testing.T) {
	now := time.Unix(1_700_000_000, 5)
	at := stamp{7, 8, now.Add(-time.Hour)}
	key := listingKey{dir: "/p/.ai", all: true}
	l := Stored(&memoryStore{})
	l.onDisk(7)
	l.remember(key, listing{at, true, 3, []entry{{"tools", true}, {"x\x00y", false}}})
	l.remember(listingKey{dir: "/shm"}, listing{at: stamp{9, 8, now}})
	b := l.appendLasting(nil, now)
	want := fmt.Sprint(map[listingKey]listing{key: l.dirs[key]})
	if got := fmt.Sprint(parseListings(b, now)); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if got := parseListings(b, now.Add(-1)); got != nil {
		t.Errorf("saved in the future: %v", got)
	}
	for n := range len(b) {
		if got := parseListings(b[:n], now); len(got) > 0 {
			t.Errorf("of %d bytes %d: %v", len(b), n, got)
		}
	}
	if got := parseListings(bytes.Replace(b, []byte(storedMark), []byte("rye listings 1\n"), 1), now); got != nil {
		t.Errorf("another form: %v", got)
	}
	for _, disk := range []uint64{7, 9} {
		l := Stored(&memoryStore{b: b})
		l.onDisk(disk)
		if _, ok := l.remembered(key, at, now); ok != (disk == 7) {
			t.Errorf("disk %d: %v", disk, ok)
		}
		if _, ok := l.remembered(key, stamp{7, 8, at.changed.Add(1)}, now); ok {
			t.Error("another time is used")
		}
		if _, ok := l.remembered(key, stamp{7, 9, at.changed}, now); ok {
			t.Error("another inode is used")
		}
	}
}

func FuzzListings(f *testing.F) {
	f.Add([]byte(storedMark + "\x02"))
	l := &Listings{}
	l.onDisk(7)
	l.remember(listingKey{dir: "/p", unlinked: true}, listing{stamp{7, 8, time.Unix(1, 2)}, true, 3, []entry{{"a", true}}})
	f.Add(l.appendLasting(nil, time.Unix(5, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for key, has := range parseListings(b, time.Unix(1<<30, 0)) {
			if len(key.dir)+len(has.entries) > len(b) {
				t.Fatalf("%d entries of %q in %d bytes", len(has.entries), key.dir, len(b))
			}
		}
	})
}

// TestListingsPage: the format page names the form that is written.
func TestListingsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/format/memo.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "`" + strings.TrimSpace(storedMark) + "`, a line feed"; !bytes.Contains(page, []byte(want)) {
		t.Errorf("the page does not have %s", want)
	}
}
