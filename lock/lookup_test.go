package lock

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// sameEntries compares Lookup with ParseLock: every text that ParseLock accepts has the
// same entries, and what ParseLock refuses is refused by Lookup or has other entries that
// are not valid.
func sameEntries(t *testing.T, b []byte) {
	t.Helper()
	full, _ := ParseLock(b)
	l, fs := Lookup(b)
	if full == nil || l == nil {
		if full != nil || l == nil != diag.Failed(fs) {
			t.Fatalf("%v, and ParseLock accepts %q", fs, b)
		}
		return
	}
	if !reflect.DeepEqual(l.Bundles, full.Bundles) || !reflect.DeepEqual(l.Members, full.Members) || l.Manifest != full.Manifest ||
		!reflect.DeepEqual(l.Revoked, full.Revoked) || !reflect.DeepEqual(l.Extra, full.Extra) || l.Minor != full.Minor {
		t.Fatalf("%+v\n%+v", l, full)
	}
	for i := range full.Items {
		want := &full.Items[i]
		if got, err := l.Entry(want.Ref); err != nil || !reflect.DeepEqual(got, full.Item(want.Ref)) {
			t.Fatalf("%s: %+v %v, want %+v", want.Ref, got, err, want)
		}
	}
	if got, err := l.Entry(ref("tool:not/there")); got != nil || err != nil {
		t.Fatalf("%v %v", got, err)
	}
}

func TestLookup(t *testing.T) {
	lazily := 0
	tried := rounds(500)
	for seed := range int64(tried) {
		b := randomLock(rand.New(rand.NewSource(seed))).Render()
		if sameEntries(t, b); bytes.Contains(b, itemStart) {
			if l, _ := Lookup(b); l.unread != nil {
				lazily++
			}
		}
	}
	if lazily < tried*3/5 {
		t.Errorf("%d locks were read without their items", lazily)
	}
	sameEntries(t, example(t, "rye.lock"))
}

func TestLookupRefuses(t *testing.T) {
	good := string(example(t, "rye.lock"))
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the example has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	d := digestOf("x").String()
	for _, tc := range []struct {
		name, text, asked string
		open, entry       string // what the errors contain, "" without an error
	}{
		{"another entry is not valid", swap("- item: directive:triage/run\n", "- item: directive:triage/run\n  what: x\n"), "tool:triage/label", "", ""},
		{"the entry is not valid", swap("- item: directive:triage/run\n", "- item: directive:triage/run\n  what: x\n"), "directive:triage/run", "", `unknown field "what"`},
		{"the entry is repeated", good + "\n- item: directive:triage/run\n  digest: " + d + "\n", "tool:triage/label", "a second entry for item directive:triage/run", ""},
		{"something after the name", swap("- item: tool:triage/label\n", "- item: tool:triage/label \n"), "tool:triage/label", "want", ""},
		{"a name in quotes", swap("- item: tool:triage/label\n", "- item: \"tool:triage/label\"\n  what: x\n"), "tool:triage/label", `unknown field "what"`, ""},
		{"another name that begins alike", good + "\n- item: tool:triage/label2\n  what: x\n", "tool:triage/label", "", ""},
		{"a bundle after the items", good + "\n- bundle: ./x\n", "tool:triage/label", "the field", ""},
		{"conflict markers", good + "<<<<<<< ours\n", "tool:triage/label", "conflict markers", ""},
		{"a line of its own", good + "text\n", "tool:triage/label", "not a field or an entry", ""},
		{"cut off", good[:len(good)-1], "tool:triage/label", "truncated", ""},
		{"a bad bundle", swap("commit: ", "commit: x"), "tool:triage/label", "commit", ""},
		{"a bad head", swap("manifest: ", "manifest: x"), "tool:triage/label", "manifest", ""},
		{"the entry is not UTF-8", good + "  x: \xff\n", "tool:triage/label", "", "UTF-8"},
		{"the entry has CR line ends", strings.TrimSuffix(good, "\n") + "\r\n", "tool:triage/label", "", "CR line ends"},
		{"another entry is not UTF-8", good + "  x: \xff\n", "directive:triage/run", "", ""},
	} {
		l, fs := Lookup([]byte(tc.text))
		err := diag.FromFindings("reading", fs)
		if l == nil != (tc.open != "") || err != nil && !strings.Contains(err.Error()+strings.Join(messages(fs), "\n"), tc.open) {
			t.Errorf("%s: %v, want %q", tc.name, fs, tc.open)
		}
		if l == nil {
			continue
		}
		entry, err := l.Entry(ref(tc.asked))
		switch found := diag.FindingsOf(err); {
		case tc.entry == "" && (err != nil || entry == nil):
			t.Errorf("%s: %v %v", tc.name, entry, err)
		case tc.entry != "" && (err == nil || entry != nil || !strings.Contains(strings.Join(messages(found), "\n"), tc.entry)):
			t.Errorf("%s: %v %v, want %q", tc.name, entry, found, tc.entry)
		case tc.entry != "" && (found[0].Line < 2 || found[0].Path != LockFile):
			t.Errorf("%s: at %s:%d", tc.name, found[0].Path, found[0].Line)
		}
		if _, err := l.CheckItem(Found{Chain: []Element{{Link: Link{ref(tc.asked), digestOf("x")}}}}); err == nil {
			t.Errorf("%s: other bytes match", tc.name)
		}
	}
}

