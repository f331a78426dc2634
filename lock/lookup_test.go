package lock

import (
	"bytes"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
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
	for seed := range int64(500) {
		b := randomLock(rand.New(rand.NewSource(seed))).Render()
		if sameEntries(t, b); bytes.Contains(b, itemStart) {
			if l, _ := Lookup(b); l.unread != nil {
				lazily++
			}
		}
	}
	if lazily < 300 {
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
