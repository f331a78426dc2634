package client

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// A monitor sees which changes a key of the namespace signed, and which ones only claim it.
func TestMonitorStatements(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	signer := sign.NewFileSigner(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "memory")
	_, document, err := doc.NewKey(t.Context(), doc.KeyParams{Owner: "leo", Now: now, Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}}, signer)
	if err != nil {
		t.Fatal(err)
	}
	key := wire.KeyText(sign.FingerprintOf(signer.Public()))
	s.put(wire.NamespacePath("acme"), (&wire.Namespace{V: 1, Namespace: "acme", Keys: []wire.BoundKey{{Key: key, Document: string(document)}}}).Render())
	yank := func(version string) *wire.Signed {
		st := &wire.Statement{Registry: siteHost, Action: wire.ActionYank, ID: "acme/tools", Version: version}
		header, err := st.Sign(t.Context(), signer, now)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := wire.ParseHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		e := signed.Entry()
		e.Statement = signed.Digest
		s.append(e)
		s.put(wire.StatementPath(signed.Digest), signed.Raw())
		return signed
	}
	good, missing, swapped := yank("v1.0.0"), yank("v1.0.1"), yank("v1.0.2")
	s.append(&log.Entry{Type: log.State, ID: "acme/tools", Version: "v1.0.3", State: wire.StateYanked}) // by the operator
	s.put(wire.StatementPath(missing.Digest), nil)
	s.put(wire.StatementPath(swapped.Digest), good.Raw())
	all, err := s.host().Monitor(t.Context(), "acme")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	bad := Unproven(all)
	if len(bad) != 2 || bad[0].Index != 1 || bad[1].Index != 2 {
		t.Errorf("unproven: %+v", bad)
	}
	if again, err := s.host().Monitor(t.Context(), "acme"); err != nil || len(again) != 0 {
		t.Errorf("a second call: %v, %v", again, err)
	}
}
