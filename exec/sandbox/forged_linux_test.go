package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// TestForgedRequests sends messages that rye never sends to a helper that was started early: it
// reports the failure, starts no program, and ends.
func TestForgedRequests(t *testing.T) { onRungs(t, testForgedRequests) }

func testForgedRequests(t *testing.T, r Rung) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	fd := int(null.Fd())
	request := func(b []byte) int {
		f, err := memory(b)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return int(f.Fd())
	}
	spec := func(files int) []byte {
		return confine.AppendSpec(nil, &confine.Spec{Path: "/usr/bin/touch", Argv: []string{"touch", started}, Dir: "/", Files: files})
	}
	whole := spec(0)
	many := make([]int, 80) // more than fit: the kernel cuts the list off
	for i := range many {
		many[i] = fd
	}
	for name, send := range map[string]struct {
		rights []int
		want   string
	}{
		"no descriptor":             {nil, "did not arrive"},
		"two descriptors":           {[]int{fd, fd}, "are missing"},
		"a list that was cut off":   {many, "did not arrive"},
		"an empty request":          {[]int{fd, fd, fd, fd}, ""},
		"a text as the request":     {[]int{fd, fd, fd, request([]byte(`{"path":"/usr/bin/touch"}`))}, ""},
		"half of a request":         {[]int{fd, fd, fd, request(whole[:len(whole)/2])}, ""},
		"bytes after the request":   {[]int{fd, fd, fd, request(append(append([]byte(nil), whole...), 1, 2, 3))}, ""},
		"more files than were sent": {[]int{fd, fd, fd, request(spec(3))}, ""},
	} {
		h := ready(t, warmUp(t, r))
		h.used.Store(true)
		var oob []byte
		if send.rights != nil {
			oob = unix.UnixRights(send.rights...)
		}
		if err := unix.Sendmsg(h.fd, []byte{0}, oob, nil, unix.MSG_NOSIGNAL); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		failure := failureOf(t, name, h.fd)
		if failure == nil || !strings.Contains(failure.What, send.want) {
			t.Errorf("%s: %+v, want %q", name, failure, send.want)
		}
		state, err := h.p.Wait()
		if err != nil || state.ExitCode() != confine.Failed {
			t.Errorf("%s: the helper ended with %v, %v", name, state, err)
		}
		unix.Close(h.fd)
		h.group.close()
		if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: the program was started", name)
		}
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
