package auditlog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

const childDir = "RYE_AUDITLOG_TEST_CHILD"

// TestChild is not a test: other tests run it in a process.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only in a child process")
	}
	l := New(Params{Dir: dir, Wait: 5 * time.Minute}) // the others do not take turns: on a slow disk one may wait for all of them
	for range 40 {
		add(t, l, 3)
	}
}

func child(t *testing.T, l *Log) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^TestChild$")
	c.Env = append(os.Environ(), childDir+"="+l.p.Dir)
	return c
}

// Processes that append at once lose no entry and share one chain.
func TestManyProcesses(t *testing.T) {
	l := newLog(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, err := child(t, l).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Go(func() { // a reader
		for range 50 {
			if rep, err := l.Read(t.Context(), 5); err != nil || rep.Err() != nil {
				t.Errorf("while others write: %v, %v", err, rep)
			}
		}
	})
	wg.Wait()
	sound(t, l, 4*40*3)
}

// A process that is killed at any instant leaves a valid chain that others can
// continue.
func TestKilledProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	l := newLog(t)
	n := 0
	for i := range 12 {
		c := child(t, l)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(4+5*i) * time.Millisecond)
		_ = c.Process.Kill()
		_ = c.Wait()
		rep := look(t, l)
		if rep.Err() != nil || rep.Total < n || rep.Total%3 != 0 {
			t.Fatalf("after kill %d: %d entries, %s", i, rep.Total, list(rep))
		}
		n = rep.Total
	}
	add(t, l, 3)
	sound(t, l, n+3)
}

func TestWaitingEndsWithContext(t *testing.T) {
	l := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Read(ctx, 0); err != nil {
		t.Errorf("reading a log of no lines: %v", err)
	}
	add(t, l, 1)
	if _, err := l.Read(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
}

// A directory, link or pipe with the name of a file is refused and not opened: a
// pipe would block, a link would lead elsewhere.
func TestOddFiles(t *testing.T) {
	for _, name := range []string{File, HeadFile, lockFile} {
		l := newLog(t)
		if err := os.MkdirAll(l.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), made(1)); err == nil {
			t.Errorf("a directory %s: it was written", name)
		}
		if _, err := l.Read(t.Context(), 0); name != lockFile && diag.CodeOf(err) != diag.NotRegular {
			t.Errorf("a directory %s: %v", name, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, name := range []string{File, HeadFile} {
		l := newLog(t)
		add(t, l, 1)
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(l.path(name), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, l.path(name)); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), made(1)); diag.CodeOf(err) != diag.NotRegular && diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("a link %s: %v", name, err)
		}
		if _, err := l.Read(t.Context(), 0); diag.CodeOf(err) != diag.NotRegular {
			t.Errorf("a link %s: %v", name, err)
		}
	}
	l := New(Params{Dir: filepath.Join(t.TempDir(), "file", "rye")})
	if err := os.WriteFile(filepath.Dir(l.p.Dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), made(1)); diag.CodeOf(err) != diag.FileSystemError || !strings.HasPrefix(err.Error(), "recording the signature: ") {
		t.Errorf("a file in place of the directory: %v", err)
	}
}

// Only the user may read the log.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	l := newLog(t)
	add(t, l, 1)
	mode := func(path string) os.FileMode {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Mode().Perm()
	}
	if got := mode(l.p.Dir); got != 0o700 {
		t.Errorf("the directory has mode %o", got)
	}
	if err := os.Chmod(l.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	add(t, l, 1)
	for _, name := range []string{File, HeadFile, lockFile} {
		if got := mode(l.path(name)); got != 0o600 {
			t.Errorf("%s has mode %o", name, got)
		}
	}
}
