//go:build linux || darwin

package openat

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
	"golang.org/x/sys/unix"
)

func byElement(t testing.TB, root string) backend {
	t.Helper()
	b, err := openBackend(root)
	if err != nil {
		t.Fatal(err)
	}
	b.(*fdDir).open = openByElement
	return b
}

// V38: a special file is refused at once, also a pipe without a writer.
func TestV38Special(t *testing.T) {
	root, err := os.MkdirTemp("", "v38") // short: a socket's path is limited
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	write(t, filepath.Join(root, "d/plain"), "x")
	must(t, unix.Mkfifo(filepath.Join(root, "pipe.py"), 0o600))
	l, err := net.Listen("unix", filepath.Join(root, "sock.py"))
	must(t, err)
	defer l.Close()
	want := map[string]diag.Code{"d": "", "d/plain": "", "pipe.py": diag.NotRegular, "sock.py": diag.NotRegular}
	if unix.Mknod(filepath.Join(root, "null.py"), unix.S_IFCHR|0o666, 1<<8|3) == nil {
		want["null.py"] = diag.NotRegular
	}
	for name, d := range backends(t, root) {
		got := map[string]diag.Code{}
		must(t, d.Walk(".", func(rel string, e Entry) error { got[rel] = diag.CodeOf(e.Err); return nil }))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: Walk found %v, want %v", name, got, want)
		}
		for rel, code := range want {
			if _, _, err := d.Read(rel, 100); code != "" && diag.CodeOf(err) != code {
				t.Errorf("%s: Read(%s): %v, want %s", name, rel, err, code)
			}
		}
	}
}

func TestUnreadableNames(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, `a\b`), "x")
	write(t, filepath.Join(root, `d\e/inner`), "x")
	for name, d := range backends(t, root) {
		n := 0
		must(t, d.Walk(".", func(rel string, e Entry) error {
			if n++; diag.CodeOf(e.Err) != diag.PathEscape {
				t.Errorf("%s: %s: %v, want PATH_ESCAPE", name, rel, e.Err)
			}
			return nil
		}))
		if n != 2 {
			t.Errorf("%s: %d entries, want 2 and none below the folder", name, n)
		}
	}
}

func TestWalkUnlistable(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "shut/x"), "x")
	write(t, filepath.Join(root, "z"), "z")
	d, err := Open(root)
	must(t, err)
	defer d.Close()
	var got []string
	must(t, d.Walk(".", func(rel string, e Entry) error {
		got = append(got, rel+" "+string(diag.CodeOf(e.Err)))
		if rel == "shut" && e.Err == nil { // it vanishes after it was named
			must(t, os.RemoveAll(filepath.Join(root, rel)))
		}
		return nil
	}))
	if want := "[shut  shut FILE_SYSTEM_ERROR z ]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// V35: a folder that turns into a link and back never permits a read outside.
func TestV35Race(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "r")
	write(t, filepath.Join(root, "dir/x"), "inside")
	write(t, filepath.Join(top, "out/x"), "outside")
	symlink(t, "../out", filepath.Join(root, "link"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		d, l, h := filepath.Join(root, "dir"), filepath.Join(root, "link"), filepath.Join(root, "hold")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(d, h)
			os.Rename(l, d)
			os.Rename(d, l)
			os.Rename(h, d)
		}
	})
	counts := map[string]int{}
	for name, d := range backends(t, root) {
		for range 3000 {
			b, _, err := d.Read("dir/x", 100)
			if err == nil && string(b) != "inside" {
				t.Fatalf("%s: read %q", name, b)
			}
			counts[name+" "+string(diag.CodeOf(err))]++
		}
	}
	close(stop)
	wg.Wait()
	t.Log(counts)
}

