package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdIssuer serves an OpenID Connect issuer with the device flow until the script ends, and
// writes the config.json of a registry that accepts its tokens under the alias github. The
// file FILE has what it answers: the owner of the token, or an error of RFC 8628; the first
// answer for each code is authorization_pending.
func cmdIssuer(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "issuer CONFIG.JSON FILE")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	i := &scriptIssuer{key: key, file: ts.MkAbs(args[1]), asked: map[string]bool{}}
	srv := httptest.NewServer(i)
	ts.Defer(srv.Close)
	i.url = srv.URL
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(`{"oidc": [{"alias": "github", "issuer": "`+srv.URL+`", "owner_claim": "repository_owner"}]}`), 0o644))
}

type scriptIssuer struct {
	key       *rsa.PrivateKey
	url, file string

	mu    sync.Mutex
	codes int
	asked map[string]bool // codes that were answered authorization_pending
}

// ServeHTTP implements http.Handler.
func (i *scriptIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	say := func(v map[string]any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		say(map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys", "device_authorization_endpoint": i.url + "/device", "token_endpoint": i.url + "/token"})
	case "/keys":
		say(map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig",
			"n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.key.E)).Bytes())}}})
	case "/device":
		i.codes++
		say(map[string]any{"device_code": fmt.Sprint("code-", i.codes), "user_code": fmt.Sprintf("RYE-%04d", i.codes), "verification_uri": i.url + "/enter", "expires_in": 60, "interval": 1})
	case "/token":
		code := r.FormValue("device_code")
		b, _ := os.ReadFile(i.file)
		answer := strings.TrimSpace(string(b))
		if !i.asked[code] {
			i.asked[code], answer = true, "authorization_pending"
		}
		if strings.Contains(answer, "_") {
			w.WriteHeader(http.StatusBadRequest)
			say(map[string]any{"error": answer})
			return
		}
		say(map[string]any{"id_token": i.token(r.FormValue("client_id"), answer, code)})
	}
}

func (i *scriptIssuer) token(audience, owner, id string) string {
	claims, _ := json.Marshal(map[string]any{"iss": i.url, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "jti": id, "repository_owner": owner})
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	sig, _ := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:]) // it fails for short keys only
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}
