package heads

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/chainlog"
)

func head(n int64) chainlog.Head {
	return chainlog.Head{Seq: n, Size: 100 * n, Last: chainlog.Digest([]byte{byte(n), byte(n >> 8)})}
}

// TestReadWhileWritten reads a record while a process writes it: each reader sees one head or the next.
func TestReadWhileWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Open(t.Context(), dir, "demo-01", "/a/project", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Read(dir, "demo-01"); ok || err != nil {
		t.Errorf("a record without a head: %v, %v", ok, err)
	}
	if err := r.Set(head(1)); err != nil {
		t.Fatal(err)
	}
	const most = 3000
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for seen := int64(1); seen < most; {
				h, ok, err := Read(dir, "demo-01")
				if err != nil || !ok || h.Seq < seen || h.Head != head(h.Seq) || h.Project != "/a/project" {
					t.Errorf("after %d: %+v, %v, %v", seen, h, ok, err)
					return
				}
				seen = h.Seq
			}
		})
	}
	for n := range int64(most) {
		if err := r.Set(head(n + 1)); err != nil {
			t.Fatal(err)
		}
	}
	readers.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// A shorter path leaves nothing of the longer one.
	if r, err = Open(t.Context(), dir, "demo-01", "/b", time.Second); err != nil {
		t.Fatal(err)
	}
	if err := r.Set(head(7)); err != nil {
		t.Fatal(err)
	}
	if h, ok, err := Read(dir, "demo-01"); err != nil || !ok || h.Project != "/b" || h.Head != head(7) {
		t.Errorf("%+v, %v, %v", h, ok, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	for id, age := range map[string]time.Duration{"young": time.Hour, "kept": 50 * time.Hour, "old": 50 * time.Hour} {
		r, err := Open(t.Context(), dir, id, "/project", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Set(head(3)); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, id), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, now.Add(-24*time.Hour), func(project, id string) bool { return project == "/project" && id == "kept" }); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"young": true, "kept": true, "old": false} {
		if _, ok, err := Read(dir, id); err != nil || ok != want {
			t.Errorf("%s: %v, %v", id, ok, err)
		}
	}
	if err := Prune(filepath.Join(dir, "missing"), now, nil); err != nil {
		t.Error(err)
	}
}

// BenchmarkSet measures what a flushed line of a log costs in addition.
func BenchmarkSet(b *testing.B) {
	r, err := Open(b.Context(), b.TempDir(), "demo-01", "/project", time.Second)
	if err != nil {
		b.Fatal(err)
	}
	for n := int64(1); b.Loop(); n++ {
		if err := r.Set(chainlog.Head{Seq: n, Size: n, Last: chainlog.Digest(nil)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
