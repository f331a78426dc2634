package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Uses soon after each other have the same store. One that is idle or released is opened again, and
// so is one whose file was removed.
func TestBrief(t *testing.T) {
	dir := t.TempDir()
	b := NewBrief(dir, Params{})
	release := b.Hold()
	var last *Store
	n := 0
	use := func() (same bool) {
		t.Helper()
		n++
		var number int64
		var now *Store
		err := b.Do(t.Context(), func(s *Store) (err error) {
			now = s
			number, err = s.Number(t.Context(), Handle{ID: fmt.Sprint("run-", n), Project: dir})
			return err
		})
		if err != nil || number == 0 {
			t.Fatalf("use %d: number %d, %v", n, number, err)
		}
		same, last = now == last, now
		return same
	}
	use()
	b.mu.Lock()
	b.timer.Stop() // not on a slow machine
	b.mu.Unlock()
	if !use() {
		t.Error("the second use opens the store again")
	}
	below := b.Hold()
	below()
	if !use() {
		t.Error("one of two releases closes the store")
	}
	release()
	if b.s != nil {
		t.Error("the last release does not close the store")
	}
	release = b.Hold()
	t.Cleanup(release) // also if the test is skipped: Windows keeps an open file
	if use() {
		t.Error("a closed store is used")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b.mu.Lock()
		open := b.s != nil
		b.mu.Unlock()
		if !open {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an idle store stays open")
		}
	}
	use()
	b.mu.Lock()
	b.timer.Stop()
	b.mu.Unlock()
	path := filepath.Join(dir, File)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Skip("an open file cannot be removed: ", err)
		}
	}
	if use() {
		t.Error("a removed store is used")
	}
}
