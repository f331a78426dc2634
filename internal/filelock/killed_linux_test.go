package filelock

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const heldFile = "RYE_FILELOCK_TEST_HELD"

// TestHolder is not a test: TestKilledWhileForking runs it. It takes a lock, and starts a program that has a copy of the file
// as one between fork and exec has.
func TestHolder(t *testing.T) {
	path := os.Getenv(heldFile)
	if path == "" {
		t.Skip("only in a child process")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || Try(f) != nil {
		t.Fatal("not locked")
	}
	c := exec.Command("cat")
	c.Stdin, c.Stdout, c.ExtraFiles = os.Stdin, os.Stdout, []*os.File{f}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed before
}

// TestKilledWhileForking takes the lock of a process that was killed while a program that it started has a copy of the file.
func TestKilledWhileForking(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	c := exec.Command(self, "-test.run=^TestHolder$")
	c.Env, c.Stdin = append(os.Environ(), heldFile+"="+path), in
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	_, _ = io.WriteString(to, "x")
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // cat runs
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_, _ = c.Process.Wait()
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	other := open()
	defer other.Close()
	if !errors.Is(Try(other), ErrHeld) {
		t.Fatal("the copy does not hold the lock")
	}
	free, taken := make(chan error), make(chan error)
	go func() { free <- FreeWithin(t.Context(), open(), time.Millisecond) }()
	go func() {
		l, err := AcquireWithin(t.Context(), open(), time.Millisecond)
		if err == nil {
			err = l.Release()
		}
		taken <- err
	}()
	time.Sleep(20 * time.Millisecond) // more than the limit
	to.Close()                        // ends cat
	if err := <-free; err != nil {
		t.Errorf("asking for the lock: %v", err)
	}
	if err := <-taken; err != nil {
		t.Errorf("taking the lock: %v", err)
	}
}