func messages(fs []diag.Finding) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.Message
	}
	return out
}

// longLock writes a lock of several windows to a directory.
func longLock(t *testing.T) (Dir, []byte) {
	t.Helper()
	l := benchLock(t)
	for i := range 5000 {
		it := Link{ref(fmt.Sprintf("tool:many/t%05d", i)), digestOf(fmt.Sprint(i))}
		l.SetItem(Item{Ref: it.Ref, Digest: it.Digest, Chain: []Link{it, {ref("tool:rye/run"), digestOf("r")}}})
	}
	text := l.Render()
	if len(text) < 3*windowSize {
		t.Fatalf("%d bytes", len(text))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, LockFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return Dir(dir), text
}

// TestReadLookup reads a long file in parts. Each entry is that of ParseLock.
func TestReadLookup(t *testing.T) {
	dir, text := longLock(t)
	l, notes, err := ReadLookup(dir, "")
	if l == nil || err != nil || len(notes) > 0 {
		t.Fatal(l, notes, err)
	}
	if _, whole := l.unread.file.(*bytes.Reader); whole != (runtime.GOOS == "windows") {
		t.Errorf("the file is read as a whole: %v", whole)
	}
	full, _ := ParseLock(text)
	for i := range full.Items {
		want := &full.Items[i]
		if got, err := l.Entry(want.Ref); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v %v, want %+v", want.Ref, got, err, want)
		}
	}
	for _, name := range []string{"tool:many/t0", "tool:many/t00000x", "tool:many/t99999", "directive:a", "tool:zzz/z"} {
		if got, err := l.Entry(ref(name)); got != nil || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, name := range []string{"tool:many/t04999", "tool:a/t0", "tool:rye/run", "tool:rye/prim", "tool:rye"} {
		var got, want []Item
		for it, err := range l.linking(ref(name)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *it)
		}
		for _, it := range full.Items {
			if strings.Contains(fmt.Sprint(it), name) {
				want = append(want, it)
			}
		}
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%d entries name %s, want %d", len(got), name, len(want))
		}
	}
	for _, c := range []struct {
		link Link
		same bool
	}{{Link{ref("tool:rye/run"), digestOf("r")}, true}, {Link{ref("tool:rye/run"), digestOf("s")}, false}, {Link{ref("tool:rye/other"), digestOf("s")}, true}} {
		got, want := l.CheckSystem(c.link, System{}), full.CheckSystem(c.link, System{})
		if (got == nil) != c.same || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %v, want %v", c.link, got, want)
		}
	}
	for range l.linking(ref("tool:not/there")) {
		t.Error("an entry names no item")
	}
}