// An editor that saves by renaming must not make a file look special.
func TestReplacedWhileRead(t *testing.T) {
	root := t.TempDir()
	src := filepath.Join(root, "x")
	write(t, src, "a")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(src+".new", []byte{"ab"[i%2]}, 0o644)
			os.Rename(src+".new", src)
		}
	})
	d, err := Open(root)
	must(t, err)
	defer d.Close()
	for range 10000 {
		if b, _, err := d.Read("x", 1); err != nil || string(b) != "a" && string(b) != "b" {
			t.Errorf("Read = %q, %v", b, err)
			break
		}
	}
	close(stop)
	wg.Wait()
}

func TestConcurrent(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(root, fmt.Sprint(i)), strings.Repeat(fmt.Sprint(i), 1000))
	}
	d, err := Open(root)
	must(t, err)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				n := fmt.Sprint((i + g) % 20)
				b, _, err := d.Read(n, 1<<20)
				if err != nil {
					t.Error(err)
				} else if string(b) != strings.Repeat(n, 1000) {
					t.Errorf("%s holds %.10q", n, b)
				}
			}
		})
	}
	wg.Wait()
	wg.Go(func() {
		for range 500 {
			if b, _, err := d.Read("7", 1<<20); err == nil && len(b) != 1000 {
				t.Errorf("read %d bytes around Close", len(b))
			} else if err != nil && diag.CodeOf(err) != diag.FileSystemError {
				t.Error(err)
			}
		}
	})
	must(t, d.Close())
	wg.Wait()
}

func TestOpenDoesNotLeak(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a/b/x"), "x")
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	before := openFDs(t)
	for _, d := range backends(t, root) {
		for range 50 {
			for _, rel := range []string{"a/b/x", "a/b/y", "a/y/x", "pipe", "a/b"} {
				d.Read(rel, 10)
				d.Read(rel, 0)
			}
			must(t, d.Walk(".", func(string, Entry) error { return nil }))
		}
		must(t, d.Close())
	}
	if after := openFDs(t); after > before {
		t.Errorf("%d descriptors open, before %d", after, before)
	}
}

func openFDs(t *testing.T) int {
	des, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(des)
}

func benchRoot(b *testing.B) (root string, names []string) {
	root = b.TempDir()
	for i := range 1000 {
		name := fmt.Sprintf(".ai/tools/d%d/f%d.py", i%10, i)
		write(b, filepath.Join(root, name), strings.Repeat("x", 2000))
		names = append(names, name)
	}
	return root, names
}

func BenchmarkRead(b *testing.B) {
	root, names := benchRoot(b)
	for name, d := range backends(b, root) {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, _, err := d.Read(names[i%len(names)], 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("os.ReadFile", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := os.ReadFile(filepath.Join(root, names[i%len(names)])); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWalk1000(b *testing.B) {
	root, _ := benchRoot(b)
	for name, d := range backends(b, root) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := d.Walk(".", func(string, Entry) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("filepath.WalkDir", func(b *testing.B) {
		for b.Loop() {
			filepath.WalkDir(root, func(string, fs.DirEntry, error) error { return nil })
		}
	})
}

// TestReadLonger reads a file that is longer than fstat reports: the memory grows in few steps.
func TestReadLonger(t *testing.T) {
	root := t.TempDir()
	text := strings.Repeat("0123456789abcdef", 1<<16)
	write(t, filepath.Join(root, "f"), text)
	for _, size := range []int64{0, 1, 1000, int64(len(text)) - 1} {
		fd, err := unix.Open(filepath.Join(root, "f"), unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		grown := testing.AllocsPerRun(1, func() {
			if _, err = unix.Seek(fd, 0, 0); err == nil {
				b, err = readAll(nil, fd, "f", size, 1<<21)
			}
		})
		if err != nil || string(b) != text || grown > 32 {
			t.Errorf("size %d: %d bytes, %v, in %v steps", size, len(b), err, grown)
		}
		_, _ = unix.Seek(fd, 0, 0)
		if _, err := readAll(nil, fd, "f", size, 1000); err == nil {
			t.Errorf("size %d: a file above the limit was read", size)
		}
		unix.Close(fd)
	}
}
