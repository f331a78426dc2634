package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const childFile = "RYE_FILELOCK_TEST_CHILD"

// TestChild is not a test: other tests run it in a process.
func TestChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("only in a child process")
	}
	for range 50 {
		add(t, path)
	}
}

// acquire opens a lock file and takes it.
func acquire(ctx context.Context, path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return Acquire(ctx, f)
}

func within(ctx context.Context, path string, limit time.Duration) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return AcquireWithin(ctx, f, limit)
}

// add counts one up in a way that loses counts unless callers take turns.
func add(t *testing.T, path string) {
	l, err := acquire(t.Context(), path+".lock")
	if err != nil {
		t.Error(err)
		return
	}
	defer l.Release()
	b, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(b))
	if err := os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		t.Error(err)
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			c := exec.Command(self, "-test.run=^TestChild$")
			c.Env = append(os.Environ(), childFile+"="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 50 {
				add(t, path)
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(path); err != nil || string(b) != "250" {
		t.Errorf("counted %q, %v, want 250", b, err)
	}
}

func TestWaitingEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	held, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := acquire(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is held: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	next, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	next.Release()
}

// A lock that is never released ends the wait, and the error names the process.
func TestWaitingIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = within(t.Context(), path, 5*time.Millisecond)
	var held *Held
	if !errors.As(err, &held) || held.Path != path {
		t.Fatalf("while it is held: %v", err)
	}
	if pid := os.Getpid(); runtime.GOOS == "linux" && (held.PID != pid || !strings.Contains(err.Error(), "filelock")) {
		t.Errorf("%v does not name process %d", err, pid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := within(ctx, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancellation: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = within(t.Context(), path, time.Hour); err != nil {
		t.Fatal(err)
	}
	l.Release()
}

// TestAskers has many callers ask at a time: each gets the answer that no process holds the
// lock, and one that wants it waits for them, longer than for a holder.
func TestAskers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	asker := open() // the system does not run it for a while
	if err := share(asker); err != nil {
		t.Fatal(err)
	}
	if err := FreeWithin(t.Context(), open(), time.Millisecond); err != nil {
		t.Errorf("another asker: %v", err)
	}
	got := make(chan error)
	go func() {
		l, err := AcquireWithin(t.Context(), open(), time.Millisecond)
		if err == nil {
			defer l.Release()
			var held *Held
			if err := FreeWithin(t.Context(), open(), time.Millisecond); !errors.As(err, &held) {
				t.Errorf("while it is held: %v", err)
			}
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond) // more than the limit of the one that waits
	asker.Close()
	if err := <-got; err != nil {
		t.Errorf("after the asker: %v", err)
	}
	if err := FreeWithin(t.Context(), open(), time.Millisecond); err != nil {
		t.Errorf("after all: %v", err)
	}
}

// The lock of a killed process is released.
func TestKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	self, _ := os.Executable()
	for i := range 5 {
		c := exec.Command(self, "-test.run=^TestChild$")
		c.Env = append(os.Environ(), childFile+"="+path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+3*i) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
	}
	l, err := acquire(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	held, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if Try(other) != ErrHeld {
		t.Error("Try takes a lock that another holder has")
	}
	if err := held.Release(); err != nil || Try(other) != nil {
		t.Errorf("Try does not take a free lock: %v", err)
	}
}

// TestWait gives the lock to one holder after the other, and ends with its context.
func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, err := Wait(t.Context(), open())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Wait(ctx, open()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a held lock: %v", err)
	}
	var count atomic.Int64
	var taken atomic.Bool
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			l, err := Wait(t.Context(), open())
			if err != nil {
				t.Error(err)
				return
			}
			if !taken.CompareAndSwap(false, true) {
				t.Error("two holders at the same time")
			}
			time.Sleep(time.Millisecond)
			taken.Store(false)
			count.Add(1)
			if err := l.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if n := count.Load(); n != 8 {
		t.Errorf("%d of 8 holders counted", n)
	}
}

// TestReleaseWhileForking takes a lock again right after its release, while other goroutines start programs: each has, between
// fork and exec, a copy of every open file, and with it of a lock that was released meanwhile.
func TestReleaseWhileForking(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var forks sync.WaitGroup
	defer forks.Wait()
	defer stop()
	var started atomic.Int64
	for range 4 {
		forks.Go(func() {
			for ctx.Err() == nil {
				// That it fails after the fork is quicker than a program.
				_ = (&exec.Cmd{Path: self + "/none", Args: []string{"none"}}).Run()
				started.Add(1)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "lock")
	for taken := 0; started.Load() < 300 || taken < 300; taken++ {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := Try(f); err != nil {
			t.Fatalf("taking the lock after %d releases: %v", taken, err)
		}
		if err := (&Lock{f}).Release(); err != nil {
			t.Fatal(err)
		}
	}
}
