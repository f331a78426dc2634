package procwatch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDir: a file with the name wakes the waiter when it is renamed into the directory;
// other files, and a file that is written in place, do not.
func TestDir(t *testing.T) {
	w := New()
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		must(t, w.Dir(dir, "result"))
	}
	put := func(dir, from, to string) {
		must(t, os.WriteFile(filepath.Join(dir, from), nil, 0o600))
		must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	put(dirs[0], "x", "other")
	must(t, os.WriteFile(filepath.Join(dirs[0], "result"), nil, 0o600))
	if err := w.Wait(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("woken: %v", err)
	}
	for _, dir := range dirs {
		put(dir, "x", "result")
		must(t, w.Wait(within(t, time.Minute)))
	}
	must(t, w.Close())
	if err := New().Dir(filepath.Join(dirs[0], "none"), "result"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// TestProcess: the end of a process wakes the waiter, also if it is killed and if it is a
// child that was not reaped. One that was reaped cannot be watched.
func TestProcess(t *testing.T) {
	w := New()
	cmd := exec.Command("sleep", "100")
	must(t, cmd.Start())
	must(t, w.Process(cmd.Process.Pid))
	must(t, w.Process(cmd.Process.Pid))
	if err := w.Wait(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("woken: %v", err)
	}
	must(t, cmd.Process.Kill())
	must(t, w.Wait(within(t, time.Minute)))
	must(t, w.Process(cmd.Process.Pid)) // it has ended, and was not reaped
	must(t, w.Wait(within(t, time.Minute)))
	_ = cmd.Wait() // killed
	if err := w.Process(cmd.Process.Pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a reaped process: %v", err)
	}
	other := exec.Command("sleep", "100")
	must(t, other.Start())
	must(t, w.Process(other.Process.Pid))
	must(t, w.Close())
	if err := w.Wait(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("woken by Close: %v", err)
	}
	must(t, other.Process.Kill())
	_ = other.Wait() // killed
}
