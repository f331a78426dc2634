//go:build unix

package fs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ryeos/rye/internal/testing/wiretest"
)

// TestPipesDoNotHang reads, writes and searches a named pipe:
// opening one blocks until the other side opens it.
func TestPipesDoNotHang(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"a.txt": "x\n"})
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	fails(t, dir, "read", obj{"file_path": "pipe"}, "NOT_REGULAR")
	fails(t, dir, "write", obj{"file_path": "pipe", "content": "x"}, "NOT_REGULAR")
	if got := ok(t, dir, "grep", obj{"pattern": "x"}); got["count"] != float64(1) {
		t.Errorf("grep %v", got)
	}
	if got := ok(t, dir, "glob", obj{"pattern": "*"}); got["total"] != float64(1) {
		t.Errorf("glob %v", got)
	}
	got := ok(t, dir, "ls", obj{})
	if e := got["entries"].([]any)[1].(obj); e["name"] != "pipe" || e["type"] != "other" {
		t.Errorf("ls %v", got)
	}
}

func TestModesAreKept(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"run.sh": "#!/bin/sh\n", "locked": "x\n"})
	chmod := func(name string, mode os.FileMode) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod("run.sh", 0o751)
	chmod("locked", 0o444)
	ok(t, dir, "write", obj{"file_path": "run.sh", "content": "#!/bin/sh\ntrue\n"})
	if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	fails(t, dir, "write", obj{"file_path": "locked", "content": "y\n"}, "FILE_SYSTEM_ERROR", "read-only")
}
