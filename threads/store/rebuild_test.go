package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// same returns the entries of the former store.
func same(t *testing.T) func(*Store) (Content, error) {
	return func(old *Store) (c Content, err error) {
		if old == nil {
			return c, nil
		}
		if c.Entries, err = old.Entries(t.Context()); err != nil {
			return c, err
		}
		c.Handles, err = old.Handles(t.Context(), "")
		return c, err
	}
}

func ids(t *testing.T, s *Store) string {
	t.Helper()
	list, err := s.Entries(t.Context())
	must(t, err)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e.ID, len(e.Calls)))
	}
	return fmt.Sprint(out)
}

func spend(t *testing.T, o *Owner, id string) {
	t.Helper()
	must(t, o.Reserve(t.Context(), id, "m", 10))
	_, err := o.Settle(t.Context(), id, 10, false)
	must(t, err)
}

// A process that opened the store before it was rebuilt writes into the store that others
// read afterwards.
func TestRebuildKeepsOpenStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	early := openTest(t, dir)
	spend(t, register(t, early, "a", 100), "a/1")
	must(t, Rebuild(t.Context(), dir, Params{}, same(t)))
	spend(t, register(t, early, "late", 100), "late/1")
	must(t, early.Close())
	if got := ids(t, openTest(t, dir)); got != "[a1 late1]" {
		t.Errorf("the store has %s", got)
	}
}

// A store of a version that had no list of projects gets it when its threads go on.
func TestRegisterNotesProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openTest(t, dir)
	register(t, s, "a", 100)
	must(t, os.Remove(filepath.Join(dir, projectsFile)))
	register(t, s, "a", 100)
	list, err := Projects(dir)
	must(t, err)
	if fmt.Sprint(list) != "[/p]" {
		t.Errorf("the list is %q", list)
	}
}

// A store that was damaged is another file afterwards: a process that has the former one
// open is refused, and loses nothing without an error.
func TestRebuildRefusesReplacedStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a database that is open cannot get another name there")
	}
	t.Parallel()
	dir := t.TempDir()
	early := openTest(t, dir)
	o := register(t, early, "a", 100)
	must(t, os.Rename(filepath.Join(dir, File), filepath.Join(dir, "away")))
	must(t, Rebuild(t.Context(), dir, Params{}, same(t)))
	for what, err := range map[string]error{
		"write": o.Reserve(t.Context(), "a/1", "m", 10),
		"read":  func() error { _, err := early.Entries(t.Context()); return err }(),
	} {
		wantCode(t, err, diag.FileSystemError, "was replaced")
		if e := diag.Typed(err); e != nil && !e.Retryable {
			t.Errorf("%s: the error is not retryable", what)
		}
	}
}

// A new store whose log cannot be written into its file does not replace anything.
func TestRebuildIncomplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openTest(t, dir)
	register(t, s, "a", 100)
	other := openTest(t, dir)
	reading, err := other.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true}) // holds the log, as a disk that is full does
	must(t, err)
	defer reading.Rollback()
	var n int
	must(t, reading.QueryRow("SELECT count(*) FROM threads").Scan(&n))
	register(t, s, "b", 100)
	_, err = s.db.Exec("PRAGMA busy_timeout = 1")
	must(t, err)
	wantCode(t, s.complete(t.Context(), Content{}), diag.FileSystemError, "could not be written into its file")
}

// TestRebuildFullDisk rebuilds a damaged store on a small file system, each time with more
// space: the new store is complete, or the former one is left as it is.
func TestRebuildFullDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it mounts a file system")
	}
	dir := t.TempDir()
	cmd := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=2m none "$1" || exit 99; exec "$2"`, "sh", dir, os.Args[0])
	cmd.Env = append(os.Environ(), "RYE_STORE_DIR="+dir, "RYE_STORE_ROLE=rebuild-full")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &exit) && (exit.ExitCode() == 99 || strings.Contains(string(out), "unshare")) {
		t.Skipf("no file system can be mounted: %s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// rebuildFull is the process of TestRebuildFullDisk.
func rebuildFull(dir string) error {
	const calls, damaged = 300, "damaged"
	e := Entry{Thread: Thread{ID: "a", Root: "a", Project: "/p", Kind: "thread"}, State: "completed", Max: 100_000, Released: true, Created: noon}
	for i := range calls {
		e.Calls = append(e.Calls, Call{ID: fmt.Sprintf("a/%d", i), Model: strings.Repeat("model", 14), Amount: 10, Settled: 10, Created: noon})
	}
	failed, complete := 0, 0
	for free := int64(16 << 10); free < 600<<10; free += 16 << 10 {
		base := filepath.Join(dir, fmt.Sprint(free))
		if err := errors.Join(os.Mkdir(base, 0o700), os.WriteFile(filepath.Join(base, File), []byte(damaged), 0o600), fillBut(filepath.Join(dir, "fill"), free)); err != nil {
			return err
		}
		err := Rebuild(context.Background(), base, Params{Now: time.Now}, func(*Store) (Content, error) { return Content{Entries: []Entry{e}}, nil })
		if err = errors.Join(os.Remove(filepath.Join(dir, "fill")), checkRebuilt(base, err, calls, damaged)); err != nil {
			return fmt.Errorf("with %d bytes: %w", free, err)
		}
		if _, err := os.Stat(filepath.Join(base, newFile)); err == nil {
			failed++
		} else {
			complete++
		}
		if err := os.RemoveAll(base); err != nil {
			return err
		}
	}
	if failed == 0 || complete == 0 {
		return fmt.Errorf("%d failed, %d were complete", failed, complete)
	}
	return nil
}

// checkRebuilt checks a store after Rebuild returned an error or nil.
func checkRebuilt(dir string, rebuilt error, calls int, damaged string) error {
	if rebuilt != nil {
		if b, err := os.ReadFile(filepath.Join(dir, File)); err != nil || string(b) != damaged {
			return fmt.Errorf("after %w: the former store has %d bytes (%w)", rebuilt, len(b), err)
		}
		return nil
	}
	s, err := Open(context.Background(), dir, Params{Existing: true})
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Entries(context.Background())
	if err == nil && (len(list) != 1 || len(list[0].Calls) != calls) {
		err = errors.New("the store is not complete")
	}
	return err
}

// fillBut fills a file system with a file, but for some bytes.
func fillBut(path string, free int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var size int64
	for b := make([]byte, 4096); ; size += int64(len(b)) {
		if _, err := f.Write(b); err != nil {
			return f.Truncate(max(0, size-free))
		}
	}
}
