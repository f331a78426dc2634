package trust_test

import (
	"context"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// runtime makes key n a runtime key of the account.
func (w *world) runtime(n byte, kind string) memSigner {
	w.t.Helper()
	k := key(n)
	scope := doc.Scope{Kinds: []string{"knowledge"}, Namespaces: []string{"graphs/**", "threads/**"}}
	_, b, err := doc.NewKey(context.Background(), doc.KeyParams{Owner: "leo (runs)", KeyKind: kind, Scope: scope, Now: w.now}, k)
	if err != nil {
		w.t.Fatal(err)
	}
	w.p.Runtime = func(fp sign.Fingerprint) *doc.Key {
		if fp != sign.FingerprintOf(k.Public()) {
			return nil
		}
		return doc.As[*doc.Key](doc.ParseAnyName(b))
	}
	return k
}

// item is an item of a kind that k signed.
func (w *world) item(k memSigner, kind, id string) trust.Input {
	w.t.Helper()
	sub := sign.Subject{Use: sign.UseItem, Kind: kind, ID: id}
	b, _, err := sign.Sign(context.Background(), []byte("text\n"), style, sub, k, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return trust.Input{Bytes: b, Subject: sub, Style: style, Path: id, Text: true}
}

// A runtime key signs records of runs. They are marked, and nothing else by it is
// trusted.
func TestRuntimeKey(t *testing.T) {
	w := newWorld(t)
	k := w.runtime(1, doc.KeyRuntime)
	s := w.clean()
	v := s.Verify(w.item(k, "knowledge", "graphs/team/report/report-1"))
	if !v.OK() || !v.Agent || !v.Runtime || v.Word() != trust.RuntimeWord {
		t.Errorf("a record: %+v", v)
	}
	for _, at := range [][2]string{{"knowledge", "team/notes"}, {"knowledge", "graphsx/a"}, {"tool", "graphs/a"}, {"directive", "threads/a"}} {
		wantCode(t, at[0]+":"+at[1], s.Verify(w.item(k, at[0], at[1])), diag.Scope)
	}
	embedded := w.item(k, "knowledge", "graphs/a/b")
	embedded.Embedded = true
	wantCode(t, "an embedded record", s.Verify(embedded), diag.KeyUnknown)
	other := w.item(k, "knowledge", "graphs/a/b")
	other.Use = "release"
	wantCode(t, "another use", s.Verify(other), diag.Scope)
	if _, known := s.Key(sign.FingerprintOf(k.Public())); known {
		t.Error("the runtime key is listed as a trusted key")
	}
	w.now = w.now.AddDate(20, 0, 0)
	if v := s.Verify(w.item(k, "knowledge", "graphs/a/b")); !v.OK() {
		t.Errorf("an old record cannot be read: %v", v.Reasons)
	}
	w.now = w.now.AddDate(-20, 0, 0)
	w.revoke(w.userDir, k, doc.ReasonCompromised, w.now)
	wantCode(t, "a revoked key", w.clean().Verify(w.item(k, "knowledge", "graphs/a/b")), diag.Revoked)
}

// Only a document of the kind runtime makes a runtime key.
func TestRuntimeKeyKind(t *testing.T) {
	for _, kind := range []string{doc.KeyPerson, doc.KeyAgent} {
		w := newWorld(t)
		k := w.runtime(1, kind)
		wantCode(t, kind, w.clean().Verify(w.item(k, "knowledge", "graphs/a/b")), diag.KeyUnknown)
	}
	w := newWorld(t)
	w.runtime(1, doc.KeyRuntime)
	wantCode(t, "another key", w.clean().Verify(w.item(key(2), "knowledge", "graphs/a/b")), diag.KeyUnknown)
	future := w.item(w.runtime(1, doc.KeyRuntime), "knowledge", "graphs/a/b")
	w.now = w.now.Add(-time.Hour)
	wantCode(t, "a signature of the future", w.clean().Verify(future), diag.NotYetValid)
}
