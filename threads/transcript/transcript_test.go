package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

func instant() time.Time { return time.Date(2026, 11, 22, 10, 31, 0, 0, time.UTC) }

// params returns the parameters of a log in a new project.
func params(t testing.TB) Params {
	t.Helper()
	priv, err := sign.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	signer := sign.NewFileSigner(priv, "test")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	keys := func(fp sign.Fingerprint) ([]byte, bool) {
		return signer.Public(), fp == sign.FingerprintOf(signer.Public())
	}
	return Params{Project: dir, ID: "demo-01", Signer: signer, Now: instant, Keys: keys}
}

type note struct {
	Text  string         `json:"text"`
	Value map[string]any `json:"value,omitempty"`
}

// written creates a log with n events and a checkpoint.
func written(t testing.TB, p Params, n int) {
	t.Helper()
	l, err := Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := l.Commit(t.Context(), "noted", note{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Rest(t.Context(), "ended", note{Text: "end"}), l.Close()); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, p Params) []byte {
	t.Helper()
	b, err := os.ReadFile(p.base().Path(File))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, p Params, b []byte) {
	t.Helper()
	if err := os.WriteFile(p.base().Path(File), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The bytes are the ones of docs/reference/format.
func TestBytes(t *testing.T) {
	p := params(t)
	written(t, p, 1)
	lines := strings.SplitAfter(string(content(t, p)), "\n")
	if want := `{"seq":1,"time":"2026-11-22T10:31:00.000Z","event":"noted","data":{"text":"x"},"prev":"` + format("demo-01").Start().Last + "\"}\n"; lines[0] != want {
		t.Errorf("got\n%swant\n%s", lines[0], want)
	}
	if len(lines) != 4 || !strings.HasPrefix(lines[2], `{"seq":3,"time":"2026-11-22T10:31:00.000Z","event":"checkpoint","data":{"seq":2,"size":`) {
		t.Errorf("%q", lines)
	}
	for path, mode := range map[string]os.FileMode{".": 0o700, File: 0o600, HeadFile: 0o600} {
		if fi, err := os.Stat(p.base().Path(path)); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
}

func TestOpenGoesOn(t *testing.T) {
	p := params(t)
	written(t, p, 40)
	rep, err := Verify(t.Context(), p)
	if err != nil || rep.Err() != nil || len(rep.Findings) > 0 || rep.Count != 43 || rep.Checkpoints != 2 || rep.Signed != 43 {
		t.Fatalf("%+v, %v", rep, err)
	}
	l, lines, torn, err := Open(t.Context(), p)
	if err != nil || len(lines) != 43 || torn != 0 || lines[0].Event != "noted" || !lines[0].At().Equal(instant()) {
		t.Fatalf("%d lines, %d, %v", len(lines), torn, err)
	}
	if _, _, _, err := Open(t.Context(), p); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("a second writer: %v", err)
	}
	if err := errors.Join(l.Append("noted", note{}), l.Flush(), l.Rest(t.Context(), "ended", note{}), l.Close()); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil || rep.Count != 46 {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err := Create(t.Context(), p); err == nil {
		t.Error("a second log with the same id was created")
	}
}

// A process that was stopped before its first line was complete has recorded nothing.
func TestCreateOverUnused(t *testing.T) {
	for _, left := range []string{"", `{"seq":1,"ti`, "\x00\x00"} {
		p := params(t)
		l, err := Create(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		put(t, p, []byte(left))
		written(t, p, 1)
		if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil || rep.Count != 3 {
			t.Errorf("%q: %+v, %v", left, rep, err)
		}
	}
}

// A torn last line is removed, at whatever byte it was torn.
func TestTorn(t *testing.T) {
	p := params(t)
	written(t, p, 3)
	whole := content(t, p)
	line := []byte(`{"seq":6,"time":"2026-11-22T10:31:00.000Z","event":"noted","data":{},"prev":"sha256:00"}`)
	for n := 1; n <= len(line); n += 7 {
		put(t, p, append(bytes.Clone(whole), line[:n]...))
		l, lines, torn, err := Open(t.Context(), p)
		if err != nil || torn != int64(n) || len(lines) != 5 {
			t.Fatalf("%d bytes: %d, %d lines, %v", n, torn, len(lines), err)
		}
		if err := l.Close(); err != nil || !bytes.Equal(content(t, p), whole) {
			t.Fatalf("%d bytes: the log is not what it was: %v", n, err)
		}
	}
	put(t, p, append(bytes.Clone(whole), make([]byte, 3*MaxLine)...))
	l, _, torn, err := Open(t.Context(), p)
	if err != nil || torn != 3*MaxLine {
		t.Fatalf("%d, %v", torn, err)
	}
	_ = l.Close()
}

// Every changed bit, every removed byte and every cut line is damage.
func TestDamage(t *testing.T) {
	p := params(t)
	written(t, p, 3)
	whole := content(t, p)
	broken := func(what string, b []byte) {
		t.Helper()
		put(t, p, b)
		if rep, err := Verify(t.Context(), p); err != nil || rep.Err() == nil && !rep.Unverifiable {
			t.Fatalf("%s: %+v, %v", what, rep, err)
		}
		if l, _, _, err := Open(t.Context(), p); err == nil || diag.CodeOf(err) != diag.TranscriptBroken && diag.CodeOf(err) != diag.KeyUnknown {
			t.Fatalf("%s: opened, %v", what, err)
		} else if l != nil {
			t.Fatal("an error and a log")
		}
	}
	for i := 0; i < len(whole); i += 5 {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 7)
		broken("bit", b)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	broken("the last line is missing", bytes.Join(lines[:4], nil))
	broken("only one line", lines[0])
	broken("empty", nil)
	put(t, p, whole)
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil {
		t.Fatal(rep, err)
	}

	other := p
	other.ID = "demo-02"
	if err := os.Rename(p.base().Path("."), other.base().Path(".")); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(t.Context(), other); err != nil || rep.Err() == nil {
		t.Errorf("a log under the name of another one: %+v, %v", rep, err)
	}
	if _, err := Verify(t.Context(), p); diag.CodeOf(err) != diag.ThreadNotFound {
		t.Errorf("no log: %v", err)
	}
}

// A person who rewrites the whole chain cannot sign its checkpoint.
func TestRewritten(t *testing.T) {
	p := params(t)
	written(t, p, 2)
	whole := content(t, p)
	forged := p
	priv, err := sign.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{8}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	forged.Signer = sign.NewFileSigner(priv, "forger")
	if err := os.RemoveAll(p.base().Path(".")); err != nil {
		t.Fatal(err)
	}
	written(t, forged, 2)
	rep, err := Verify(t.Context(), p)
	if err != nil || !rep.Unverifiable || rep.Signed != 0 {
		t.Errorf("another key: %+v, %v", rep, err)
	}
	if _, _, _, err := Open(t.Context(), p); diag.CodeOf(err) != diag.KeyUnknown {
		t.Errorf("another key: %v", err)
	}
	// The name of the right key with the wrong signature.
	text := strings.ReplaceAll(string(content(t, p)), sign.FingerprintOf(forged.Signer.Public()).String(), sign.FingerprintOf(p.Signer.Public()).String())
	put(t, p, []byte(text))
	_ = os.Remove(p.base().Path(HeadFile))
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() == nil || !strings.Contains(rep.Err().Error(), "signature of the checkpoint is not valid") {
		t.Errorf("a forged checkpoint: %+v, %v", rep, err)
	}
	put(t, p, whole)
}

// Large values are artifacts, return unchanged, and cannot be named by a value.
func TestArtifacts(t *testing.T) {
	p := params(t)
	l, err := Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("ä\u202e\x01", 300_000)
	want := []note{
		{"a", map[string]any{"big": big, "small": "x", "artifacts": []any{map[string]any{"at": []any{"text"}}}}},
		{big, nil},
		{"c", map[string]any{}},
		{"d", map[string]any{"text": strings.Repeat("\u202e", 200_000/3)}},
	}
	for i := range 60_000 {
		want[2].Value["key"+strings.Repeat("k", i%9)+string(rune('a'+i%26))+time.Duration(i).String()] = "value"
	}
	for _, n := range want {
		if err := l.Commit(t.Context(), "noted", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(t.Context(), p)
	if err != nil || rep.Err() != nil || rep.Count != len(want) {
		t.Fatalf("%+v, %v", rep.Err(), err)
	}
	for i, n := range want {
		data, err := Expand(p.Project, p.ID, &rep.Lines[i])
		b, _ := json.Marshal(data)
		var got note
		if err != nil || json.Unmarshal(b, &got) != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("line %d differs: %v", i+1, err)
		}
	}
	files, _ := filepath.Glob(p.base().Path("artifacts/*.json"))
	if len(files) != 2 {
		t.Fatal(files)
	}
	if err := os.WriteFile(files[0], []byte(`"other"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() == nil || !strings.Contains(rep.Err().Error(), "other content") {
		t.Errorf("a changed artifact: %+v, %v", rep, err)
	}
	_ = os.Remove(files[0])
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() == nil || !strings.Contains(rep.Err().Error(), "is missing") {
		t.Errorf("a missing artifact: %+v, %v", rep, err)
	}
}

// A log that cannot be written stops its run, and what was written before is valid.
func TestFullDisk(t *testing.T) {
	p := params(t)
	l, err := Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), "noted", note{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	_ = l.file.Close() // every later write has an error
	for range 2 {
		if err := l.Commit(t.Context(), "noted", note{Text: "y"}); diag.CodeOf(err) != diag.FileSystemError {
			t.Errorf("a write to a closed file: %v", err)
		}
	}
	_ = l.Close()
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil || rep.Count != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestTakenOver: a process does not write over the lines of another one, which took the
// log over after its lock file had been removed.
func TestTakenOver(t *testing.T) {
	p := params(t)
	old, err := Create(t.Context(), p)
	must(t, err)
	must(t, old.Commit(t.Context(), "noted", note{Text: "x"}))
	if err := os.Remove(p.base().Path(LockFile)); err != nil && runtime.GOOS == "windows" {
		must(t, old.Close())
		t.Skip("a lock file that is open cannot be removed there: ", err)
	} else {
		must(t, err)
	}
	fresh, _, _, err := Open(t.Context(), p)
	must(t, err)
	must(t, fresh.Commit(t.Context(), "noted", note{Text: "y"}))
	for range 2 {
		if err := old.Commit(t.Context(), "noted", note{Text: "z"}); diag.CodeOf(err) != diag.ThreadState {
			t.Errorf("a write of the old process: %v", err)
		}
	}
	must(t, fresh.Commit(t.Context(), "noted", note{Text: "y"}))
	must(t, fresh.Close())
	_ = old.Close() // it wrote nothing
	if rep, err := Verify(t.Context(), p); err != nil || rep.Err() != nil || rep.Count != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzVerify checks that reading any bytes never panics, and that a log without
// findings continues the chain line by line.
func FuzzVerify(f *testing.F) {
	p := params(f)
	written(f, p, 2)
	whole := content(f, p)
	_ = os.Remove(p.base().Path(HeadFile))
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(bytes.ToUpper(whole))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, p, b)
		rep, err := Verify(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Err() != nil {
			return
		}
		prev := format(p.ID).Start().Last
		for i, l := range rep.Lines {
			if l.Prev != prev || l.Seq != int64(i+1) {
				t.Fatalf("line %d has no finding", i+1)
			}
			text, err := l.render()
			if err != nil {
				t.Fatal(err)
			}
			prev = format(p.ID).Start().After(text).Last
		}
	})
}
