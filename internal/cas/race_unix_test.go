//go:build unix

package cas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
)

// V40: a process flips the source between a signed and another content while it
// is read, hashed, materialised and run. What is not the signed content is
// refused before, and what runs is always the signed one. RYE_LONG makes 10,000 uses.
func TestV40WriterFlipsSource(t *testing.T) {
	signed, evil := []byte("echo A\n"+strings.Repeat("# signed\n", 500)), []byte("echo B\n"+strings.Repeat("# evil!!\n", 500))
	sum := sha256.Sum256(signed)
	root := t.TempDir()
	src := filepath.Join(root, "x.sh")
	must(t, os.WriteFile(src, signed, 0o644))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			b := [][]byte{signed, evil}[i%2]
			if i%16 < 2 { // in place: a reader may see a mixture
				os.WriteFile(src, b, 0o644)
			} else {
				os.WriteFile(src+".new", b, 0o644)
				os.Rename(src+".new", src)
			}
			runtime.Gosched()
		}
	}()
	defer func() { stop.Store(true); <-done }()

	s := newStore(t)
	d, err := openat.Open(root)
	must(t, err)
	defer d.Close()
	used, refused := 0, 0
	uses := 3000
	switch {
	case testing.Short():
		uses = 1000
	case os.Getenv("RYE_LONG") != "":
		uses = 10000
	}
	for used < uses {
		b, _, err := d.Read("x.sh", 1<<20)
		if err != nil || sha256.Sum256(b) != sum {
			if refused++; refused > 10000000 {
				t.Fatalf("%d uses only, %v", used, err)
			}
			continue
		}
		path, err := s.File(sum, "x.sh", b)
		must(t, err)
		got, err := os.ReadFile(path)
		if err != nil || sha256.Sum256(got) != sum {
			t.Fatalf("materialised other bytes: %.20q, %v", got, err)
		}
		if used++; used%100 == 0 {
			ran(t, path)
		}
	}
	t.Logf("used %d, refused %d", used, refused)
	if refused == 0 {
		t.Error("the writer never struck: the test shows nothing")
	}
}

func ran(t *testing.T, path string) {
	t.Helper()
	r, err := proc.Run(t.Context(), proc.Cmd{Argv: []string{"/bin/sh", path}})
	if err != nil || string(r.Stdout) != "A\n" {
		t.Fatalf("ran %q, %v", r.Stdout, err)
	}
}

func TestExecutableRuns(t *testing.T) {
	s := newStore(t)
	script := []byte("#!/bin/sh\necho \"$0 $1\"\n")
	path, err := s.Executable(sha256.Sum256(script), "tool", script)
	must(t, err)
	r, err := proc.Run(t.Context(), proc.Cmd{Argv: []string{path, "x"}})
	if err != nil || string(r.Stdout) != path+" x\n" {
		t.Errorf("%q %q %v", r.Stdout, r.Stderr, err)
	}
}

const childDir = "RYE_CAS_TEST_CHILD"

// TestChild is not a test: other tests run it in processes that they kill.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only in a child process")
	}
	s := &Store{Dir: dir}
	for i := 0; ; i++ {
		b := crashContent(os.Getpid() + i)
		if _, err := s.File(sha256.Sum256(b), "x", b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tree([]TreeFile{{Rel: "a/x", Bytes: b}, {Rel: "y", Bytes: b[:100]}}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 { // and what is broken is being replaced
			sum := sha256.Sum256(b)
			os.Truncate(filepath.Join(dir, items, hex.EncodeToString(sum[:]), "x"), 50)
			if _, err := s.File(sum, "x", b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func crashContent(i int) []byte { return []byte(strings.Repeat(fmt.Sprintf("%08d\n", i), 2000)) }

// few reports whether less is materialised than the children may have damaged.
func few(t *testing.T, s *Store) bool {
	t.Helper()
	des, err := os.ReadDir(filepath.Join(s.Dir, items))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(des, func(de os.DirEntry) bool { return strings.HasPrefix(de.Name(), temporary) })) < 3
}

// A process killed at any moment leaves whole entries and things to sweep.
func TestKillNine(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	s := newStore(t)
	self, err := os.Executable()
	must(t, err)
	for round := 0; round < 15 || round < 300 && few(t, s); round++ { // a busy machine starts processes slowly
		var kids []*exec.Cmd
		for range 2 {
			c := exec.Command(self, "-test.run=^TestChild$")
			c.Env = append(os.Environ(), childDir+"="+s.Dir)
			must(t, c.Start())
			kids = append(kids, c)
		}
		time.Sleep(time.Duration(30+round%30*7) * time.Millisecond)
		for _, c := range kids {
			must(t, c.Process.Kill())
			if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the child ended by itself: %v", err)
			}
		}
	}
	whole, left := 0, 0
	des, err := os.ReadDir(filepath.Join(s.Dir, items))
	must(t, err)
	for _, de := range des {
		if strings.HasPrefix(de.Name(), temporary) {
			left++
			continue
		}
		b, err := os.ReadFile(filepath.Join(s.Dir, items, de.Name(), "x"))
		must(t, err)
		if len(b) == 50 { // the child's own vandalism, seen before it was repaired
			continue
		}
		sum := sha256.Sum256(b)
		if key, _, _ := strings.Cut(de.Name(), "."); hex.EncodeToString(sum[:]) != key { // another name of the same bytes is in key.tag
			t.Errorf("%s holds %d other bytes", de.Name(), len(b))
		}
		path, err := s.File(sum, "x", b)
		must(t, err)
		wantOnly(t, filepath.Dir(path), map[string]string{"x": string(b)})
		whole++
	}
	if whole == 0 {
		t.Fatal("nothing was materialised: the test shows nothing")
	}
	later := &Store{Dir: s.Dir, Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	put(t, later, "new", "new")
	for _, kind := range []string{items, trees} {
		if rest, _ := filepath.Glob(filepath.Join(s.Dir, kind, temporary+"*")); len(rest) != 0 {
			t.Errorf("not swept: %v", rest)
		}
	}
	t.Logf("%d whole entries, %d left to sweep", whole, left)
}
