package client

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// With keys, a monitor reports every change that none of them demanded.
func TestForeign(t *testing.T) {
	t.Parallel()
	const other = siteKey
	list := []Seen{}
	for i, e := range []log.Entry{
		{Type: log.Binding, Key: testKey}, {Type: log.Release, Publisher: testKey, Statement: "s"}, {Type: log.Key, Key: other, Publisher: testKey, Statement: "s"},
		{Type: log.Binding, Key: other, Statement: "s"}, {Type: log.Release, Publisher: other, Statement: "s"}, {Type: log.State, Publisher: other, Statement: "s"},
		{Type: log.State}, {Type: log.Key, Key: testKey}, {Type: log.Revocation}, {Type: log.Revocation, Publisher: other, Statement: "s"}, {Type: log.Publisher},
	} {
		list = append(list, Seen{Index: int64(i), Entry: &e})
	}
	got := Foreign(list, []string{testKey})
	if len(got) != 8 || got[0].Index != 3 {
		t.Errorf("%d entries from number %d on are foreign", len(got), got[0].Index)
	}
}

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
		e.Statement, e.Time = signed.Digest, now
		s.append(e)
		s.put(wire.StatementPath(signed.Digest), signed.Raw())
		return signed
	}
	good, missing, swapped := yank("v1.0.0"), yank("v1.0.1"), yank("v1.0.2")
	s.append(&log.Entry{Type: log.State, ID: "acme/tools", Version: "v1.0.3", State: wire.StateYanked}) // by the operator
	again := good.Entry()
	again.Statement = good.Digest
	s.append(again)
	s.put(wire.StatementPath(missing.Digest), nil)
	s.put(wire.StatementPath(swapped.Digest), good.Raw())
	all, err := s.host().Monitor(t.Context(), "acme")
	if err != nil || len(all) != 5 {
		t.Fatal(all, err)
	}
	bad := Unproven(all)
	if len(bad) != 3 || bad[0].Index != 1 || bad[1].Index != 2 || bad[2].Index != 4 || !strings.Contains(bad[2].Unproven, "the statement of an entry before") {
		t.Errorf("unproven: %+v", bad)
	}
	if x := Foreign(all, []string{key}); len(x) != 1 || x[0].Index != 3 {
		t.Errorf("foreign: %+v", x)
	}
	if later, err := s.host().Monitor(t.Context(), "acme"); err != nil || len(later) != 0 {
		t.Errorf("a second call: %v, %v", later, err)
	}
}
