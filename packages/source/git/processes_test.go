package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

const childVar = "RYE_GITSOURCE_TEST_CHILD"

// TestChild is the program of child processes, which other tests kill. It fetches all
// versions repeatedly.
func TestChild(t *testing.T) {
	spec := os.Getenv(childVar)
	if spec == "" {
		t.Skip("only in a child process")
	}
	words := strings.Split(spec, "\n")
	fetchAll(t, words[0], words[1], words[2])
}

// fetchAll fetches every version there is and returns the sums.
func fetchAll(t *testing.T, cache, url, transport string) map[string]string {
	t.Helper()
	s, err := New(Params{Self: self(t), Cache: source.NewCache(cache, nil), Environ: sourcetest.Environ(), Transport: transport, url: func(lock.ID) string { return url }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := parseID(t, "github.com/acme/core")
	l, err := s.Versions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, v := range l.Versions {
		snap, err := s.Fetch(t.Context(), l.OriginOf(v))
		if err != nil {
			t.Fatal(err)
		}
		sums[v.Version] = snap.Sum
	}
	return sums
}

func child(t *testing.T, cache, url, transport string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^TestChild$")
	c.Env = append(os.Environ(), childVar+"="+cache+"\n"+url+"\n"+transport)
	return c
}

func versions(b *bench, n int) {
	for i := range n {
		var more []sourcetest.File
		for k := range 20 {
			more = append(more, sourcetest.File{Path: fmt.Sprintf(".ai/knowledge/k%d.md", k), Data: fmt.Sprintf("%d %d\n", i, k)})
		}
		b.repo.Light(fmt.Sprintf("v1.%d.0", i), b.repo.Commit(sourcetest.Bundle(fmt.Sprint(i), more...)...))
	}
}

// A process killed at any moment leaves nothing that the next one minds, and
// never a snapshot that is not whole.
func TestKillNine(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes at some moments")
	}
	step := 3
	if os.Getenv("RYE_LONG") != "" {
		step = 1
	}
	for _, w := range ways()[:2] {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w)
			versions(b, 3)
			good := filepath.Join(t.TempDir(), "good")
			t.Cleanup(func() { unlock(good) })
			wanted := fetchAll(t, good, b.url, b.transport)
			for round := 0; round < 12; round += step {
				c := child(t, b.cache, b.url, b.transport)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(15+25*round) * time.Millisecond)
				c.Process.Kill()
				c.Wait()
				cache := source.NewCache(b.cache, nil)
				if seen, err := cache.Verify(t.Context(), false); err != nil || len(seen.Findings) > 0 {
					t.Fatalf("round %d: %v, %v", round, seen.Findings, err)
				}
				if round%4 == 3 { // begin at nothing again
					unlock(b.cache)
					os.RemoveAll(b.cache)
				}
			}
			if got := fetchAll(t, b.cache, b.url, b.transport); fmt.Sprint(got) != fmt.Sprint(wanted) {
				t.Errorf("afterwards %v, want %v", got, wanted)
			}
			later := source.NewCache(b.cache, func() time.Time { return time.Now().Add(2 * time.Hour) })
			w, err := later.Write() // which sweeps
			if err != nil {
				t.Fatal(err)
			}
			w.Discard()
			if left, _ := filepath.Glob(filepath.Join(b.cache, "cas", ".tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A git that was killed with its rye leaves lock files. They do not keep later runs from
// fetching.
func TestLockFilesOfGit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	b := newBench(t, ways()[1])
	versions(b, 1)
	fetchAll(t, b.cache, b.url, Command)
	stores, err := filepath.Glob(filepath.Join(b.cache, "git", "*", filesGit))
	if err != nil || len(stores) != 1 {
		t.Fatalf("%v, %v", stores, err)
	}
	next := b.repo.Commit(sourcetest.Bundle("later")...)
	b.repo.Light("v1.9.0", next)
	left := []string{"shallow.lock", "packed-refs.lock", "refs/rye/" + next + ".lock"}
	for _, name := range left {
		if err := os.WriteFile(filepath.Join(stores[0], name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := fetchAll(t, b.cache, b.url, Command); len(got) != 2 {
		t.Errorf("the versions are %v", got)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(stores[0], name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// Many processes, and many goroutines in one, share a cache.
func TestManyAtOnce(t *testing.T) {
	all := ways()[:2] // the children use both transports in both
	if testing.Short() {
		all = all[:1]
	}
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w)
			versions(b, 3)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					transport := []string{BuiltIn, Command}[i%2] // both in one store
					if out, err := child(t, b.cache, b.url, transport).CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
					}
				})
			}
			s := b.source()
			for i := range 6 {
				wg.Go(func() {
					o, err := s.Resolve(t.Context(), b.id, fmt.Sprintf("v1.%d.0", i%3))
					if err == nil {
						_, err = s.Fetch(t.Context(), o)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			seen, err := s.p.Cache.Verify(t.Context(), false)
			if err != nil || seen.Snapshots != 3 || len(seen.Findings) > 0 {
				t.Errorf("%+v, %v", seen, err)
			}
		})
	}
}

// Damaged files of the cache are fetched again.
func TestBrokenStoreHeals(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks the store in many ways")
	}
	for _, w := range ways()[:2] {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w)
			versions(b, 1)
			for name, harm := range map[string]func(path string) error{
				"truncated": func(p string) error { return os.Truncate(p, 40) },
				"flipped": func(p string) error {
					data, err := os.ReadFile(p)
					for i := range data {
						if i > 20 {
							data[i] ^= 0x55
						}
					}
					os.Remove(p)
					return joinErr(err, os.WriteFile(p, data, 0o600))
				},
			} {
				fetchAll(t, b.cache, b.url, b.transport)
				packs, _ := filepath.Glob(filepath.Join(b.cache, "git", "*", "files.git", "*", "pack", "*.pack"))
				if len(packs) == 0 {
					t.Fatal("no pack")
				}
				for _, p := range packs {
					os.Chmod(p, 0o600)
					if err := harm(p); err != nil {
						t.Fatal(err)
					}
				}
				unlock(filepath.Join(b.cache, "cas"))
				os.RemoveAll(filepath.Join(b.cache, "cas"))
				if got := fetchAll(t, b.cache, b.url, b.transport); len(got) != 1 {
					t.Errorf("%s: %v", name, got)
				}
			}
			// The same for the snapshots.
			files, _ := filepath.Glob(filepath.Join(b.cache, "cas", "h1-*", "files", ".ai", "tools", "x", "hello.py"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			os.Chmod(files[0], 0o600)
			os.WriteFile(files[0], []byte("print(666)\n"), 0o600)
			s := b.source()
			snap := b.fetch(s, b.resolve(s, b.id, "latest"))
			if _, err := snap.Read(".ai/tools/x/hello.py"); err == nil {
				t.Error("a changed file was read")
			}
			if seen, err := s.p.Cache.Verify(t.Context(), true); err != nil || len(seen.Findings) != 1 {
				t.Errorf("%+v, %v", seen, err)
			}
			snap = b.fetch(s, b.resolve(s, b.id, "latest"))
			if text, err := snap.Read(".ai/tools/x/hello.py"); err != nil || string(text) != "print(0)\n" {
				t.Errorf("after the repair: %q, %v", text, err)
			}
		})
	}
}

func joinErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
