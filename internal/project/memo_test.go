package project

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
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
		first, second := memo.New(dir), memo.New(dir)
		defer first.Close()
		defer second.Close()
		_, err := sign.VerifyBoth(file, nil, style, sub, keys, proofs{first})
		_, byFile := sign.VerifyBoth(file, nil, style, sub, keys, sign.ByFile{Proofs: proofs{second}, Digest: sha256.Sum256(file)})
		if diag.CodeOf(err) != diag.CodeOf(byFile) {
			t.Fatalf("%v, and by the file %v", err, byFile)
		}
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

// TestFileIsAFactOfItsOwn verifies a signed file by its digest, and then what differs from
// it in one thing: each is asked as another fact, and none of them is valid.
func TestFileIsAFactOfItsOwn(t *testing.T) {
	file, keys, sub, style := signedText(t, 1)
	asked := map[sign.Signature]bool{}
	verify := func(file []byte, style sign.Style, sub sign.Subject) error {
		proofs := sign.ByFile{Proofs: recording(asked), Digest: sha256.Sum256(file)}
		_, err := sign.VerifyBoth(file, nil, style, sub, keys, proofs)
		return err
	}
	if err := verify(file, style, sub); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(file []byte, style *sign.Style, sub *sign.Subject) []byte{
		"id":   func(b []byte, _ *sign.Style, sub *sign.Subject) []byte { sub.ID = "demo/u"; return b },
		"kind": func(b []byte, _ *sign.Style, sub *sign.Subject) []byte { sub.Kind = "directive"; return b },
		"use":  func(b []byte, _ *sign.Style, sub *sign.Subject) []byte { sub.Use = sign.UseManifest; return b },
		"both": func(b []byte, _ *sign.Style, sub *sign.Subject) []byte { sub.Kind, sub.ID = "too", "ldemo/t"; return b },
		"body": func(b []byte, _ *sign.Style, _ *sign.Subject) []byte {
			return bytes.Replace(b, []byte("hello"), []byte("hellp"), 1)
		},
		"signature": func(b []byte, _ *sign.Style, _ *sign.Subject) []byte {
			b = bytes.Clone(b)
			at := bytes.Index(b, []byte("rye:signed:")) + len("rye:signed:") + 21 + 65 + 20
			b[at] ^= 1 // 'A' and '@' differ: some results are no signature line at all
			return b
		},
	} {
		style, sub := style, sub
		changed := change(file, &style, &sub)
		before := len(asked)
		if err := verify(changed, style, sub); err == nil {
			t.Errorf("%s: it is valid", name)
		} else if diag.CodeOf(err) != diag.SigMalformed && len(asked) != before+1 {
			t.Errorf("%s: the same fact was asked", name)
		}
	}
	for s := range asked {
		if !s.File || proofKind(s) != memo.File {
			t.Errorf("%+v is not a fact about a file", s)
		}
	}
}

// recording are Proofs that know what was valid before.
type recording map[sign.Signature]bool

func (r recording) Known(s sign.Signature) bool {
	known := r[s]
	r[s] = known
	return known
}

func (r recording) Valid(s sign.Signature) { r[s] = true }

func (recording) KnownKey([ed25519.PublicKeySize]byte) bool { return false }

func (recording) ValidKey([ed25519.PublicKeySize]byte) {}
