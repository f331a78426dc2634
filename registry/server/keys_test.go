package server

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// bind asks for a namespace with a test key.
func (f *fixture) bind(ns, method, token string, n byte) error {
	f.t.Helper()
	body := wire.RenderBody(wire.Binding{V: 1, Method: method, Document: string(f.document(n, nil)), Token: token})
	_, err := f.send(statement(wire.ActionBind, ns, "", body, ""), body, n)
	return err
}

// TestBindDNS binds by a TXT record and by a well-known file.
func TestBindDNS(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.bind("acme.io", wire.MethodDNS, "", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Fatal(err)
	}
	f.txt["_rye.acme.io"] = []string{"v=spf1 -all", wire.TXTRecord(sign.FingerprintOf(testkit.Key(2).Public()))}
	if err := f.bind("acme.io", wire.MethodDNS, "", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Fatalf("the record of another key: %v", err)
	}
	f.txt["_rye.acme.io"] = []string{wire.TXTRecord(sign.FingerprintOf(testkit.Key(1).Public()))}
	if err := f.bind("acme.io", wire.MethodDNS, "", 1); err != nil {
		t.Fatal(err)
	}
	f.mustPublish("acme.io/tools", "v1.0.0")
	// The record is removed: the binding lasts until it lapses, and cannot be renewed.
	f.txt = map[string][]string{}
	f.now = f.now.AddDate(0, 11, 0)
	f.mustPublish("acme.io/tools", "v1.1.0")
	if err := f.bind("acme.io", wire.MethodDNS, "", 1); err == nil {
		t.Error("a binding was renewed without its record")
	}
	f.now = f.now.AddDate(0, 1, 1)
	if _, err := f.publish("acme.io/tools", "v1.2.0", "x", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a key published after its binding had ended: %v", err)
	}
	if status, _, _ := f.get("/index/acme.io/tools.jsonl"); status != 200 {
		t.Error("what was published is gone")
	}
}

func TestBindWellKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url := "https://acme.io" + wire.WellKnownPath
	for _, text := range []string{"", `{"v":2,"keys":["` + keyText(1) + `"]}`, `{"v":1,"keys":["` + keyText(2) + `"]}`, `{"v":1,"keys":["` + strings.ToUpper(keyText(1)) + `"]}`, "<html>"} {
		f.web[url] = text
		if err := f.bind("acme.io", wire.MethodWellKnown, "", 1); diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("%q: %v", text, err)
		}
	}
	f.web[url] = `{"v":1,"keys":["` + keyText(2) + `","` + keyText(1) + `"]}`
	if err := f.bind("acme.io", wire.MethodWellKnown, "", 1); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"acme", "github~acme", "sub.acme.io"} {
		if err := f.bind(ns, wire.MethodWellKnown, "", 1); diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("%s: %v", ns, err)
		}
	}
	f.mustPublish("acme.io/tools", "v1.0.0")
	f.check()
}

// TestTransfer shows that a party that takes over a domain waits, and that the wait is in
// the log.
func TestTransfer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.txt["_rye.acme.io"] = []string{wire.TXTRecord(sign.FingerprintOf(testkit.Key(1).Public())), wire.TXTRecord(sign.FingerprintOf(testkit.Key(2).Public()))}
	for n := byte(1); n <= 2; n++ {
		if err := f.bind("acme.io", wire.MethodDNS, "", n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.publish("acme.io/tools", "v1.0.0", "x", 2); diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), "from 2026-12-08") {
		t.Errorf("inside the delay: %v", err)
	}
	f.mustPublish("acme.io/tools", "v1.0.0") // the earlier key may
	f.reopen()
	if _, err := f.publish("acme.io/tools", "v1.1.0", "x", 2); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("inside the delay, after a restart: %v", err)
	}
	f.now = f.now.Add(7*24*time.Hour + time.Second)
	if _, err := f.publish("acme.io/tools", "v1.1.0", "x", 2); err != nil {
		t.Error(err)
	}
}

