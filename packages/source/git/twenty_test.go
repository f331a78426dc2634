//go:build unix

package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// cpu returns what this process and the children it waited for have used; a
// server that the test runs itself is in it, for every contestant alike.
func cpu(b *testing.B) (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return d
}

// BenchmarkTwenty fetches 20 small bundles into an empty cache, compared with 20 plain
// shallow fetches by git into empty repositories, and again from the cache.
func BenchmarkTwenty(b *testing.B) {
	root := b.TempDir()
	for i := range 20 {
		r := sourcetest.NewRepo(b, filepath.Join(root, fmt.Sprintf("r%d.git", i)))
		var more []sourcetest.File
		for k := range 30 {
			more = append(more, sourcetest.File{Path: fmt.Sprintf(".ai/tools/t%d.py", k), Data: fmt.Sprintf("# tool %d of %d\nprint(1)\n", k, i)})
		}
		r.Tag("v1.0.0", r.Commit(sourcetest.Bundle(fmt.Sprint(i), more...)...))
	}
	server := sourcetest.Serve(b, root)
	for name, base := range map[string]string{"http": server.URL, "folder": "file://" + root} {
		at := func(i int) string { return fmt.Sprintf("%s/r%d.git", base, i) }
		b.Run("git/"+name, func(b *testing.B) { measure(b, func(dir string) { plainTwenty(b, dir, at) }) })
		for _, transport := range []string{BuiltIn, Command} {
			b.Run(transport+"/"+name, func(b *testing.B) {
				measure(b, func(dir string) { fetchTwenty(b, dir, transport, at, false) })
			})
		}
		b.Run("cached/"+name, func(b *testing.B) {
			warm := b.TempDir()
			defer unlock(warm)
			fetchTwenty(b, warm, BuiltIn, at, false)
			measure(b, func(string) { fetchTwenty(b, warm, BuiltIn, at, true) })
		})
	}
}

// measure runs fn in an empty folder each time and reports processor time.
func measure(b *testing.B, fn func(dir string)) {
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		dir, err := os.MkdirTemp(b.TempDir(), "")
		if err != nil {
			b.Fatal(err)
		}
		before := cpu(b)
		b.StartTimer()
		fn(dir)
		b.StopTimer()
		spent += cpu(b) - before
		unlock(dir)
		os.RemoveAll(dir)
		b.StartTimer()
	}
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func twenty(fn func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range 20 {
		slots <- struct{}{}
		wg.Go(func() { fn(i); <-slots })
	}
	wg.Wait()
}

func plainTwenty(b *testing.B, dir string, at func(int) string) {
	twenty(func(i int) {
		repo := filepath.Join(dir, fmt.Sprint(i))
		for _, args := range [][]string{{"init", "--quiet", "--bare", repo}, {"-C", repo, "fetch", "--quiet", "--depth", "1", at(i), "refs/tags/v1.0.0"}} {
			c := exec.Command("git", args...)
			c.Env = sourcetest.Environ()
			if out, err := c.CombinedOutput(); err != nil {
				b.Errorf("git: %v: %s", err, out)
			}
		}
	})
}

func fetchTwenty(b *testing.B, dir, transport string, at func(int) string, offline bool) {
	byID := map[lock.ID]string{}
	for i := range 20 {
		byID[parseID(b, fmt.Sprintf("example.com/acme/r%d", i))] = at(i)
	}
	s, err := New(Params{Self: self(b), Cache: source.NewCache(filepath.Join(dir, "cache"), nil), Environ: sourcetest.Environ(), Transport: transport,
		Offline: offline, url: func(id lock.ID) string { return byID[id] }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	twenty(func(i int) {
		o, err := s.Resolve(b.Context(), parseID(b, fmt.Sprintf("example.com/acme/r%d", i)), "v1.0.0")
		if err == nil {
			_, err = s.Fetch(b.Context(), o)
		}
		if err != nil {
			b.Error(err)
		}
	})
}
