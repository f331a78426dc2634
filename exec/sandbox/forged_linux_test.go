package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// TestForgedRequests starts helpers with requests that rye never writes: each reports the
// failure, starts no program, and ends.
func TestForgedRequests(t *testing.T) { onRungs(t, testForgedRequests) }

func testForgedRequests(t *testing.T, r Rung) {
	needs(t, r)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	spec := func(files int) []byte {
		return confine.AppendSpec(nil, &confine.Spec{Path: "/usr/bin/touch", Argv: []string{"touch", started}, Dir: "/", Files: files})
	}
	whole := spec(0)
	for name, request := range map[string][]byte{
		"an empty request":          {},
		"a text as the request":     []byte(`{"path":"/usr/bin/touch"}`),
		"half of a request":         whole[:len(whole)/2],
		"bytes after the request":   append(bytes.Clone(whole), 1, 2, 3),
		"more files than were sent": spec(3),
		"no request":                nil,
	} {
		file := null
		if request != nil {
			file, err = memory(request)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
		}
		in, theirs, err := newInbox(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		attr := &syscall.SysProcAttr{}
		if r == Strict {
			enter(attr, inNamespaces(true))
		}
		helper, err := os.StartProcess(executable(t), []string{"rye", confine.Command}, &os.ProcAttr{
			Dir:   "/",
			Env:   confine.Environ(),
			Files: []*os.File{null, null, null, file, theirs},
			Sys:   attr,
		})
		if err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		if failure := failureOf(t, name, in.fd); failure == nil || failure.What == "" {
			t.Errorf("%s: %+v", name, failure)
		}
		state, err := helper.Wait()
		if err != nil || state.ExitCode() != confine.Failed {
			t.Errorf("%s: the helper ended with %v, %v", name, state, err)
		}
		unix.Close(in.fd)
		if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: the program was started", name)
		}
	}
}

// TestForgedDescriptors sends a helper of the starter descriptors that rye never sends: it
// reports the failure and ends.
func TestForgedDescriptors(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	// More descriptors than fit: the kernel cuts the list off.
	many := slices.Repeat([]int{fd}, 80)
	for name, send := range map[string]struct {
		rights []int
		want   string
	}{
		"no descriptor":           {nil, "did not arrive"},
		"two descriptors":         {[]int{fd, fd}, "are missing"},
		"a list that was cut off": {many, "did not arrive"},
	} {
		helper, socket := startStarter(t).helper(inNamespaces(true))
		if helper == nil {
			t.Fatal("the starter started no helper")
		}
		var oob []byte
		if send.rights != nil {
			oob = unix.UnixRights(send.rights...)
		}
		if err := unix.Sendmsg(socket, []byte{0}, oob, nil, unix.MSG_NOSIGNAL); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		failure := failureOf(t, name, socket)
		if failure == nil || !strings.Contains(failure.What, send.want) {
			t.Errorf("%s: %+v, want %q", name, failure, send.want)
		}
		state, err := helper.Wait()
		if err != nil || state.ExitCode() != confine.Failed {
			t.Errorf("%s: the helper ended with %v, %v", name, state, err)
		}
		unix.Close(socket)
	}
}

// failureOf returns the first failure that a helper reports.
func failureOf(t *testing.T, name string, fd int) *confine.Failure {
	t.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR || err == unix.ECONNRESET:
			continue
		case err != nil || n <= 0:
			t.Fatalf("%s: no report: %d, %v", name, n, err)
		}
		m, _, err := confine.ParseMessage(buf[:n])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Failure != nil || m.End != nil {
			return m.Failure
		}
	}
}
