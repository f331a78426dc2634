//go:build linux

package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain runs this binary as the filter, and as the traced program.
func TestMain(m *testing.M) {
	switch os.Getenv("TRACE_TEST") {
	case "":
		os.Exit(m.Run())
	case "filter":
		if err := os.Setenv("TRACE_TEST", "program"); err == nil {
			err = FilterMain(os.Args[1:])
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(99)
	}
	if err := program(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(3)
}

// program makes one change of each sort in the working directory.
func program(name string) error {
	switch name {
	case "parent": // the changes of a child that is the same program are counted
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		err = exec.Command(exe, "each").Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 3 {
			return os.Mkdir("last", 0o700)
		}
		return fmt.Errorf("the child: %w", err)
	case "other": // those of another program are not
		return errors.Join(exec.Command("/bin/sh", "-c", "mkdir a; echo text >a/b; mv a c").Run(), os.Mkdir("last", 0o700))
	case "threads":
		return threads()
	}
	return each()
}

func each() error {
	f, err := os.Create("file")
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, piped := w.WriteString("not counted")
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return err
	}
	_, signalled := unix.Write(event, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // not counted
	fmt.Println("not counted")
	_, written := f.WriteString("text")
	dir, err := os.Open(".")
	return errors.Join(err, piped, signalled, r.Close(), w.Close(), written, f.Sync(), f.Chmod(0o600), f.Truncate(2), f.Close(),
		os.Chmod("file", 0o640), os.Rename("file", "renamed"), os.Link("renamed", "linked"), os.Symlink("linked", "symlinked"),
		os.Mkdir("dir", 0o700), unix.Renameat2(unix.AT_FDCWD, "renamed", unix.AT_FDCWD, "linked", unix.RENAME_EXCHANGE),
		dir.Sync(), dir.Close(), os.Remove("linked"), os.Remove("dir"), os.WriteFile("renamed", []byte("other"), 0o600))
}

// threads makes 40 directories on several threads of the kernel.
func threads() error {
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			for k := range 10 {
				errs[i] = errors.Join(errs[i], syscall.Mkdir(fmt.Sprintf("d%d-%d", i, k), 0o700))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// trace runs the program in a new directory and skips the test where ptrace is
// refused.
func trace(t *testing.T, name string, kill int) (Traced, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := Trace{Filter: exe, Program: exe, Args: []string{exe, name}, Dir: dir, Env: append(os.Environ(), "TRACE_TEST=filter"), Output: out, Kill: kill}
	got, err := p.Run()
	if errors.Is(err, ErrNoTracer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(out.Name()); got.Status > 3 {
		t.Fatalf("exit status %d\n%s", got.Status, text)
	}
	return got, dir
}

func calls(x Traced, dir string) string {
	var out []string
	for _, c := range x.Changes {
		rel, err := filepath.Rel(dir, c.Path)
		if err != nil {
			rel = c.Path
		}
		out = append(out, c.Call+" "+rel)
	}
	return strings.Join(out, ", ")
}

const eachCall = "create file, write file, fsync file, chmod file, truncate file, chmod file, rename renamed, link linked, " +
	"symlink symlinked, mkdir dir, rename linked, fsync ., unlink linked, unlink dir, create renamed, write renamed"

// Every change of a file is counted, with its path, and writes to pipes and to the
// standard streams are not.
func TestTraceCounts(t *testing.T) {
	for name, want := range map[string]string{"each": eachCall, "parent": eachCall + ", mkdir last", "other": "mkdir last"} {
		got, dir := trace(t, name, 0)
		if all := strings.ReplaceAll(calls(got, dir), "unlink dir, unlink dir", "unlink dir"); all != want || got.Killed || got.Status != 3 {
			t.Errorf("%s: %s, killed %t, status %d\nwant %s", name, all, got.Killed, got.Status, want)
		}
	}
}

// A kill at change N leaves exactly the changes before it.
func TestTraceKills(t *testing.T) {
	var states []string
	for n := 1; ; n++ {
		got, dir := trace(t, "each", n)
		if !got.Killed {
			break
		}
		if got.Status != -1 || len(got.Changes) != n {
			t.Errorf("kill %d: status %d, %d changes", n, got.Status, len(got.Changes))
		}
		states = append(states, content(t, dir))
	}
	states = slices.Compact(states)
	want := []string{
		"", "file rw-r--r-- ", "file rw-r--r-- text", "file rw------- text", "file rw------- te", "file rw-r----- te",
		"renamed rw-r----- te", "linked rw-r----- te, renamed rw-r----- te",
	}
	if len(states) < len(want) || !slices.Equal(states[:len(want)], want) {
		t.Errorf("the states are %q\nwant %q and more", states, want)
	}
}

// The count covers all threads: after a kill at N there are N-1 directories.
func TestTraceThreads(t *testing.T) {
	for _, n := range []int{1, 2, 17, 40, 0} {
		got, dir := trace(t, "threads", n)
		made, err := filepath.Glob(filepath.Join(dir, "d*"))
		if want := max(n-1, 0); err != nil || n > 0 && len(made) > want || n == 0 && len(made) != 40 || got.Killed != (n > 0) {
			t.Errorf("kill %d: %d directories, killed %t, %v", n, len(made), got.Killed, err)
		}
	}
}

// content lists the files of a directory with their modes and texts.
func content(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		out = append(out, filepath.Base(path)+" "+info.Mode().String()[1:]+" "+string(bytes.TrimSpace(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", ")
}
