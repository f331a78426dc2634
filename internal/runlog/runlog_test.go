package runlog

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func entry(ref string, n int) Entry {
	return Entry{Time: time.Unix(1_700_000_000+int64(n), 123_456_789), Ref: ref, Code: diag.Timeout, Duration: 5}
}

func TestAppendAndRead(t *testing.T) {
	l := &Log{Dir: filepath.Join(t.TempDir(), "state", "rye")}
	if got, s, err := l.Read(); err != nil || len(got) != 0 || s.Files != 0 {
		t.Fatalf("nothing yet: %v %v %v", got, s, err)
	}
	for i := range 3 {
		if err := l.Append(entry("tool:a", i)); err != nil {
			t.Fatal(err)
		}
	}
	got, s, err := l.Read()
	if err != nil || len(got) != 3 || s.Files != 1 || s.Skipped != 0 || got[0].Time.Unix() != 1_700_000_000 || got[2].Code != diag.Timeout || got[0].Time.Nanosecond() != 123_000_000 {
		t.Errorf("%+v %+v %v", got, s, err)
	}
	fi, err := os.Stat(l.path(newer))
	if err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

// The record stays below twice its bound, and the newest lines are kept.
func TestBound(t *testing.T) {
	l := &Log{Dir: t.TempDir(), Max: 1000}
	for i := range 200 {
		if err := l.Append(entry("tool:a", i)); err != nil {
			t.Fatal(err)
		}
	}
	got, s, err := l.Read()
	if err != nil || s.Files != 2 || s.Bytes > 2*(1000+maxLine) || got[len(got)-1].Time.Unix() != 1_700_000_199 {
		t.Errorf("%d entries, %+v, %v", len(got), s, err)
	}
	for i := 1; i < len(got); i++ {
		if !got[i].Time.After(got[i-1].Time) {
			t.Fatalf("entry %d is out of order", i)
		}
	}
	if err := l.Append(entry("tool:"+strings.Repeat("x", maxLine), 0)); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("a line that is too long: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l := &Log{Dir: dir}
			for i := range 50 {
				if err := l.Append(entry("tool:a/b/c", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, s, err := (&Log{Dir: dir}).Read(); err != nil || len(got) != 400 || s.Skipped != 0 {
		t.Errorf("%d entries, %+v, %v", len(got), s, err)
	}
}

func TestHostileFiles(t *testing.T) {
	l := &Log{Dir: t.TempDir()}
	text := "\n{}\n{\"ref\":\"tool:a\"}\nnoise\n[1]\n\x00\xff\n{\"time\":\"2026-01-01T00:00:00Z\",\"ref\":\"tool:ok\",\"duration_ms\":1}\n{\"time\":\"2026-01-01T00:0"
	if err := os.WriteFile(l.path(newer), []byte(text+strings.Repeat("x", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, s, err := l.Read(); err != nil || len(got) != 1 || got[0].Ref != "tool:ok" || s.Skipped != 7 {
		t.Errorf("%+v %+v %v", got, s, err)
	}
	other := &Log{Dir: t.TempDir()}
	if err := os.Mkdir(other.path(newer), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := other.Append(entry("tool:a", 0)); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("a folder in its place: %v", err)
	}
	if err := (&Log{}).Append(entry("tool:a", 0)); err != nil {
		t.Errorf("no folder: %v", err)
	}
}
