//go:build unix

package sign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ryeos/rye/diag"
)

// openPrivate opens a file without following a link and checks the opened file,
// not its name, which could be replaced in between. O_NONBLOCK prevents that the
// open of a pipe blocks.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) {
		return nil, notPlain(path, "it is a link")
	}
	if err != nil {
		return nil, openFailed(path, err)
	}
	if err := checkPrivate(path, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkPrivate(path string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return openFailed(path, err)
	}
	if !info.Mode().IsRegular() {
		return notPlain(path, "it is not a regular file")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && st.Nlink != 1 {
		return notPlain(path, "it has a second hard link")
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return loose(path, perm, "600")
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return openFailed(path, err)
	}
	if dir.Mode().Perm()&0o022 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return loose(filepath.Dir(path), dir.Mode().Perm(), "700")
	}
	return nil
}

// checkKeyDir refuses a directory that other users may enter.
func checkKeyDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return openFailed(dir, err)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return loose(dir, perm, "700")
	}
	return nil
}

func loose(path string, perm fs.FileMode, want string) error {
	return diag.New(diag.FileSystemError, "checking %s: mode %04o permits access by other users", path, perm).
		WithReason("key_mode").WithDetail("path", path).WithDetail("mode", want)
}
