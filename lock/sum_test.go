package lock

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestSum(t *testing.T) {
	b := example(t, "rye.sum")
	s, fs := ParseSum(b)
	if s == nil || len(fs) > 0 || s.Len() != 3 {
		t.Fatal(fs)
	}
	l, _ := ParseLock(example(t, "rye.lock"))
	out, err := AppendSum(b, l.SumLines()...)
	if err != nil || !bytes.Equal(out, b) {
		t.Errorf("the example lacks a line of the lock: %v\n%s", err, out)
	}
	m := Module{ID: idOf("github.com/acme/core-bundle"), Version: "v1.8.2"}
	if s.Hash(m) != sumOf(t, "core") || s.Check(m, sumOf(t, "core")) != nil || s.Check(Module{ID: m.ID, Version: "v9.0.0"}, "x") != nil {
		t.Error("a recorded hash is not found")
	}
	err = s.Check(m, sumOf(t, "other"))
	if diag.CodeOf(err) != diag.SumConflict || diag.SumConflict.Class() != diag.ClassHistory || !strings.Contains(err.Error(), "rye.sum records") {
		t.Errorf("%v", err)
	}
}

func TestAppendSum(t *testing.T) {
	m := Module{ID: idOf("github.com/x/a"), Version: "v1.0.0"}
	one, two := SumLine{m, sumOf(t, "1")}, SumLine{m, sumOf(t, "2")}
	b, err := AppendSum([]byte("github.com/x/z v1.0.0 "+sumOf(t, "z")), one)
	if err != nil || string(b) != "github.com/x/z v1.0.0 "+sumOf(t, "z")+"\ngithub.com/x/a v1.0.0 "+sumOf(t, "1")+"\n" {
		t.Errorf("%v %q", err, b)
	}
	if _, err := AppendSum(b, two); diag.CodeOf(err) != diag.SumConflict {
		t.Errorf("a second hash: %v", err)
	}
	if _, err := AppendSum(nil, one, two); diag.CodeOf(err) != diag.SumConflict {
		t.Errorf("two hashes at once: %v", err)
	}
	for _, l := range []SumLine{{Module{ID: idOf("./x"), Version: "local"}, sumOf(t, "1")}, {m, "h1:x"}, {m, "md5:x"}, {Module{ID: ID{Kind: HostID, Repo: "x"}, Version: "v1.0.0"}, sumOf(t, "1")},
		{Module{ID: m.ID, Version: "v1"}, sumOf(t, "1")}, {Module{ID: ID{Kind: HostID, Repo: "GitHub.com/x/a"}, Version: "v1.0.0"}, sumOf(t, "1")}} {
		if _, err := AppendSum(nil, l); err == nil {
			t.Errorf("%v is taken", l)
		}
	}
	if _, err := AppendSum([]byte("nonsense\n"), one); err == nil {
		t.Error("a broken file is continued")
	}
}

func TestBadSums(t *testing.T) {
	good := "github.com/x/a v1.0.0 " + sumOf(t, "1") + "\n"
	for _, tc := range []struct{ text, want string }{
		{"\n", "is empty"},
		{strings.Repeat("a", MaxSum+1), "TOO_LARGE"},
		{"\xef\xbb\xbf" + good, "ENCODING"},
		{good + "\x00", "ENCODING"},
		{"\xff" + good, "ENCODING"},
		{strings.ReplaceAll(good, "\n", "\r\n"), "the file has CR line ends"},
		{good + "x\n", "line 2:1: PARSING_ERROR: want"},
		{"github.com/x/a  v1.0.0 " + sumOf(t, "1") + "\n", "want"},
		{" " + good, "want"},
		{strings.Replace(good, "a v1.0.0", "a v1.0", 1), "write v1.0.0"},
		{strings.Replace(good, "github.com/x/a", "https://github.com/x/a", 1), "not the canonical id"},
		{strings.Replace(good, "h1:", "h1:A", 1), "want h1:"},
		{strings.Replace(good, "h1:", "sha256:", 1), "want h1:"},
		{"github.com/x/a v1.0.0 " + sumOf(t, "2") + "\n" + good, "line 2:1: SUM_CONFLICT"},
		{"<<<<<<< x\n" + good + "=======\n>>>>>>> y\n", "conflict markers"},
	} {
		s, fs := ParseSum([]byte(tc.text))
		var all []string
		for _, f := range fs {
			all = append(all, f.String())
		}
		if s != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%.60q: %q, want %q", tc.text, all, tc.want)
		}
	}
	s, fs := ParseSum([]byte(good + good + "\n" + strings.Replace(good, "h1:", "h2:", 1)))
	if s == nil || len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || s.Hash(Module{ID: idOf("github.com/x/a"), Version: "v1.0.0"}) != sumOf(t, "1") {
		t.Errorf("%v", fs)
	}
	if s, fs := ParseSum(nil); s == nil || len(fs) > 0 || s.Len() != 0 {
		t.Errorf("no file: %v", fs)
	}
}

// FuzzParseSum holds that what is read can be continued, and that continuing
// keeps every byte.
func FuzzParseSum(f *testing.F) {
	f.Add(example(f, "rye.sum"))
	f.Add([]byte("github.com/x/a v1.0.0 h2:x\n\n"))
	add := SumLine{Module{ID: idOf("github.com/fuzz/a"), Version: "v1.0.0"}, sumOf(f, "1")}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, fs := ParseSum(b)
		if (s == nil) != diag.Failed(fs) {
			t.Fatalf("%v with %v", s, fs)
		}
		out, err := AppendSum(b, add)
		if (s == nil) && err == nil {
			t.Fatal("a broken file is continued")
		}
		if err == nil && (!bytes.HasPrefix(out, b) || len(out) < len(b)) {
			t.Fatalf("%q becomes %q", b, out)
		}
	})
}