func (f *fixture) changeKey(action, ns string, n, by byte) error {
	c := wire.KeyChange{V: 1, Key: keyText(n)}
	if action == wire.ActionKeyAdd {
		c.Document = string(f.document(n, nil))
	}
	body := wire.RenderBody(c)
	_, err := f.send(statement(action, ns, "", body, ""), body, by)
	return err
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 2, 2); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a key added itself: %v", err)
	}
	if err := f.changeKey(wire.ActionKeyRemove, "acme", 1, 1); err == nil {
		t.Error("the last key was removed")
	}
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 2, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publish("acme/tools", "v1.0.0", "x", 2); err != nil {
		t.Fatal(err)
	}
	if err := f.changeKey(wire.ActionKeyRemove, "acme", 1, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publish("acme/tools", "v1.1.0", "x", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a removed key published: %v", err)
	}
	if _, err := f.send(statement(wire.ActionYank, "acme/tools", "v1.0.0", nil, ""), nil, 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a removed key yanked: %v", err)
	}
	_, b, _ := f.get("/ns/acme.json")
	n, err := wire.ParseNamespace(b, "acme")
	if err != nil || len(n.Keys) != 2 || n.Keys[0].Removed == nil || n.Keys[1].Method != wire.MethodKey {
		t.Fatalf("%s %v", b, err)
	}
	for i := byte(3); i < 3+maxKeys-1; i++ {
		if err := f.changeKey(wire.ActionKeyAdd, "acme", i, 2); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 100, 2); diag.CodeOf(err) != diag.LimitExceeded {
		t.Errorf("key %d: %v", maxKeys+1, err)
	}
	f.check()
}

// TestKeysRenewNothing shows that keys which add each other do not outlive the proof of
// their namespace, also after the log is read again.
func TestKeysRenewNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	end := f.now.AddDate(rules.BindingYears, 0, 0)
	f.now = f.now.AddDate(0, 11, 0)
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 1, 1); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a key renewed itself: %v", err)
	}
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 2, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.changeKey(wire.ActionKeyAdd, "acme", 1, 2); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a key renewed another one: %v", err)
	}
	for _, x := range []struct{ n, by byte }{{1, 2}, {2, 1}} { // also in turn
		if err := f.changeKey(wire.ActionKeyRemove, "acme", x.n, x.by); err != nil {
			t.Fatal(err)
		}
		if err := f.changeKey(wire.ActionKeyAdd, "acme", x.n, x.by); err != nil {
			t.Fatal(err)
		}
	}
	ends := func() {
		t.Helper()
		_, b, _ := f.get("/ns/acme.json")
		n, err := wire.ParseNamespace(b, "acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range n.Keys {
			if k.Until != wire.TimeText(end) {
				t.Errorf("%s until %s", k.Key, k.Until)
			}
		}
	}
	ends()
	f.reopen()
	ends()
	f.now = end
	for n := byte(1); n <= 2; n++ {
		if _, err := f.publish("acme/tools", "v1.0.0", "x", n); diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("key %d published after the binding had ended: %v", n, err)
		}
	}
}

