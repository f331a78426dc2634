package transcript

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/heads"
)

// recorded is params with a directory for the newest heads.
func recorded(t testing.TB) Params {
	t.Helper()
	p := params(t)
	p.Heads = filepath.Join(t.TempDir(), "heads")
	return p
}

func reopen(t *testing.T, p Params) error {
	t.Helper()
	l, _, _, err := Open(t.Context(), p)
	if err != nil {
		return err
	}
	return l.Close()
}

// TestRolledBack opens each earlier state of a log, with the checkpoint and the head that it had then, and each state
// that a kill can leave: a log that is ahead of its record.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	l, err := Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	name := func(file string) string { return p.base().Path(file) }
	var states, records [][]byte
	keep := func() {
		log, err := os.ReadFile(name(File))
		rec, rerr := os.ReadFile(filepath.Join(p.Heads, p.ID))
		if err := errors.Join(err, rerr); err != nil {
			t.Fatal(err)
		}
		states, records = append(states, log), append(records, rec)
	}
	keep()
	for range 4 {
		if err := errors.Join(l.Commit(t.Context(), "noted", note{Text: "x"}), l.Checkpoint(t.Context(), 1)); err != nil {
			t.Fatal(err)
		}
		keep()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, log := range states {
		for j, record := range records {
			err := errors.Join(os.WriteFile(name(File), log, 0o600), os.RemoveAll(name(HeadFile)), os.WriteFile(filepath.Join(p.Heads, p.ID), record, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			want := diag.Code("")
			if i < j {
				want = diag.Rollback
			}
			if err := reopen(t, p); diag.CodeOf(err) != want {
				t.Errorf("the log of state %d and the record of state %d: %v", i, j, err)
			}
			if h, _, err := heads.Read(p.Heads, p.ID); want == "" && (err != nil || h.Seq != int64(bytes.Count(log, []byte("\n")))) {
				t.Errorf("the log of state %d and the record of state %d: the record of the opened log is %+v, %v", i, j, h, err)
			}
			rep, err := Verify(t.Context(), p)
			if err != nil || diag.CodeOf(rep.Err()) != want {
				t.Errorf("verifying the log of state %d and the record of state %d: %v, %v", i, j, err, rep.Err())
			}
			if i+j == 0 {
				continue // nothing was written
			}
			if _, err := Create(t.Context(), p); err == nil {
				t.Errorf("the log of state %d with the record of state %d was begun again", i, j)
			}
		}
	}
}

// TestWrittenDifferently has a log continued in two positions: the record is that of the second one.
func TestWrittenDifferently(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	written(t, p, 3)
	before, err := os.ReadFile(p.base().Path(File))
	if err != nil {
		t.Fatal(err)
	}
	grow := func(text string) error {
		l, _, _, err := Open(t.Context(), p)
		if err != nil {
			return err
		}
		return errors.Join(l.Commit(t.Context(), "noted", note{Text: text}), l.Commit(t.Context(), "noted", note{Text: text}), l.Close())
	}
	if err := grow("one"); err != nil {
		t.Fatal(err)
	}
	put := func(log []byte) {
		if err := errors.Join(os.WriteFile(p.base().Path(File), log, 0o600), os.RemoveAll(p.base().Path(HeadFile))); err != nil {
			t.Fatal(err)
		}
	}
	one, err := os.ReadFile(p.base().Path(File))
	if err != nil {
		t.Fatal(err)
	}
	put(before)
	other := p
	other.Heads = "" // another account state, such as that of another machine
	l, _, _, err := Open(t.Context(), other)
	if err == nil {
		err = errors.Join(l.Commit(t.Context(), "noted", note{Text: "two"}), l.Commit(t.Context(), "noted", note{Text: "two"}), l.Commit(t.Context(), "noted", note{Text: "two"}), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := reopen(t, p); diag.CodeOf(err) != diag.Rollback || !strings.Contains(err.Error(), "written differently") {
		t.Errorf("another continuation: %v", err)
	}
	a, err := Accept(t.Context(), p)
	if err != nil || a.Wrote != 7 || a.Lines != 8 {
		t.Errorf("accepting: %+v, %v", a, err)
	}
	if err := reopen(t, p); err != nil {
		t.Errorf("after accepting: %v", err)
	}
	put(one)
	if err := reopen(t, p); diag.CodeOf(err) != diag.Rollback {
		t.Errorf("the state before accepting: %v", err)
	}
}

// TestRecords has the records that a loss of power, a later version or damage leave, a log that was removed, and a log
// that is open in two copies of a project.
func TestRecords(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	written(t, p, 3)
	file := filepath.Join(p.Heads, p.ID)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]diag.Code{
		string(good):                      "",
		"":                                "",
		strings.Repeat("\x00", len(good)): "",
		string(good[:len(good)/2]):        diag.Rollback,
		string(bytes.ToUpper(good)):       diag.Rollback,
		"\nrye.dev/heads/v2 5\n":          diag.VersionMismatch,
		strings.Replace(string(good), "0000000000000000005 ", "0000000000000000006 ", 1): diag.Rollback,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := reopen(t, p); diag.CodeOf(err) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	copied := p
	copied.Project = t.TempDir()
	if err := os.CopyFS(filepath.Join(copied.Project, ".ai"), os.DirFS(filepath.Join(p.Project, ".ai"))); err != nil {
		t.Fatal(err)
	}
	l, _, _, err := Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := reopen(t, copied); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("a copy of a log that is open: %v", err)
	}
	if err := errors.Join(l.Commit(t.Context(), "noted", note{}), l.Close()); err != nil {
		t.Fatal(err)
	}
	if err := reopen(t, copied); diag.CodeOf(err) != diag.Rollback {
		t.Errorf("a copy of a log that was continued: %v", err)
	}
	if err := os.RemoveAll(p.base().Path(".")); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), p); diag.CodeOf(err) != diag.Rollback {
		t.Errorf("a log that was removed: %v", err)
	}
	if _, err := Accept(t.Context(), p); err != nil {
		t.Error(err)
	}
	if _, err := Accept(t.Context(), p); diag.CodeOf(err) != diag.ThreadNotFound {
		t.Errorf("accepting what does not exist: %v", err)
	}
	written(t, p, 1)
	h, ok, err := heads.Read(p.Heads, p.ID)
	if err != nil || !ok || h.Seq != 3 || h.Project != p.Project {
		t.Errorf("after it was begun again: %+v, %v, %v", h, ok, err)
	}
}

// BenchmarkCommit compares commits with and without a record of the newest head.
func BenchmarkCommit(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(map[bool]string{false: "without", true: "with"}[with], func(b *testing.B) {
			p := recorded(b)
			if !with {
				p.Heads = ""
			}
			l, err := Create(b.Context(), p)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := l.Commit(b.Context(), "noted", note{Text: "x"}); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
