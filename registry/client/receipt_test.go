package client

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

// A receipt proves the change that was sent: neither another entry of the log, nor the same
// change of another statement.
func TestReceiptOfAnotherChange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	signer := sign.NewFileSigner(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "memory")
	for _, c := range []struct {
		name   string
		action string
		change func(*log.Entry)
		want   diag.Code
	}{
		{"the change", wire.ActionYank, func(*log.Entry) {}, ""},
		{"the change, undone", wire.ActionUnyank, func(*log.Entry) {}, ""},
		{"another statement", wire.ActionYank, func(e *log.Entry) { e.Statement = item.DigestOf([]byte("x")).String() }, diag.LogProof},
		{"no statement", wire.ActionYank, func(e *log.Entry) { e.Statement = "" }, diag.LogProof},
		{"another version", wire.ActionYank, func(e *log.Entry) { e.Version = "v1.0.1" }, diag.LogProof},
		{"another bundle", wire.ActionYank, func(e *log.Entry) { e.ID = "acme/other" }, diag.LogProof},
		{"another state", wire.ActionYank, func(e *log.Entry) { e.State = wire.StateUnlisted }, diag.LogProof},
		{"another publisher", wire.ActionYank, func(e *log.Entry) { e.Publisher = testKey }, diag.LogProof},
		{"another reason", wire.ActionYank, func(e *log.Entry) { e.Reason = "x" }, diag.LogProof},
		{"another type", wire.ActionDelete, func(e *log.Entry) {
			*e = log.Entry{Type: log.Key, Namespace: "acme", Action: "remove", Key: testKey, Time: now, Statement: e.Statement}
		}, diag.LogProof},
	} {
		m, w, keys := newLog(t)
		_, key, _ := strings.Cut(keys, "\n")
		if _, err := w.Append(t.Context(), removal(t, 1)); err != nil {
			t.Fatal(err)
		}
		st := &wire.Statement{Registry: "rye.example", Action: c.action, ID: "acme/tools", Version: "v1.0.0"}
		header, err := st.Sign(t.Context(), signer, now)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := wire.ParseHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		e := &log.Entry{Type: log.State, ID: st.ID, Version: st.Version, State: st.Entry().State, Publisher: wire.KeyText(st.Key), Time: now, Statement: signed.Digest}
		c.change(e)
		text, err := e.Render()
		if err != nil {
			t.Fatal(err)
		}
		index, err := w.Append(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				m.ServeHTTP(rw, r)
				return
			}
			cp, _ := m.Read(r.Context(), log.CheckpointName, 0)
			proof, err := log.NewReader(m.Read, w.Tree()).Prove(r.Context(), index)
			if err != nil {
				t.Error(err)
			}
			_, _ = rw.Write((&wire.Receipt{V: 1, Index: index, Entry: string(text), Checkpoint: string(cp), Proof: proof.String()}).Render())
		}))
		h, err := clientOf(t.TempDir(), key, srv.URL).Host(t.Context(), "rye.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Send(t.Context(), st, header, nil); diag.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		srv.Close()
	}
}
