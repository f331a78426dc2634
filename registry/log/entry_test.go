package log

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sampleEntries() []*Entry {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	d := "sha256:" + strings.Repeat("ab", 32)
	k := "ed25519:" + strings.Repeat("01", 32)
	return []*Entry{
		{Type: Release, ID: "acme.io/tools", Version: "v2.1.0", Sum: "h1:" + EmptyTree().Root.String(), Archive: d, Manifest: d, Signers: []string{k, k}, Publisher: k, Time: at, Statement: d},
		{Type: State, ID: "acme.io/tools", Version: "v2.1.0", State: "yanked", Reason: "it fails on Windows", Publisher: k, Time: at, Statement: d},
		{Type: State, ID: "acme.io/tools", Version: "v2.1.0", State: "deleted", Reason: "a court order", Time: at},
		{Type: Binding, Namespace: "acme.io", Method: "dns", Key: k, Until: at.AddDate(1, 0, 0), Time: at, Statement: d},
		{Type: Key, Namespace: "acme.io", Action: "remove", Key: k, Publisher: k, Time: at, Statement: d},
		{Type: Revocation, Digest: d, Time: at},
		{Type: Publisher, Namespace: "acme.io", Digest: d, Time: at},
	}
}

func TestEntries(t *testing.T) {
	for _, e := range sampleEntries() {
		b, err := e.Render()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseEntry(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %v\n%s", e.Type, err, b)
		}
	}
	good, _ := sampleEntries()[0].Render()
	for name, change := range map[string][2]string{
		"another version":       {"log/v1", "log/v2"},
		"two lines of one kind": {"version v2.1.0\n", "version v2.1.0\nversion v2.1.0\n"},
		"other order":           {"id acme.io/tools\nversion v2.1.0\n", "version v2.1.0\nid acme.io/tools\n"},
		"unknown field":         {"publisher", "author"},
		"missing field":         {"version v2.1.0\n", ""},
		"field of another type": {"version v2.1.0\n", "version v2.1.0\nstate ok\n"},
		"capital digest":        {"sha256:ab", "sha256:AB"},
		"two spaces":            {"id acme", "id  acme"},
		"carriage return":       {"v2.1.0\n", "v2.1.0\r\n"},
		"other zone":            {"10:00:00Z", "10:00:00+00:00"},
		"no end of line":        {strings.Repeat("ab", 32) + "\n", strings.Repeat("ab", 32)},
		"unknown type":          {"type release", "type party"},
		"too long":              {"type release", "type release" + strings.Repeat("x", MaxEntry)},
	} {
		i := bytes.LastIndex(good, []byte(change[0]))
		b := string(good[:i]) + change[1] + string(good[i+len(change[0]):])
		if _, err := ParseEntry([]byte(b)); err == nil || i < 0 {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := (&Entry{Type: State, ID: "a/b", Version: "v1.0.0", State: "yanked", Reason: "a\nb", Time: time.Now()}).Render(); err == nil {
		t.Error("a reason of two lines was rendered")
	}
}

func FuzzParseEntry(f *testing.F) {
	for _, e := range sampleEntries() {
		b, err := e.Render()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEntry(b)
		if err != nil {
			return
		}
		if got, err := e.Render(); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%q is rendered as %q: %v", b, got, err)
		}
	})
}

func FuzzParseBundle(f *testing.F) {
	f.Add(AppendEntry(AppendEntry(nil, []byte("a")), []byte("bc")), 2)
	f.Add([]byte{0, 5, 1}, 1)
	f.Fuzz(func(t *testing.T, b []byte, width int) {
		list, err := ParseBundle(b, width)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range list {
			again = AppendEntry(again, e)
		}
		if !bytes.Equal(again, b) || len(list) != width {
			t.Fatalf("%q has %d entries, which are %q", b, len(list), again)
		}
	})
}

func FuzzVerify(f *testing.F) {
	fx := newFixture(f, 3)
	f.Add(fx.files[CheckpointName])
	f.Add([]byte("a\n1\nAAAA\n\n— a AAAAAAAA\n"))
	good := fx.w.Tree()
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := fx.verifier().Verify(b)
		if err == nil && c.Tree != good {
			t.Fatalf("%q was accepted", b)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	f.Add(Proof{EmptyTree().Root}.String())
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParseProof(s); err == nil && p.String() != s {
			t.Fatalf("%q is rendered as %q", s, p)
		}
	})
}
