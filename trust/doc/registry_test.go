package doc

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

func logKeyOf(seed byte) (sign.Signer, string) {
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	raw := append([]byte{1}, priv.Public().(ed25519.PublicKey)...)
	return sign.NewFileSigner(priv, "memory"), fmt.Sprintf("rye.example+%08x+%s", seed, base64.StdEncoding.EncodeToString(raw))
}

// A pin is read back as it was written. A rotation is valid only if the key that it
// replaces signed it.
func TestRegistry(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	old, oldKey := logKeyOf(1)
	next, nextKey := logKeyOf(2)
	p := RegistryParams{Host: "localhost:7480", LogKey: oldKey, Addresses: []string{"http://localhost:7480"}, Witnesses: []string{nextKey}, Quorum: 1}
	name, b, err := NewRegistry(t.Context(), p, next, now)
	if err != nil || name != "registry-localhost+7480.toml" {
		t.Fatal(name, err)
	}
	d := As[*Registry](Parse(name, b))
	if d == nil || fmt.Sprint(d.RegistryParams) != fmt.Sprint(p) {
		t.Fatalf("%+v", d)
	}
	rotation := RegistryParams{Host: "rye.example", LogKey: nextKey, Replaces: oldKey}
	if _, _, err := NewRegistry(t.Context(), rotation, old, now); err != nil {
		t.Error(err)
	}
	if _, _, err := NewRegistry(t.Context(), rotation, next, now); diag.CodeOf(err) != diag.SigInvalid {
		t.Errorf("a rotation that the new key signed: %v", err)
	}
	for _, bad := range []RegistryParams{
		{Host: "RYE.example", LogKey: oldKey},
		{Host: "rye.example", LogKey: "rye.example+1+x"},
		{Host: "rye.example", LogKey: oldKey, Replaces: oldKey},
		{Host: "rye.example", LogKey: oldKey, Addresses: []string{"ftp://rye.example"}},
		{Host: "rye.example", LogKey: oldKey, Addresses: []string{"https://ada:x@rye.example"}},
		{Host: "rye.example", LogKey: oldKey, Witnesses: []string{nextKey}, Quorum: 2},
	} {
		if _, _, err := NewRegistry(t.Context(), bad, old, now); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}