// TestKeyDocuments refuses keys that may not publish.
func TestKeyDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, change := range map[string]func(*doc.KeyParams){
		"agent":   func(p *doc.KeyParams) { p.KeyKind = doc.KeyAgent },
		"no use":  func(p *doc.KeyParams) { p.Scope.May = []string{"sign"} },
		"expired": func(p *doc.KeyParams) { p.NotBefore, p.NotAfter = f.now.AddDate(-1, 0, 0), f.now.AddDate(0, 0, -1) },
		"future":  func(p *doc.KeyParams) { p.NotBefore = f.now.AddDate(0, 0, 1) },
	} {
		p := doc.KeyParams{Owner: "x", NotBefore: f.now.AddDate(0, -1, 0), NotAfter: f.now.AddDate(1, 0, 0), Scope: testkit.Everything(), Now: f.now}
		change(&p)
		_, b, err := doc.NewKey(context.Background(), p, testkit.Key(1))
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := f.s.grant(context.Background(), "acme", b); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	good := f.document(1, nil)
	if _, err := f.s.grant(context.Background(), "acme", append(good[:len(good):len(good)], "x = 1\n"...)); err == nil {
		t.Error("a changed document was accepted")
	}
	if f.s.Size() != 0 {
		t.Error("entries were written")
	}
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.grant("other", 2)
	_, own, err := doc.NewRevocation(context.Background(), doc.RevocationParams{Reason: doc.ReasonCompromised, Now: f.now}, testkit.Key(1))
	if err != nil {
		t.Fatal(err)
	}
	send := func(ns string, text []byte, by byte) error {
		body := wire.RenderBody(wire.RevocationRequest{V: 1, Document: string(text)})
		_, err := f.send(statement(wire.ActionRevoke, ns, "", body, ""), body, by)
		return err
	}
	if err := send("other", own, 2); err == nil {
		t.Error("a revocation of a key of another namespace was accepted")
	}
	if err := send("acme", f.document(1, nil), 1); err == nil {
		t.Error("a key document was accepted as a revocation")
	}
	later := wire.RenderBody(wire.RevocationRequest{V: 2, Document: string(own)})
	if _, err := f.send(statement(wire.ActionRevoke, "acme", "", later, ""), later, 1); diag.CodeOf(err) != diag.ValidationFailed || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("a body of another version: %v", err)
	}
	if err := send("acme", own, 1); err != nil {
		t.Fatal(err)
	}
	if err := send("acme", own, 1); err == nil {
		t.Error("the same revocation was accepted twice")
	}
	_, b, _ := f.get(wire.RevocationsPath)
	r, err := wire.ParseRevocations(b)
	if err != nil || len(r.Documents) != 1 {
		t.Fatalf("%s %v", b, err)
	}
	if status, text, _ := f.get(r.Documents[0].URL); status != 200 || string(text) != string(own) {
		t.Errorf("the text of the revocation: %d %s", status, text)
	}
	if _, err := f.publish("acme/tools", "v1.0.0", "x", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a revoked key published: %v", err)
	}
	f.reopen()
	if _, err := f.publish("acme/tools", "v1.0.0", "x", 1); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a revoked key published after a restart: %v", err)
	}
}

// issuer signs ID tokens.
type issuer struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{r, e}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (i *issuer) keys() string {
	p, _ := i.ec.PublicKey.Bytes()
	return fmt.Sprintf(`{"keys":[{"kty":"RSA","kid":"r","alg":"RS256","use":"sig","n":%q,"e":%q},{"kty":"EC","kid":"e","crv":"P-256","x":%q,"y":%q}]}`,
		b64(i.rsa.N.Bytes()), b64(big.NewInt(int64(i.rsa.E)).Bytes()), b64(p[1:33]), b64(p[33:]))
}

