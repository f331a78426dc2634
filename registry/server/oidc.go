package server

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/registry/wire"
)

// Limits of OIDC documents and tokens.
const (
	maxToken    = 16 << 10
	maxJWKS     = 256 << 10
	tokenLeeway = time.Minute
)

// proveOIDC returns an error unless an ID token of the configured issuer of a namespace
// names its owner.
func (s *Server) proveOIDC(ctx context.Context, ns, token string, now time.Time) error {
	alias, owner, _ := strings.Cut(ns, "~")
	i := slices.IndexFunc(s.config.OIDC, func(o wire.OIDC) bool { return o.Alias == alias })
	if i < 0 {
		return unproven("the registry has no issuer %q", alias)
	}
	issuer := s.config.OIDC[i]
	keys, err := s.issuerKeys(ctx, issuer.Issuer)
	if err != nil {
		return unproven("reading the keys of %s: %w", issuer.Issuer, err)
	}
	claims, err := verifyToken(token, keys)
	if err != nil {
		return unproven("verifying the ID token: %w", err)
	}
	return checkClaims(claims, issuer, owner, s.host, now)
}

// checkClaims returns an error unless the claims are those of the owner, for this registry,
// now.
func checkClaims(claims map[string]any, issuer wire.OIDC, owner, host string, now time.Time) error {
	seconds := func(name string) time.Time {
		n, _ := claims[name].(float64)
		return time.Unix(int64(n), 0)
	}
	text, _ := claims[issuer.OwnerClaim].(string)
	switch {
	case claims["iss"] != issuer.Issuer:
		return unproven("the ID token is of the issuer %v, not of %s", claims["iss"], issuer.Issuer)
	case !forAudience(claims["aud"], host):
		return unproven("the ID token is for the audience %v, not for %s", claims["aud"], host)
	case claims["exp"] == nil || !now.Before(seconds("exp").Add(tokenLeeway)):
		return unproven("the ID token expired on %s", wire.TimeText(seconds("exp")))
	case claims["nbf"] != nil && now.Before(seconds("nbf").Add(-tokenLeeway)):
		return unproven("the ID token is valid from %s on", wire.TimeText(seconds("nbf")))
	case text != owner:
		return unproven("the claim %s of the ID token is %q, not %q", issuer.OwnerClaim, text, owner)
	}
	return nil
}

// forAudience reports whether a token is for one audience, the host.
func forAudience(aud any, host string) bool {
	if list, ok := aud.([]any); ok && len(list) == 1 {
		aud = list[0]
	}
	return aud == host
}

// jwk is a key of an issuer.
type jwk struct {
	Kty string `json:"kty"`
	Kid string `json:"kid"`
	Alg string `json:"alg"`
	Use string `json:"use"`
	N   string `json:"n"`
	E   string `json:"e"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
}

// issuerKeys reads the keys of an issuer, as OpenID Connect Discovery describes it.
func (s *Server) issuerKeys(ctx context.Context, issuer string) ([]jwk, error) {
	fetch := s.p.Fetch
	if fetch == nil {
		fetch = fetchPublic
	}
	b, err := fetch(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", maxJWKS)
	if err != nil {
		return nil, err
	}
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(b, &about); err != nil {
		return nil, err
	}
	if about.Issuer != issuer || !strings.HasPrefix(about.Keys, "http") {
		return nil, fmt.Errorf("its description is that of %q", about.Issuer)
	}
	if b, err = fetch(ctx, about.Keys, maxJWKS); err != nil {
		return nil, err
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	return set.Keys, json.Unmarshal(b, &set)
}

// verifyToken returns the claims of a token whose signature, by RS256 or ES256, one of the
// keys verifies. No other algorithm is accepted, so none and the symmetric ones are not.
func verifyToken(token string, keys []jwk) (map[string]any, error) {
	f := strings.Split(token, ".")
	if len(f) != 3 || len(token) > maxToken {
		return nil, fmt.Errorf("it is not a signed token")
	}
	var head struct {
		Alg  string   `json:"alg"`
		Kid  string   `json:"kid"`
		Crit []string `json:"crit"`
	}
	claims := map[string]any{}
	if err := decodePart(f[0], &head); err != nil {
		return nil, err
	}
	if err := decodePart(f[1], &claims); err != nil {
		return nil, err
	}
	sig, err := base64.RawURLEncoding.DecodeString(f[2])
	if err != nil || len(head.Crit) > 0 {
		return nil, fmt.Errorf("its signature cannot be read")
	}
	sum := sha256.Sum256([]byte(f[0] + "." + f[1]))
	for _, k := range keys {
		if k.Kid != head.Kid || k.Alg != "" && k.Alg != head.Alg || k.Use != "" && k.Use != "sig" {
			continue
		}
		if k.verifies(head.Alg, sum[:], sig) {
			return claims, nil
		}
	}
	return nil, fmt.Errorf("no key of the issuer verifies its signature")
}

func decodePart(s string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	return err
}

func (k jwk) verifies(alg string, sum, sig []byte) bool {
	number := func(s string) *big.Int {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			return new(big.Int)
		}
		return new(big.Int).SetBytes(b)
	}
	switch {
	case alg == "RS256" && k.Kty == "RSA":
		n, e := number(k.N), number(k.E)
		if n.BitLen() < 2048 || n.BitLen() > 8192 || !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 {
			return false
		}
		return rsa.VerifyPKCS1v15(&rsa.PublicKey{N: n, E: int(e.Int64())}, crypto.SHA256, sum, sig) == nil
	case alg == "ES256" && k.Kty == "EC" && k.Crv == "P-256" && len(sig) == 64:
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
			return false
		}
		p, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		return err == nil && ecdsa.Verify(p, sum, new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
	}
	return false
}
