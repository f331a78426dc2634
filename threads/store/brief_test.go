package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
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
	b.turn <- struct{}{}
	b.timer.Stop() // not on a slow machine
	<-b.turn
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
		b.turn <- struct{}{}
		open := b.s != nil
		<-b.turn
		if !open {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an idle store stays open")
		}
	}
	use()
	b.turn <- struct{}{}
	b.timer.Stop()
	<-b.turn
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

// A use that is cancelled does not wait for the use before it, which waits for the gate.
func TestBriefCancelled(t *testing.T) {
	b := NewBrief(t.TempDir(), Params{})
	defer b.Hold()()
	use := func(ctx context.Context, began func()) error {
		defer b.Hold()()
		return b.Do(ctx, func(s *Store) error {
			began()
			_, err := s.NewNumber(ctx, Handle{ID: "run", Project: b.dir})
			return err
		})
	}
	if err := use(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(b.dir, gate), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Wait(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()

	first, stop := context.WithCancel(t.Context())
	waits := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- use(first, func() { close(waits) }) }()
	<-waits
	second, cancel := context.WithCancel(t.Context())
	cancel()
	if err := use(second, func() { t.Error("the second use did not wait") }); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("the second use: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the second use waited until the end of the first: %v", err)
	default:
	}
	stop()
	if err := <-ended; diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("the first use: %v", err)
	}
}