func (i *issuer) token(t *testing.T, alg, kid string, claims map[string]any) string {
	c, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := b64([]byte(fmt.Sprintf(`{"alg":%q,"kid":%q}`, alg, kid))) + "." + b64(c)
	sum := sha256.Sum256([]byte(text))
	var sig []byte
	switch {
	case alg == "none":
		return text + "."
	case alg == "HS256": // the public key is the secret
		public, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		mac.Write([]byte(text))
		sig = mac.Sum(nil)
	case alg == "ES256":
		r, s, err := ecdsa.Sign(rand.Reader, i.ec, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		sig = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	default:
		if sig, err = rsa.SignPKCS1v15(rand.Reader, i.rsa, crypto.SHA256, sum[:]); err != nil {
			t.Fatal(err)
		}
	}
	return text + "." + b64(sig)
}

// TestOIDC are the attacks on tokens that registry.md names.
func TestOIDC(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(configFile, `{"oidc": [{"alias": "github", "issuer": "https://token.example", "owner_claim": "repository_owner"}], "limits": {"namespaces_per_day": 1000}}`)
	f.reopen()
	i := newIssuer(t)
	f.web["https://token.example/.well-known/openid-configuration"] = `{"issuer":"https://token.example","jwks_uri":"https://token.example/keys"}`
	f.web["https://token.example/keys"] = i.keys()
	claims := func(change map[string]any) map[string]any {
		c := map[string]any{"iss": "https://token.example", "aud": testHost, "exp": f.now.Add(time.Hour).Unix(), "repository_owner": "acme"}
		for k, v := range change {
			c[k] = v
		}
		return c
	}
	for name, token := range map[string]string{
		"audience":         i.token(t, "RS256", "r", claims(map[string]any{"aud": "rye.other"})),
		"two audiences":    i.token(t, "RS256", "r", claims(map[string]any{"aud": []string{testHost, "rye.other"}})),
		"issuer":           i.token(t, "RS256", "r", claims(map[string]any{"iss": "https://evil.example"})),
		"expired":          i.token(t, "RS256", "r", claims(map[string]any{"exp": f.now.Add(-2 * time.Minute).Unix()})),
		"no end":           i.token(t, "RS256", "r", claims(map[string]any{"exp": nil})),
		"not yet":          i.token(t, "RS256", "r", claims(map[string]any{"nbf": f.now.Add(time.Hour).Unix()})),
		"owner":            i.token(t, "RS256", "r", claims(map[string]any{"repository_owner": "eve"})),
		"owner in capital": i.token(t, "RS256", "r", claims(map[string]any{"repository_owner": "Acme"})),
		"key of another":   newIssuer(t).token(t, "RS256", "r", claims(nil)),
		"other algorithm":  i.token(t, "RS256", "e", claims(nil)),
		"none":             i.token(t, "none", "r", claims(nil)),
		"HMAC":             i.token(t, "HS256", "r", claims(nil)),
		"garbage":          "a.b.c",
		"empty":            "",
	} {
		if err := f.bind("github~acme", wire.MethodOIDC, token, 1); diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n, alg := range map[string]string{"r": "RS256", "e": "ES256"} {
		token := i.token(t, alg, n, claims(map[string]any{"jti": alg}))
		if err := f.bind("github~acme", wire.MethodOIDC, token, 1); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
		again := i.token(t, alg, n, claims(map[string]any{"jti": alg})) // ES256 has another signature each time
		for by := byte(1); by <= 2; by++ {
			if err := f.bind("github~acme", wire.MethodOIDC, again, by); diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), "used before") {
				t.Errorf("%s: a token was used twice: %v", alg, err)
			}
		}
	}
	for _, uri := range []string{"http://token.example/keys", "http://127.0.0.1:1/keys", "httpsx://token.example/keys"} {
		f.web[uri] = i.keys()
		f.web["https://token.example/.well-known/openid-configuration"] = `{"issuer":"https://token.example","jwks_uri":"` + uri + `"}`
		if err := f.bind("github~acme", wire.MethodOIDC, i.token(t, "RS256", "r", claims(map[string]any{"jti": uri})), 1); diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), "jwks_uri") {
			t.Errorf("keys from %s: %v", uri, err)
		}
	}
	f.web["https://token.example/.well-known/openid-configuration"] = `{"issuer":"https://token.example","jwks_uri":"https://token.example/keys"}`
	if err := f.bind("gitlab~acme", wire.MethodOIDC, i.token(t, "RS256", "r", claims(nil)), 1); err == nil {
		t.Error("an issuer that is not configured was accepted")
	}
	if err := f.bind("acme.io", wire.MethodOIDC, i.token(t, "RS256", "r", claims(nil)), 1); err == nil {
		t.Error("a token proved a domain")
	}
	f.mustPublish("github~acme/tools", "v1.0.0")
}
