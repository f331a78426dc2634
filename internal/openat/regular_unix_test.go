//go:build unix

package openat

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ryeos/rye/diag"
)

// Nothing but a regular file is read, and nothing blocks: a pipe has no writer
// here.
func TestReadRegular(t *testing.T) {
	dir, err := os.MkdirTemp("", "r") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("file"), []byte("12345"), 0o600))
	must(t, os.Symlink("file", at("link")))
	must(t, os.Symlink("/dev/zero", at("device")))
	must(t, os.Symlink("pipe", at("topipe")))
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	l, err := net.Listen("unix", at("socket"))
	must(t, err)
	defer l.Close()

	for _, name := range []string{"file", "link"} {
		if b, err := ReadRegular(at(name), 5); err != nil || string(b) != "12345" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := ReadRegular(at("file"), 4); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("a file over the limit: %v", err)
	}
	if _, err := ReadRegular(at("missing"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, name := range []string{"pipe", "topipe", "device", "socket", "."} {
		if _, err := ReadRegular(at(name), 5); diag.CodeOf(err) != diag.NotRegular {
			t.Errorf("%s: %v, want NOT_REGULAR", name, err)
		}
	}
}
