package deps

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// A revocation that a registry serves ends the user's own key for the rest of the process, too.
func TestRevokedKeyDoesNotSign(t *testing.T) {
	home := t.TempDir()
	dirs := userdirs.Dirs{Config: filepath.Join(home, "config"), Data: filepath.Join(home, "data"), State: filepath.Join(home, "state")}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	p := &project.Project{Env: &project.Env{Now: clock, Getenv: func(string) string { return "" }}, Dirs: dirs}
	p.TrustParams = trust.Params{UserDir: dirs.Trust(), StateDir: filepath.Join(dirs.State, "trust"), Now: clock}

	key := sign.NewFileSigner(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)), "test")
	scope := doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"**"}, May: []string{"sign"}}
	end := now.AddDate(1, 0, 0)
	name, document, err := doc.NewKey(t.Context(), doc.KeyParams{Owner: "leo", NotBefore: now, NotAfter: end, Scope: scope, Now: now}, key)
	if err != nil {
		t.Fatal(err)
	}
	grantName, grant, err := doc.NewGrant(t.Context(), doc.PermissionParams{Document: document, NotBefore: now, NotAfter: end, Scope: scope, Now: now}, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dirs.Trust(), 0o700); err != nil {
		t.Fatal(err)
	}
	for n, b := range map[string][]byte{name: document, grantName: grant} {
		if err := os.WriteFile(filepath.Join(dirs.Trust(), n), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Keys = keychain.New(p.Env.KeyParams(dirs))
	p.Trust, _ = trust.Load(p.TrustParams)
	p.Keys.Trust = p.Trust
	fp, err := p.Keys.OwnKey("leo")
	if err != nil {
		t.Fatal(err)
	}
	_, revocation, err := doc.NewRevocation(t.Context(), doc.RevocationParams{Key: fp, Reason: doc.ReasonCompromised, Now: now}, key)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := rememberRevocations(p, [][]byte{revocation}); s == nil || err != nil {
		t.Fatalf("the revocation is not new: %v", err)
	}
	if k, _ := p.Trust.Key(fp); k.State.Usable() {
		t.Fatal("the project still trusts the key")
	}
	if _, err := p.Keys.OwnKey("leo"); diag.CodeOf(err) != diag.AuthRequired {
		t.Errorf("the revoked key is chosen: %v", err)
	}
}
