package wire

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/sign"
)

var testTime = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func testSigner(seed byte) sign.Signer {
	return sign.NewFileSigner(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32)), "test")
}

func sampleStatement() Statement {
	return Statement{Registry: "rye.acme.io", Action: ActionPublish, ID: "acme.io/tools", Version: "v1.0.0",
		Body: "sha256:" + strings.Repeat("ab", 32), Sum: "h1:" + strings.Repeat("A", 43) + "=", Nonce: strings.Repeat("0f", 16)}
}

func TestStatement(t *testing.T) {
	signer := testSigner(1)
	s := sampleStatement()
	header, err := s.Sign(context.Background(), signer, testTime)
	if err != nil {
		t.Fatal(err)
	}
	want := "rye.dev/publish/v1\nregistry rye.acme.io\naction publish\nid acme.io/tools\nversion v1.0.0\narchive " + s.Body + "\nsum " + s.Sum +
		"\nreason -\ntime 2026-11-22T10:00:00Z\nnonce " + s.Nonce + "\nkey " + sign.FingerprintOf(signer.Public()).String() + "\n"
	if s.Text() != want {
		t.Fatalf("%s\nwant\n%s", s.Text(), want)
	}
	got, err := ParseHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if got.Statement != s {
		t.Errorf("%+v instead of %+v", got.Statement, s)
	}
	if err := got.Verify(signer.Public()); err != nil {
		t.Error(err)
	}
	if got.Verify(testSigner(2).Public()) == nil {
		t.Error("the statement of another key was accepted")
	}
	for name, c := range map[string]struct {
		host, end string
		now       time.Time
		ok        bool
	}{
		"now":          {s.Registry, "/publish", testTime, true},
		"within":       {s.Registry, "/publish", testTime.Add(MaxSkew), true},
		"old":          {s.Registry, "/publish", testTime.Add(MaxSkew + time.Second), false},
		"future":       {s.Registry, "/publish", testTime.Add(-MaxSkew - time.Second), false},
		"other host":   {"rye.other.io", "/publish", testTime, false},
		"other action": {s.Registry, "/state", testTime, false},
	} {
		if err := got.Check(c.host, c.end, c.now); (err == nil) != c.ok || err != nil && diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// signedBy returns a statement as its signer sends it.
func signedBy(t *testing.T, s Statement, signer sign.Signer) *Signed {
	t.Helper()
	header, err := s.Sign(context.Background(), signer, testTime)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := ParseHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestCheckStatement verifies what the log names as the cause of an entry.
func TestCheckStatement(t *testing.T) {
	signer := testSigner(1)
	s := Statement{Registry: "rye.acme.io", Action: ActionYank, ID: "acme.io/tools", Version: "v1.0.0", Reason: "broken"}
	signed := signedBy(t, s, signer)
	for name, c := range map[string]struct {
		change func(*log.Entry)
		host   string
		key    byte
		want   diag.Code
	}{
		"the cause":       {func(*log.Entry) {}, s.Registry, 1, ""},
		"another host":    {func(*log.Entry) {}, "rye.other.io", 1, diag.LogProof},
		"another key":     {func(*log.Entry) {}, s.Registry, 2, diag.AuthFailed},
		"another state":   {func(e *log.Entry) { e.State = StateUnlisted }, s.Registry, 1, diag.LogProof},
		"another reason":  {func(e *log.Entry) { e.Reason = "fine" }, s.Registry, 1, diag.LogProof},
		"another version": {func(e *log.Entry) { e.Version = "v1.0.1" }, s.Registry, 1, diag.LogProof},
		"another day":     {func(e *log.Entry) { e.Time = testTime.AddDate(0, 0, 1) }, s.Registry, 1, diag.LogProof},
		"a day before":    {func(e *log.Entry) { e.Time = testTime.AddDate(0, 0, -1) }, s.Registry, 1, diag.LogProof},
		"other bytes":     {func(e *log.Entry) { e.Statement = digestOf([]byte("x")) }, s.Registry, 1, diag.LogProof},
	} {
		e := signed.Entry()
		e.Statement, e.Reason, e.Time = signed.Digest, s.Reason, testTime
		c.change(e)
		err := CheckStatement(signed.Raw(), e, c.host, func(sign.Fingerprint) (ed25519.PublicKey, error) { return testSigner(c.key).Public(), nil }, nil)
		if diag.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestCheckStatementBody verifies that the owner signed which key is removed and which
// document revokes.
func TestCheckStatementBody(t *testing.T) {
	signer := testSigner(1)
	key, other := KeyText(sign.FingerprintOf(testSigner(2).Public())), KeyText(sign.FingerprintOf(testSigner(3).Public()))
	text := []byte("a revocation")
	for name, c := range map[string]struct {
		action string
		body   []byte
		entry  log.Entry
		want   diag.Code
	}{
		"the removed key":        {ActionKeyRemove, RenderBody(KeyChange{V: 1, Key: key}), log.Entry{Key: key}, ""},
		"another key":            {ActionKeyRemove, RenderBody(KeyChange{V: 1, Key: key}), log.Entry{Key: other}, diag.LogProof},
		"the revocation":         {ActionRevoke, RenderBody(&RevocationRequest{V: 1, Document: string(text)}), log.Entry{Digest: digestOf(text)}, ""},
		"another revocation":     {ActionRevoke, RenderBody(&RevocationRequest{V: 1, Document: "x"}), log.Entry{Digest: digestOf(text)}, diag.LogProof},
		"a revocation, unserved": {ActionRevoke, RenderBody(&RevocationRequest{V: 1, Document: string(text)}), log.Entry{Digest: digestOf([]byte("y"))}, diag.LogProof},
	} {
		s := Statement{Registry: "rye.acme.io", Action: c.action, ID: "acme.io", Body: digestOf(c.body)}
		signed := signedBy(t, s, signer)
		e := signed.Entry()
		e.Statement, e.Time, e.Key, e.Digest = signed.Digest, testTime, c.entry.Key, c.entry.Digest
		err := CheckStatement(signed.Raw(), e, s.Registry, func(sign.Fingerprint) (ed25519.PublicKey, error) { return signer.Public(), nil },
			func() ([]byte, error) { return text, nil })
		if diag.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestStatementChanged changes every byte of a signed statement.
func TestStatementChanged(t *testing.T) {
	signer := testSigner(1)
	s := sampleStatement()
	header, err := s.Sign(context.Background(), signer, testTime)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.StdEncoding.DecodeString(header)
	for i := range raw {
		b := bytes.Clone(raw)
		b[i] ^= 1
		got, err := ParseHeader(base64.StdEncoding.EncodeToString(b))
		if err == nil && got.Verify(signer.Public()) == nil {
			t.Errorf("byte %d was changed: %q", i, b)
		}
	}
	text, line := raw[:len(s.Text())], raw[len(s.Text()):]
	for name, b := range map[string][]byte{
		"no line": text, "no text": line, "two lines": append(bytes.Clone(raw), line...), "no end": raw[:len(raw)-1], "space at the end": append(bytes.Clone(raw), ' '),
		"unknown line": bytes.Replace(raw, []byte("reason -\n"), []byte("reason -\nx y\n"), 1), "repeated line": bytes.Replace(raw, []byte("reason -\n"), []byte("reason -\nreason -\n"), 1),
		"missing line": bytes.Replace(raw, []byte("reason -\n"), nil, 1), "empty": nil,
	} {
		if _, err := ParseHeader(base64.StdEncoding.EncodeToString(b)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, v := range map[string]string{"line feed": header[:8] + "\n" + header[8:], "url alphabet": strings.ReplaceAll(strings.ReplaceAll(header, "+", "-"), "/", "_") + "-", "too long": strings.Repeat("A", MaxStatement+4)} {
		if _, err := ParseHeader(v); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestStatementOtherUse checks that a signature of a statement is not valid for another use
// of the same key, and the reverse.
func TestStatementOtherUse(t *testing.T) {
	signer, s := testSigner(1), sampleStatement()
	s.Key, s.Time = sign.FingerprintOf(signer.Public()), testTime
	for _, sub := range []sign.Subject{{Use: sign.UseItem, Kind: "statement", ID: s.Registry}, {Use: sign.UsePublish, Kind: "statement", ID: "rye.other.io"}, {Use: sign.UsePublish, Kind: "tool", ID: s.Registry}} {
		line, _, err := sign.SignDetached(context.Background(), []byte(s.Text()), nil, sub, signer, testTime)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseHeader(base64.StdEncoding.EncodeToString(append([]byte(s.Text()), line...)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Verify(signer.Public()) == nil {
			t.Errorf("a signature for %+v was accepted", sub)
		}
	}
}

func TestStatementRules(t *testing.T) {
	for name, change := range map[string]func(*Statement){
		"no sum":              func(s *Statement) { s.Sum = "" },
		"no body":             func(s *Statement) { s.Body = "" },
		"state with body":     func(s *Statement) { s.Action, s.Sum = ActionYank, "" },
		"state with sum":      func(s *Statement) { s.Action, s.Body = ActionYank, "" },
		"bind with a version": func(s *Statement) { s.Action, s.Sum, s.ID = ActionBind, "", "acme.io" },
		"bind of a bundle":    func(s *Statement) { s.Action, s.Sum, s.Version = ActionBind, "", "" },
		"unknown action":      func(s *Statement) { s.Action = "promote" },
		"reason of two lines": func(s *Statement) { s.Reason = "a\nkey x" },
		"long reason":         func(s *Statement) { s.Reason = strings.Repeat("a", MaxReason+1) },
		"dash":                func(s *Statement) { s.Reason = "-" },
		"nonce":               func(s *Statement) { s.Nonce = "00" },
		"version":             func(s *Statement) { s.Version = "v2.0.0" },
		"host":                func(s *Statement) { s.Registry = "Acme.io" },
	} {
		s := sampleStatement()
		change(&s)
		if _, err := s.Sign(context.Background(), testSigner(1), testTime); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
	for _, a := range allActions() {
		s := sampleStatement()
		s.Action = a
		if a != ActionPublish {
			s.Sum = ""
		}
		switch s.about() {
		case "namespace":
			s.ID, s.Version = "acme.io", ""
		case "version":
			if a != ActionPublish {
				s.Body = ""
			}
		}
		if _, err := s.Sign(context.Background(), testSigner(1), testTime); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	s := sampleStatement()
	header, err := s.Sign(context.Background(), testSigner(1), testTime)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(header)
	public := testSigner(1).Public()
	f.Fuzz(func(t *testing.T, v string) {
		got, err := ParseHeader(v)
		if err != nil {
			return
		}
		if got.Verify(public) == nil && v != header {
			t.Fatalf("%q was accepted", v)
		}
		if got.Text() != string(got.text) {
			t.Fatalf("%q is rendered as %q", got.text, got.Text())
		}
	})
}

// allActions returns all actions.
func allActions() []string {
	return []string{ActionPublish, ActionYank, ActionUnyank, ActionUnlist, ActionRelist, ActionDelete, ActionBind, ActionKeyAdd, ActionKeyRemove, ActionRevoke}
}
