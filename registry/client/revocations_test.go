package client

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// A revocation is read if the log names it, for the namespaces that were read, and a
// registry cannot withdraw or change one.
func TestRevocations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.release("v1.0.0")
	list := &wire.Revocations{V: 1}
	add := func(ns, text string) {
		digest := item.DigestOf([]byte(text)).String()
		n := s.append(&log.Entry{Type: log.Revocation, Namespace: ns, Digest: digest})
		list.Documents = append(list.Documents, wire.Revocation{Digest: digest, URL: wire.RevocationPath(digest), Log: n})
		s.put(wire.RevocationPath(digest), []byte(text))
		s.put(wire.RevocationsPath, list.Render())
	}
	read := func() ([]Revoked, error) {
		h := s.host()
		if _, err := h.Index(t.Context(), s.id()); err != nil {
			t.Fatal(err)
		}
		return h.Revocations(t.Context())
	}
	if got, err := read(); err != nil || len(got) != 0 {
		t.Fatalf("without a list: %v, %v", got, err)
	}
	add("acme", "ours")
	add("other", "theirs")
	got, err := read()
	if err != nil || len(got) != 1 || string(got[0].Text) != "ours" || got[0].Namespace != "acme" {
		t.Fatalf("%v, %v", got, err)
	}

	whole := list.Documents
	refused := func(what string, want diag.Code) {
		t.Helper()
		if _, err := read(); diag.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	list.Documents = whole[1:]
	s.put(wire.RevocationsPath, list.Render())
	refused("withdrawn", diag.Rollback)
	s.put(wire.RevocationsPath, nil)
	refused("without the list", diag.Rollback)

	forged := wire.Revocation{Digest: item.DigestOf([]byte("forged")).String(), Log: 0}
	forged.URL = wire.RevocationPath(forged.Digest)
	s.put(forged.URL, []byte("forged"))
	list.Documents = append([]wire.Revocation{forged}, whole...)
	s.put(wire.RevocationsPath, list.Render())
	refused("not in the log", diag.LogProof)
	forged = whole[0]
	forged.URL = "/elsewhere"
	list.Documents = []wire.Revocation{forged, whole[1]}
	s.put(wire.RevocationsPath, list.Render())
	refused("at another address", diag.LogProof)

	list.Documents = whole
	add("acme", "later")
	s.put(list.Documents[2].URL, []byte("changed"))
	refused("with other bytes", diag.HashMismatch)
}

// A registry cannot leave out of its list a revocation that its log has, also if no list of
// it was ever seen.
func TestSuppressedRevocation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.release("v1.0.0")
	read := func() error {
		h := s.host()
		_, err := h.Index(t.Context(), s.id())
		if err == nil {
			_, err = h.Revocations(t.Context())
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	digest := item.DigestOf([]byte("ours")).String()
	n := s.append(&log.Entry{Type: log.Revocation, Namespace: "acme", Digest: digest})
	full := (&wire.Revocations{V: 1, Documents: []wire.Revocation{{Digest: digest, URL: wire.RevocationPath(digest), Log: n}}}).Render()
	empty := (&wire.Revocations{V: 1}).Render()
	s.put(wire.RevocationPath(digest), []byte("ours"))
	for name, list := range map[string][]byte{"an empty list": empty, "no list": nil} {
		s.put(wire.RevocationsPath, list)
		for range 2 { // the second process reads no new entries
			if err := read(); diag.CodeOf(err) != diag.Rollback || !isOldList(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	s.put(wire.RevocationsPath, empty)
	s.fresh = map[string][]byte{wire.RevocationsPath: full}
	if err := read(); err != nil {
		t.Errorf("through a cache with the older list: %v", err)
	}
}

// VerifyTree compares the list of revocations and their texts with the log.
func TestVerifyTreeRevocations(t *testing.T) {
	t.Parallel()
	digest := item.DigestOf([]byte("ours")).String()
	good := wire.Revocation{Digest: digest, URL: wire.RevocationPath(digest), Log: 0}
	unlogged, moved := good, good
	unlogged.Log, moved.URL = 1, "/elsewhere"
	for name, c := range map[string]struct {
		text string
		list []wire.Revocation
		want string
	}{
		"complete":   {"ours", []wire.Revocation{good}, ""},
		"empty":      {"ours", []wire.Revocation{}, "it lacks " + digest + ", log entry 0"},
		"no list":    {"ours", nil, "it cannot be read"},
		"unlogged":   {"ours", []wire.Revocation{good, unlogged}, "log entry 1 does not record"},
		"moved":      {"ours", []wire.Revocation{moved}, "log entry 0 does not record"},
		"twice":      {"ours", []wire.Revocation{good, good}, "it lists log entry 0 twice"},
		"other text": {"theirs", []wire.Revocation{good}, "it is not the revocation of log entry 0: it has other bytes"},
	} {
		s := newSite(t)
		s.append(&log.Entry{Type: log.Revocation, Namespace: "acme", Digest: digest})
		s.put(good.URL, []byte(c.text))
		if c.list != nil {
			s.put(wire.RevocationsPath, (&wire.Revocations{V: 1, Documents: c.list}).Render())
		}
		r, err := VerifyTree(t.Context(), s.host().read, siteHost, s.key)
		if err != nil {
			t.Fatal(name, err)
		}
		if n := len(r.Findings); c.want == "" && n > 0 || c.want != "" && (n != 1 || !strings.Contains(r.Findings[0].Message, c.want)) {
			t.Errorf("%s: %v, want %q", name, r.Findings, c.want)
		}
	}
}
