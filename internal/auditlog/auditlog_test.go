package auditlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
)

var instant = time.Date(2026, 2, 14, 0, 27, 54, 0, time.UTC)

func clock() time.Time { return instant }

func newLog(t testing.TB) *Log {
	t.Helper()
	return New(Params{Dir: filepath.Join(t.TempDir(), "state", "rye"), Now: clock})
}

// made returns the entries of n signed items.
func made(n int) []Entry {
	out := make([]Entry, n)
	for i := range out {
		out[i] = Entry{Surface: "cli", Use: "sign", Kind: "tool", ID: fmt.Sprintf("demo/t%d", i), Space: "project", Project: "/home/ada/hello",
			Digest: chainlog.Digest([]byte{byte(i)}), Key: strings.Repeat("ab", 32)}
	}
	return out
}

func add(t testing.TB, l *Log, n int) {
	t.Helper()
	if err := l.Append(t.Context(), made(n)); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, l *Log) []byte {
	t.Helper()
	b, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, l *Log, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(l.path(name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func look(t testing.TB, l *Log) *Report {
	t.Helper()
	rep, err := l.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// sound fails unless the log has n entries and no findings.
func sound(t testing.TB, l *Log, n int) {
	t.Helper()
	rep := look(t, l)
	if rep.Total != n || len(rep.Entries) != n || len(rep.Findings) > 0 {
		t.Fatalf("%d entries, want %d; %s", rep.Total, n, list(rep))
	}
	for i, e := range rep.Entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d is at %d", e.Seq, i+1)
		}
	}
}

// list renders findings as "line severity message".
func list(rep *Report) string {
	var out []string
	for _, f := range rep.Findings {
		out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Message))
	}
	return strings.Join(out, "; ")
}

// The bytes are those of docs/reference/format.
func TestBytes(t *testing.T) {
	l := newLog(t)
	add(t, l, 2)
	one := `{"seq":1,"time":"2026-02-14T00:27:54Z","surface":"cli","use":"sign","kind":"tool","id":"demo/t0","space":"project","project":"/home/ada/hello",` +
		`"digest":"sha256:6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d","key":"` + strings.Repeat("ab", 32) +
		`","prev":"` + chainlog.Digest([]byte("rye.dev/signatures/v1\n")) + "\"}\n"
	two := strings.NewReplacer(`"seq":1`, `"seq":2`, "t0", "t1", chainlog.Digest([]byte{0}), chainlog.Digest([]byte{1}), chainlog.Digest([]byte(genesis)), chainlog.Digest([]byte(one))).Replace(one)
	if got := string(content(t, l)); got != one+two {
		t.Errorf("got\n%swant\n%s", got, one+two)
	}
	head := fmt.Sprintf(`{"seq":2,"size":%d,"last":"%s"}`+"\n", len(one+two), chainlog.Digest([]byte(two)))
	if got, err := os.ReadFile(l.path(HeadFile)); err != nil || string(got) != head {
		t.Errorf("head %s, %v, want %s", got, err, head)
	}
}

