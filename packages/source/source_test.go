package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/internal/wheels"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// counting counts calls. It fails while fails is positive.
type counting struct {
	asked, running, most atomic.Int32
	fails                atomic.Int32
	err                  error
	gate                 chan struct{} // nil: no waiting
}

func (c *counting) ask(ctx context.Context) error {
	c.asked.Add(1)
	n := c.running.Add(1)
	defer c.running.Add(-1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	if c.gate != nil {
		select {
		case <-c.gate:
		case <-ctx.Done():
			return diag.New(diag.Cancelled, "waiting: %w", ctx.Err())
		}
	}
	if c.fails.Add(-1) >= 0 {
		return c.err
	}
	return nil
}

func (c *counting) Versions(ctx context.Context, id lock.ID) (*source.Listing, error) {
	return &source.Listing{ID: id}, c.ask(ctx)
}
func (c *counting) Resolve(ctx context.Context, id lock.ID, q string) (source.Origin, error) {
	return source.Origin{ID: id, Version: q}, c.ask(ctx)
}
func (c *counting) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	return &source.Snapshot{Origin: o}, c.ask(ctx)
}
func (c *counting) Revalidate(ctx context.Context, _ source.Origin) error { return c.ask(ctx) }

func id(t testing.TB, s string) lock.ID {
	t.Helper()
	out, err := lock.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// all calls every method of a source once.
func all(ctx context.Context, s source.Source, x lock.ID) (errs []error) {
	_, e1 := s.Versions(ctx, x)
	_, e2 := s.Resolve(ctx, x, "v1.0.0")
	_, e3 := s.Fetch(ctx, source.Origin{ID: x})
	return append(errs, e1, e2, e3, s.Revalidate(ctx, source.Origin{ID: x}))
}

func TestMemo(t *testing.T) {
	c := &counting{err: diag.New(diag.Network, "no")}
	c.fails.Store(4)
	m := source.Memo(c)
	x := id(t, "github.com/a/b")
	for _, err := range all(t.Context(), m, x) {
		if diag.CodeOf(err) != diag.Network {
			t.Errorf("the error is lost: %v", err)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, err := range all(t.Context(), m, x) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := c.asked.Load(); n != 8 {
		t.Errorf("asked %d times, want 4 that failed and 4 that did not", n)
	}
	all(t.Context(), m, id(t, "github.com/a/c"))
	if n := c.asked.Load(); n != 12 {
		t.Errorf("asked %d times with another id, want 12", n)
	}
}

// A cancelled call does not cancel those that wait for its result.
func TestMemoSurvivesCancellation(t *testing.T) {
	c := &counting{gate: make(chan struct{})}
	m := source.Memo(c)
	x := id(t, "github.com/a/b")
	first, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { _, err := m.Versions(first, x); errs <- err }()
	for c.asked.Load() == 0 {
		runtime.Gosched()
	}
	got := make(chan error, 1)
	go func() { _, err := m.Versions(t.Context(), x); got <- err }()
	cancel()
	if err := <-errs; diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("the cancelled call got %v", err)
	}
	close(c.gate)
	if err := <-got; err != nil {
		t.Errorf("the waiting call got %v", err)
	}
}

func TestRetry(t *testing.T) {
	passing := diag.New(diag.Network, "passing")
	passing.Retryable = true
	for _, tc := range []struct {
		err    error
		fails  int32
		asked  int32
		ok     bool
		waited time.Duration
	}{
		{passing, 1, 2, true, 200 * time.Millisecond}, {passing, 2, 3, true, 600 * time.Millisecond}, {passing, 3, 3, false, 600 * time.Millisecond},
		{diag.New(diag.TagMoved, "never again"), 1, 1, false, 0}, {errors.New("plain"), 1, 1, false, 0},
	} {
		for i := range 4 {
			synctest.Test(t, func(t *testing.T) { // its clock passes waits at once
				c := &counting{err: tc.err}
				c.fails.Store(tc.fails)
				s := source.Retry(c)
				start := time.Now()
				var err error
				switch i {
				case 0:
					_, err = s.Versions(t.Context(), lock.ID{})
				case 1:
					_, err = s.Resolve(t.Context(), lock.ID{}, "")
				case 2:
					_, err = s.Fetch(t.Context(), source.Origin{})
				case 3:
					err = s.Revalidate(t.Context(), source.Origin{})
				}
				if (err == nil) != tc.ok || c.asked.Load() != tc.asked {
					t.Errorf("%v, %d times: %v after %d", tc.err, tc.fails, err, c.asked.Load())
				}
				if got := time.Since(start); got != tc.waited {
					t.Errorf("%v, %d times: waited %s, want %s", tc.err, tc.fails, got, tc.waited)
				}
			})
		}
	}
	// A caller that cancels while Retry waits gets the error of the failure.
	ctx, cancel := context.WithCancel(t.Context())
	c := &counting{err: passing}
	c.fails.Store(9)
	cancel()
	if err := source.Retry(c).Revalidate(ctx, source.Origin{}); diag.CodeOf(err) != diag.Network || c.asked.Load() != 1 {
		t.Errorf("%v after %d", err, c.asked.Load())
	}
}

func TestMulti(t *testing.T) {
	host, path := &counting{}, &counting{}
	m := source.Multi{lock.HostID: host, lock.PathID: path}
	for _, err := range append(all(t.Context(), m, id(t, "github.com/a/b")), all(t.Context(), m, id(t, "./x"))...) {
		if err != nil {
			t.Error(err)
		}
	}
	if host.asked.Load() != 4 || path.asked.Load() != 4 {
		t.Errorf("asked %d and %d", host.asked.Load(), path.asked.Load())
	}
	for _, err := range all(t.Context(), m, id(t, "registry:h.io/a/x")) {
		if diag.CodeOf(err) != diag.SourceNotFound || !strings.Contains(err.Error(), "registry:h.io/a/x") {
			t.Errorf("a kind without a source: %v", err)
		}
	}
}

func TestHanging(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	for _, err := range all(ctx, source.Memo(source.Retry(sourcetest.Hanging{})), lock.ID{}) {
		if diag.CodeOf(err) != diag.Cancelled {
			t.Errorf("%v", err)
		}
	}
}

func newCache(t testing.TB, now func() time.Time) *source.Cache {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	t.Cleanup(func() {
		filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	return source.NewCache(dir, now)
}

func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for p, text := range files {
		at := filepath.Join(root, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(p, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(at, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDir(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "b"), map[string]string{"README.md": "x", "rye.yaml": "rye: 1\n", ".ai/tools/a.py": "1", ".ai/tools/run.sh": "2",
		".ai/trust/key.toml": "no", ".ai/Cache/x": "no", ".ai/bundles/acme/x/manifest.yaml": "m", ".ai/bundles/acme/x/manifest.yaml.rye-sig": "s",
		".ai/bundles/github.com/a/b@v1.0.0/.ai/tools/t.py": "no"})
	d := source.Dir{Base: base, Cache: newCache(t, nil)}
	o, err := d.Resolve(t.Context(), id(t, "./b"), "latest")
	if err != nil || !o.Local() || o.URL != filepath.Join(base, "b") {
		t.Fatalf("%+v, %v", o, err)
	}
	s, err := d.Fetch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Files {
		got = append(got, f.Path)
	}
	want := ".ai/bundles/acme/x/manifest.yaml .ai/bundles/acme/x/manifest.yaml.rye-sig .ai/tools/a.py .ai/tools/run.sh rye.yaml"
	if strings.Join(got, " ") != want {
		t.Errorf("files %q, want %q", got, want)
	}
	if f, _ := s.File(".ai/tools/run.sh"); !f.Executable && runtime.GOOS != "windows" {
		t.Error("the mode is lost")
	}
	// The current files are used, and they can be read as a bundle.
	write(t, filepath.Join(base, "b"), map[string]string{".ai/tools/a.py": "other"})
	again, err := d.Fetch(t.Context(), o)
	if err != nil || again.Sum == s.Sum {
		t.Errorf("sum %v, %v", again, err)
	}
	var walked []string
	err = s.Tree().Walk(func(p string) bool { return p == ".ai/bundles" }, func(p string, err error) { walked = append(walked, p) })
	if err != nil || strings.Join(walked, " ") != ".ai/tools/a.py .ai/tools/run.sh" {
		t.Errorf("walked %q, %v", walked, err)
	}
	if b, x, err := s.Tree().Read(".ai/tools/a.py", bundle.MaxFile); string(b) != "1" || x || err != nil {
		t.Errorf("read %q, %v, %v", b, x, err)
	}
	if _, _, err := s.Tree().Read(".ai/tools/a.py", 0); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("above the limit: %v", err)
	}
	if _, err := s.Read("README.md"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not carried: %v", err)
	}
}

func TestDirRefuses(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"empty/README.md": "x", "pyc/.ai/tools/x.pyc": "x", "file": "x"})
	if runtime.GOOS != "windows" {
		os.MkdirAll(filepath.Join(base, "link", ".ai"), 0o700)
		os.Symlink("/etc/passwd", filepath.Join(base, "link", ".ai", "x"))
	}
	d := source.Dir{Base: base, Cache: newCache(t, nil)}
	for name, code := range map[string]diag.Code{"empty": diag.SourceNotFound, "none": diag.SourceNotFound, "pyc": diag.PathEscape, "link": diag.PathEscape} {
		if name == "link" && runtime.GOOS == "windows" {
			continue
		}
		if _, err := d.Fetch(t.Context(), source.Origin{ID: id(t, "./"+name), Version: lock.LocalVersion}); diag.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	if _, err := d.Resolve(t.Context(), id(t, "./empty"), "v1.0.0"); diag.CodeOf(err) != diag.VersionNotFound {
		t.Errorf("a version of a folder: %v", err)
	}
	if _, err := d.Versions(t.Context(), id(t, "github.com/a/b")); diag.CodeOf(err) != diag.SourceNotFound {
		t.Errorf("no folder: %v", err)
	}
}

func TestCarried(t *testing.T) {
	for p, want := range map[string]bool{
		"rye.yaml": true, "RYE.yaml": false, "rye.lock": false, "x/rye.yaml": false, ".ai": false, ".ai/x": true, ".ai/tools/a/b.py": true,
		".AI/x": false, ".ai/trust/x": false, ".ai/Trust/x": false, ".ai/threads/x": false, ".ai/keys/k": false, ".ai/bundles/x/manifest.yaml": true,
		".ai/bundles/a/b/manifest.yaml": true, ".ai/bundles/manifest.yaml": false, ".ai/bundles/x/other": false, ".ai/bundles/a@v1/manifest.yaml": false,
		".ai/bundles/a/.ai/manifest.yaml": false, "": false,
	} {
		if got := source.Carried(p); got != want {
			t.Errorf("Carried(%q) = %t", p, got)
		}
		if dir := filepath.ToSlash(filepath.Dir(p)); want && strings.Contains(p, "/") && !source.CarriedFolder(dir) {
			t.Errorf("%q is carried and its folder is not", p)
		}
		if want && source.CheckPath(p) != nil {
			t.Errorf("CheckPath(%q): %v", p, source.CheckPath(p))
		}
	}
}

func TestCacheCare(t *testing.T) {
	now := time.Now()
	c := newCache(t, func() time.Time { return now })
	if in, err := c.Info(t.Context()); err != nil || in.Snapshots != 0 {
		t.Errorf("an empty cache: %+v, %v", in, err)
	}
	put := func(text string) *source.Snapshot {
		w, err := c.Write()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Discard()
		if err := w.Add(".ai/x", false, []byte(text)); err != nil {
			t.Fatal(err)
		}
		s, err := w.Commit(t.Context(), source.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := put("one"), put("two")
	if again := put("one"); again.Sum != one.Sum || again.Dir() != one.Dir() {
		t.Error("the same files in two directories")
	}
	if in, err := c.Info(t.Context()); err != nil || in.Snapshots != 2 || in.SnapshotBytes < 6 {
		t.Errorf("%+v, %v", in, err)
	}
	if err := os.Chtimes(filepath.Dir(one.Dir()), now, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		p    source.GCParams
		want int
	}{
		{source.GCParams{}, 0},
		{source.GCParams{Unused: -1, DryRun: true}, 2},
		{source.GCParams{Unused: time.Hour}, 1},
	} {
		if freed, err := c.GC(t.Context(), tc.p); err != nil || freed.Snapshots != tc.want {
			t.Errorf("%+v: freed %+v, %v", tc.p, freed, err)
		}
	}
	if _, err := c.Open(one.Sum); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was freed: %v", err)
	}
	if s, err := c.Open(two.Sum); err != nil || s.Size() != 3 {
		t.Errorf("what was kept: %v", err)
	}
	now = now.Add(31 * 24 * time.Hour)
	if freed, err := c.GC(t.Context(), source.GCParams{}); err != nil || freed.Snapshots != 1 || freed.Bytes == 0 {
		t.Errorf("a month later: %+v, %v", freed, err)
	}
	for _, sum := range []string{"", "h1:", "h1:x", "../../etc", "h2:" + two.Sum[3:]} {
		if _, err := c.Open(sum); diag.CodeOf(err) != diag.HashMismatch {
			t.Errorf("Open(%q): %v", sum, err)
		}
	}
}

// The packages of Python tools are measured and cleaned like bundles; other files below
// their directory stay.
func TestCacheCareWheels(t *testing.T) {
	now := time.Now()
	c := newCache(t, func() time.Time { return now })
	store := wheels.Store{Dir: filepath.Join(c.Store.Dir, "wheels", "cp312")}
	if err := os.MkdirAll(store.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old.whl", "used.whl", "new.whl", "note.txt"} {
		file := filepath.Join(store.Dir, name)
		if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if before := now.Add(-40 * 24 * time.Hour); name != "new.whl" {
			if err := os.Chtimes(file, before, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	store.Used("used", now)
	if in, err := c.Info(t.Context()); err != nil || in.Wheels != 3 || in.WheelBytes != 15 || in.OtherBytes != 5 {
		t.Errorf("%+v, %v", in, err)
	}
	for _, step := range []struct {
		p          source.GCParams
		freed, has int
	}{
		{source.GCParams{DryRun: true}, 1, 3},
		{source.GCParams{}, 1, 2},
		{source.GCParams{Unused: -1}, 2, 0},
	} {
		freed, err := c.GC(t.Context(), step.p)
		in, _ := c.Info(t.Context())
		if err != nil || freed.Wheels != step.freed || freed.Bytes != int64(5*step.freed) || in.Wheels != step.has {
			t.Errorf("%+v: freed %+v, %d remain, %v", step.p, freed, in.Wheels, err)
		}
	}
	if _, err := os.Stat(filepath.Join(store.Dir, "note.txt")); err != nil {
		t.Error(err)
	}
}

// Every change of a snapshot is found when it is opened, read or verified.
func TestTamperedSnapshot(t *testing.T) {
	for name, harm := range map[string]func(root string) error{
		"content":  func(r string) error { return rewrite(filepath.Join(r, "files", ".ai", "x"), "twe") },
		"longer":   func(r string) error { return rewrite(filepath.Join(r, "files", ".ai", "x"), "twooo") },
		"gone":     func(r string) error { return os.Remove(filepath.Join(r, "files", ".ai", "x")) },
		"extra":    func(r string) error { return os.WriteFile(filepath.Join(r, "files", ".ai", "y"), nil, 0o600) },
		"index":    func(r string) error { return rewrite(filepath.Join(r, "index"), "rye snapshot 1\n") },
		"no index": func(r string) error { return os.Remove(filepath.Join(r, "index")) },
		"linked": func(r string) error {
			p := filepath.Join(r, "files", ".ai", "x")
			aside := filepath.Join(r, "..", "..", "x")
			return errors.Join(os.Rename(p, aside), os.Symlink(aside, p))
		},
	} {
		c := newCache(t, nil)
		fill := func() *source.Snapshot {
			w, err := c.Write()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Discard()
			if err := w.Add(".ai/x", false, []byte("two")); err != nil {
				t.Fatal(err)
			}
			s, err := w.Commit(t.Context(), source.Origin{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return s
		}
		s := fill()
		root := filepath.Dir(s.Dir())
		filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
		if err := harm(root); err != nil {
			t.Skip(err)
		}
		if seen, err := c.Verify(t.Context(), false); err != nil || len(seen.Findings) != 1 {
			t.Errorf("%s: verify returns %+v, %v", name, seen, err)
		}
		if b, err := s.Read(".ai/x"); err == nil && string(b) != "two" {
			t.Errorf("%s: read %q", name, b)
		}
		if s = fill(); s.Each(t.Context(), func(source.File, []byte) error { return nil }) != nil {
			t.Errorf("%s: not replaced", name)
		}
		if seen, err := c.Verify(t.Context(), false); err != nil || len(seen.Findings) != 0 {
			t.Errorf("%s: afterwards %+v, %v", name, seen, err)
		}
	}
}

func rewrite(p, text string) error {
	return errors.Join(os.Chmod(p, 0o600), os.WriteFile(p, []byte(text), 0o600))
}

func TestUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": "x"})
	_, err := source.NewCache(filepath.Join(file, "cache"), nil).Write()
	if diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("%v", err)
	}
	_, err = source.NewCache("relative", nil).Write()
	if diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("%v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, names := range [][]string{{"../x"}, {"/x"}, {"a//b"}, {"a", "a"}, {"a", "a/b"}, {"a/b", "a"}, {"A", "a"}, {"a/x", "A/y"}, {"aux.txt"}, {".git/config"}} {
		c := newCache(t, nil)
		w, err := c.Write()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if err == nil {
				err = w.Add(n, false, []byte(n))
			}
		}
		if err == nil {
			_, err = w.Commit(t.Context(), source.Origin{})
		}
		if diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("%q: %v", names, err)
		}
		w.Discard()
		if des, _ := os.ReadDir(filepath.Join(c.Store.Dir, "cas")); len(des) != 0 {
			t.Errorf("%q left %v", names, des)
		}
	}
}

// slow counts the calls of a source that uses up its time.
type slow struct {
	source.Source
	calls int
}

func (s *slow) Versions(context.Context, lock.ID) (*source.Listing, error) {
	s.calls++
	e := diag.New(diag.Network, "asking: %w", source.ErrTooLong)
	e.Retryable = true
	return nil, e
}

// A remote that used up its time does not get it three times.
func TestRetryNotTooLong(t *testing.T) {
	s := &slow{}
	if _, err := source.Retry(s).Versions(t.Context(), lock.ID{}); !errors.Is(err, source.ErrTooLong) || s.calls != 1 {
		t.Errorf("%v after %d calls", err, s.calls)
	}
}
