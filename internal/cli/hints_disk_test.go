package cli

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestDiskFullHint finds the cause below the texts of every layer.
func TestDiskFullHint(t *testing.T) {
	write := func(cause error) *diag.Error {
		return diag.New(diag.FileSystemError, "writing rye.lock: %w", &fs.PathError{Op: "write", Path: "rye.lock", Err: cause})
	}
	if hint := Hint(write(syscall.ENOSPC)); !strings.Contains(hint, "the disk is full") {
		t.Errorf("hint %q", hint)
	}
	if hint := Hint(write(syscall.EACCES)); strings.Contains(hint, "disk") {
		t.Errorf("hint %q", hint)
	}
}