// TestLookupQuotes writes the name of a system item in a chain in several ways. Each is
// compared with what the item is now.
func TestLookupQuotes(t *testing.T) {
	l := exampleLock(t)
	own := Link{ref("tool:own/x"), digestOf("own")}
	l.SetItem(Item{Ref: own.Ref, Digest: own.Digest, Chain: []Link{own, {ref("tool:rye/run"), digestOf("r")}}})
	for _, name := range []string{`tool:rye/run`, `"tool:rye/run"`, `"tool:rye\x2frun"`, `"tool:rye/r\u0075n"`} {
		text := bytes.Replace(l.Render(), []byte("tool:rye/run"), []byte(name), 1)
		sameEntries(t, text)
		full, _ := ParseLock(text)
		looked, _ := Lookup(text)
		now := Link{ref("tool:rye/run"), digestOf("other")}
		if got, want := looked.CheckSystem(now, System{}), full.CheckSystem(now, System{}); got == nil || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestLookupOfUnsortedUses reads an entry whose uses are in another order, one of them twice.
func TestLookupOfUnsortedUses(t *testing.T) {
	l := exampleLock(t)
	a, b := Link{ref("config:a"), digestOf("a")}, Link{ref("config:b"), digestOf("b")}
	l.SetItem(Item{Ref: ref("directive:uses"), Digest: digestOf("d"), Uses: []Link{b, a, b}})
	var text []byte
	for r := range l.inOrder() { // not sorted
		text = r.append(text)
	}
	sameEntries(t, text)
	looked, _ := Lookup(text)
	if it, err := looked.Entry(ref("directive:uses")); err != nil || !reflect.DeepEqual(it.Uses, []Link{a, b}) {
		t.Errorf("%+v, %v", it, err)
	}
}

// TestReadLookupRefuses puts faults at many offsets of a long file. What ParseLock refuses
// is refused, or the entry with the fault is.
func TestReadLookupRefuses(t *testing.T) {
	dir, text := longLock(t)
	file := filepath.Join(string(dir), LockFile)
	r := rand.New(rand.NewSource(7))
	refused := 0
	tried := rounds(60)
	for i := range tried {
		at := r.Intn(len(text))
		if i%3 == 0 { // at the end of a window
			at = windowSize*(1+r.Intn(2)) - 2 + r.Intn(4)
		}
		bad := bytes.Clone(text)
		bad[at] = []byte{0, '\n', '-', 'x', '"', ' ', 0xff, '\r', '<'}[r.Intn(9)]
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		full, found := ParseLock(bad)
		l, _, err := ReadLookup(dir, "")
		if full != nil || l == nil {
			if l == nil != (full == nil) {
				t.Fatalf("byte %d: %v, and ParseLock accepts the text: %v", at, err, found)
			}
			refused++
			continue
		}
		start := bytes.LastIndex(bad[:at+1], itemStart)
		line, _, _ := bytes.Cut(bad[start+len(itemStart):], []byte("\n"))
		if asked, perr := item.ParseRef(string(line), ""); perr == nil {
			if entry, err := l.Entry(asked); err == nil && entry != nil {
				t.Fatalf("byte %d: %q is an entry although ParseLock refuses the text: %v", at, line, found)
			}
		}
		refused++
	}
	if refused < tried/3 {
		t.Errorf("%d texts were refused", refused)
	}
}

// TestLookupOfChangedFile overwrites a file, in place, that is being used.
func TestLookupOfChangedFile(t *testing.T) {
	dir, text := longLock(t)
	l, _, err := ReadLookup(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, whole := l.unread.file.(*bytes.Reader); whole {
		t.Skip("the file is in memory")
	}
	file := filepath.Join(string(dir), LockFile)
	asked := ref("tool:many/t03000")
	moved := bytes.Replace(text, []byte("\n\n- item: "), []byte("\n\n\n- item: "), 1)
	for _, bad := range [][]byte{moved, text[:len(text)/4], bytes.ReplaceAll(text, []byte("t03000"), []byte("t0300~"))} {
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Entry(asked); got != nil && err == nil {
			t.Errorf("%d bytes: %+v", len(bad), got)
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil { // as a command does that writes a new file
		t.Fatal(err)
	}
	if got, err := l.Entry(asked); err != nil || got == nil {
		t.Errorf("of the file that was replaced: %v %v", got, err)
	}
}
