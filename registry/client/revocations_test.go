package client

import (
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
