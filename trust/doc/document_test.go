package doc_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

type memSigner struct{ ed25519.PrivateKey }

func (m memSigner) Public() ed25519.PublicKey { return m.PrivateKey.Public().(ed25519.PublicKey) }
func (m memSigner) String() string            { return "a key in memory" }
func (m memSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(m.PrivateKey, msg), nil
}

// Earlier versions wrote identities: documents with them stay valid.
func TestIdentitiesAreIgnored(t *testing.T) {
	key := memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	text := "schema = \"rye.trust/v1\"\nkind = \"key\"\nalgorithm = \"ed25519\"\npublic-key = \"" + base64.StdEncoding.EncodeToString(key.Public()) +
		"\"\nowner = \"ada\"\nidentities = [\"mailto:ada@example.com\"]\n\n[validity]\nnot-before = 2026-11-01T00:00:00Z\nnot-after = 2027-11-01T00:00:00Z\n\n" +
		"[scope]\nkinds = [\"*\"]\nnamespaces = [\"**\"]\nmay = [\"sign\"]\n"
	name := doc.FileName(doc.KindKey, sign.FingerprintOf(key.Public()))
	b, _, err := sign.Sign(t.Context(), []byte(text), sign.Hash(), sign.Subject{Use: sign.UseTrust, Kind: doc.KindKey, ID: name[:len(name)-len(".toml")]}, key, now)
	if err != nil {
		t.Fatal(err)
	}
	d, fs := doc.Parse(name, b)
	if k := doc.As[*doc.Key](d, fs); k == nil || k.Owner != "ada" || diag.Failed(fs) {
		t.Errorf("%+v, %v", d, fs)
	}
}
