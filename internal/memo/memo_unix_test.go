//go:build unix

package memo

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipes has pipes in place of the files: nothing waits for their other end.
func TestPipes(t *testing.T) {
	for name, refused := range map[string]bool{secretName: true, tableName: false} {
		dir := filled(t, 4)
		at := filepath.Join(dir, name)
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(at, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := known(dir, 4); n != 0 {
			t.Errorf("%s: %d facts are known", name, n)
		}
		m := open(t, dir)
		m.Add(Signature, digest(9))
		if err := open(t, dir).Refused(); (err != nil) != refused {
			t.Errorf("%s: refused: %v", name, err)
		}
		if open(t, dir).Known(Signature, digest(9)) {
			t.Errorf("%s: a fact was added", name)
		}
	}
}

// TestReadOnly has files that this user cannot write: they are read, and an added fact
// is lost.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can write every file")
	}
	dir := filled(t, 4)
	for _, at := range []string{filepath.Join(dir, tableName), dir} {
		mode := os.FileMode(0o500)
		if at != dir {
			mode = 0o400
		}
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	m := open(t, dir)
	m.Add(Signature, digest(9))
	if n := known(dir, 4); n != 4 || m.Refused() != nil || open(t, dir).Known(Signature, digest(9)) {
		t.Errorf("%d of 4 facts are known: %v", n, m.Refused())
	}
}

// TestFullDisk writes to a table whose size is limited, as a full disk would.
func TestFullDisk(t *testing.T) {
	dir := filled(t, 4)
	m := open(t, dir)
	if !m.Known(Signature, digest(1)) {
		t.Fatal("the fact is not known")
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	m.file.Close()
	m.file = full
	end := m.Batch()
	for i := range 100 {
		m.Add(Signature, digest(100+i))
	}
	end()
	if n := known(dir, 4); n != 4 {
		t.Errorf("%d of 4 facts are known", n)
	}
}