func TestAppendGoesOn(t *testing.T) {
	l := newLog(t)
	sound(t, l, 0)
	if err := l.Append(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(l.Path()); !os.IsNotExist(err) {
		t.Errorf("a log without a signature: %v", err)
	}
	add(t, l, 1)
	add(t, l, 3)
	add(t, New(l.p), 2)
	sound(t, l, 6)
	rep, err := l.Read(t.Context(), 2)
	if err != nil || rep.Total != 6 || len(rep.Entries) != 2 || rep.Entries[1].Seq != 6 || len(rep.Findings) > 0 {
		t.Errorf("the newest two: %+v, %v", rep, err)
	}
}

func TestLimit(t *testing.T) {
	l := newLog(t)
	add(t, l, 23)
	for limit := range 30 {
		rep, err := l.Read(t.Context(), limit)
		want := min(limit, 23)
		if limit == 0 {
			want = 23
		}
		if err != nil || len(rep.Entries) != want || rep.Entries[want-1].Seq != 23 || rep.Entries[0].Seq != int64(24-want) {
			t.Fatalf("limit %d: %d entries, %v", limit, len(rep.Entries), err)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	l := New(Params{})
	err := l.Append(t.Context(), made(1))
	if diag.CodeOf(err) != diag.FileSystemError || !strings.Contains(err.Error(), "names no state directory") {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Read(t.Context(), 0); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("read: %v", err)
	}
	if l.Path() != "" {
		t.Errorf("path %q", l.Path())
	}
}

// An entry that cannot be read back is not written.
func TestAppendRefusesBadEntries(t *testing.T) {
	for name, change := range map[string]func(*Entry){
		"empty":       func(e *Entry) { *e = Entry{} },
		"surface":     func(e *Entry) { e.Surface = "the cli" },
		"use":         func(e *Entry) { e.Use = "" },
		"kind":        func(e *Entry) { e.Kind = "Tool" },
		"id":          func(e *Entry) { e.ID = "a\nb" },
		"long id":     func(e *Entry) { e.ID = strings.Repeat("a", maxName+1) },
		"space":       func(e *Entry) { e.Space = "\u202eproject" },
		"digest":      func(e *Entry) { e.Digest = strings.Repeat("0", 64) },
		"upper case":  func(e *Entry) { e.Key = strings.Repeat("AB", 32) },
		"short key":   func(e *Entry) { e.Key = "ab" },
		"long folder": func(e *Entry) { e.Project = strings.Repeat("x", maxLine) },
	} {
		l := newLog(t)
		add(t, l, 1)
		two := made(2)
		change(&two[1])
		if err := l.Append(t.Context(), two); diag.CodeOf(err) != diag.Internal {
			t.Errorf("%s: %v", name, err)
		}
		sound(t, l, 1)
	}
}

// A directory may have any name.
func TestStrangeProjects(t *testing.T) {
	l := newLog(t)
	want := []string{"/a b", "/\xff\xfe", "/\u202e\x1b[31m", `C:\x\"y"`, "/<&>", "/\u2028\u2029", "/\ufffd", "/line\nbreak", "/" + strings.Repeat("\x01", 4096)}
	for _, dir := range want {
		one := made(1)
		one[0].Project = dir
		if err := l.Append(t.Context(), one); err != nil {
			t.Fatalf("%q: %v", dir, err)
		}
	}
	sound(t, l, len(want))
	for i, e := range look(t, l).Entries {
		if w := strings.ToValidUTF8(want[i], "\ufffd"); e.Project != w {
			t.Errorf("%q became %q", w, e.Project)
		}
	}
}

// Whole lines of a stopped process are accepted, an unfinished one is removed.
func TestStoppedProcess(t *testing.T) {
	full := newLog(t)
	add(t, full, 3)
	whole := content(t, full)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for _, c := range []struct {
		name, head, log string
		kept            int
		warns           bool
	}{
		{"no head yet", "", string(whole), 3, true},
		{"head cut by a loss of power", `{"seq":3,"si`, string(whole), 3, true},
		{"head of zeros", "\x00\x00\x00", string(whole), 3, true},
		{"head is behind", headOf(lines[:1]), string(whole), 3, false},
		{"torn at the first byte", headOf(lines[:2]), string(whole) + "{", 3, true},
		{"torn before the line feed", headOf(lines[:2]), string(whole[:len(whole)-1]), 2, true},
		{"zeros where a line should be", headOf(lines[:3]), string(whole) + strings.Repeat("\x00", 700), 3, true},
		{"torn, no head", "", string(whole[:len(whole)-9]), 2, true},
		{"the very first line is torn", "", string(lines[0][:40]), 0, true},
		{"empty", "", "", 0, false},
		{"a very long torn line", headOf(lines), string(whole) + strings.Repeat("x", 3*maxLine), 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t)
			add(t, l, 1)
			put(t, l, File, []byte(c.log))
			put(t, l, HeadFile, []byte(c.head))
			rep := look(t, l)
			if rep.Err() != nil || (len(rep.Findings) > 0) != c.warns || rep.Total != c.kept {
				t.Errorf("%d entries, %s", rep.Total, list(rep))
			}
			add(t, l, 2)
			sound(t, l, c.kept+2)
		})
	}
}

func headOf(lines [][]byte) string {
	h := format().Start()
	for _, b := range lines {
		if _, err := parse(b); err == nil {
			h = h.After(b)
		}
	}
	return string(h.Render())
}

// Append refuses a log that was cut or altered at its end.
func TestAppendRefusesBrokenEnd(t *testing.T) {
	good := newLog(t)
	add(t, good, 4)
	whole := content(t, good)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, c := range map[string]struct{ log, want string }{
		"gone":                   {"", "was cut"},
		"last line gone":         {string(whole[:len(whole)-len(lines[3])]), "was cut"},
		"cut in the last line":   {string(whole[:len(whole)-5]), "was cut"},
		"line feed gone":         {string(whole[:len(whole)-1]), "was cut"},
		"last line altered":      {strings.Replace(string(whole), "t3", "t4", 1), "was altered"},
		"something after it":     {string(whole) + "x\n", "was altered"},
		"last line twice":        {string(whole) + string(lines[3]), "was altered"},
		"a line that is no line": {string(whole) + strings.Repeat("x", 3*maxLine) + "\n", "was altered"},
		"other line ends":        {strings.ReplaceAll(string(whole), "\n", "\r\n"), "was altered"},
	} {
		l := newLog(t)
		add(t, l, 4)
		put(t, l, File, []byte(c.log))
		err := l.Append(t.Context(), made(1))
		if diag.CodeOf(err) != diag.TranscriptBroken || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		var e *diag.Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, "log_changed") {
			t.Errorf("%s: no reason in %v", name, err)
		}
		if got := string(content(t, l)); got != c.log {
			t.Errorf("%s: the evidence was changed", name)
		}
		if look(t, l).Err() == nil {
			t.Errorf("%s: Read reports no error", name)
		}
	}
}

// After the log was moved away, Append starts a new one.
func TestNewLogAfterMoving(t *testing.T) {
	l := newLog(t)
	add(t, l, 2)
	for _, name := range []string{File, HeadFile} {
		if err := os.Rename(l.path(name), l.path(name+".old")); err != nil {
			t.Fatal(err)
		}
	}
	add(t, l, 1)
	sound(t, l, 1)
}

// A process that has the lock and never releases it ends signing with an error
// that names it, not with a wait without end.
func TestAppendWaitsForALimitedTime(t *testing.T) {
	dir := t.TempDir()
	l := New(Params{Dir: dir, Now: clock, Wait: 5 * time.Millisecond})
	held, err := l.base().Lock(t.Context(), lockFile)
	if err != nil {
		t.Fatal(err)
	}
	var e *diag.Error
	err = l.Append(t.Context(), made(1))
	if !errors.As(err, &e) || e.Reason != "lock_held" || !strings.Contains(err.Error(), filepath.Join(dir, lockFile)+" is locked by ") {
		t.Fatalf("while another process signs: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), made(1)); err != nil {
		t.Fatal(err)
	}
}
