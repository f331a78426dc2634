package project

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/sign"
)

// signedText returns a signed text and the keys that know its signer.
func signedText(t testing.TB, seed byte) ([]byte, sign.Keys, sign.Subject, sign.Style) {
	t.Helper()
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	style, _ := sign.StyleByName("#")
	sub := sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "demo/t"}
	b, _, err := sign.Sign(context.Background(), []byte("# version: 1.0.0\necho hello\n"), style, sub, sign.NewFileSigner(priv, "test"), time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return b, sign.OnlyKey(priv.Public().(ed25519.PublicKey)), sub, style
}

// TestRandomTables judges signatures with wrong bits by tables of random bytes, of zeros,
// and of entries of other facts: none of them makes a wrong signature valid.
func TestRandomTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "memo")
	good, keys, sub, style := signedText(t, 1)
	verify := func(file []byte) error {
		_, err := sign.VerifyBoth(file, nil, style, sub, keys, proofs{memo.New(dir)})
		return err
	}
	if err := verify(good); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "facts"))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	at := bytes.Index(good, []byte("rye:signed:")) + len("rye:signed:") + 21 + 65 // the signature
	for range 20 {
		other := bytes.Clone(table)
		switch random.Uint64() % 3 {
		case 0:
			random.Read(other)
		case 1:
			clear(other)
		default:
			random.Read(other[:random.Uint64()%uint64(len(other))])
		}
		if err := os.WriteFile(filepath.Join(dir, "facts"), other, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			bad := bytes.Clone(good)
			for bytes.Equal(bad, good) {
				bad[at+int(random.Uint64()%85)] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[random.Uint64()%64]
			}
			if err := verify(bad); diag.CodeOf(err) != diag.SigInvalid {
				t.Fatalf("a changed signature: %v\n%s", err, bad)
			}
		}
		if err := verify(good); err != nil {
			t.Fatalf("the good signature: %v", err)
		}
	}
}

// TestFactNamesItsKey changes each part of what a signature depends on: each is another
// fact.
func TestFactNamesItsKey(t *testing.T) {
	one := sign.Signature{Key: sign.Fingerprint{1}, Digest: [32]byte{2}}
	for i := range one.Key {
		k, d := one, one
		k.Key[i] ^= 1
		d.Digest[i] ^= 1
		if fact(k) == fact(one) || fact(d) == fact(one) || fact(k) == fact(d) {
			t.Fatalf("the fact does not depend on byte %d", i)
		}
	}
}
