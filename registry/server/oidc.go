package server

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/ryeos/rye/item"
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
	i := slices.IndexFunc(s.config.OIDC, func(o wire.OIDC) bool {
		return o.Alias == alias
	})
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
	err = checkClaims(claims, issuer, owner, s.host, now)
	if err != nil {
		return err
	}
	return s.useToken(ctx, claims)
}

// useToken returns an error for claims that proved a namespace before: a token is accepted
// once until it expires. The claims have one form, the token itself has several.
func (s *Server) useToken(ctx context.Context, claims map[string]any) error {
	b, err := json.Marshal(claims)
	if err != nil {
		return unproven("verifying the ID token: %w", err)
	}
	ok, err := s.meta.useOnce(
		ctx,
		"token "+item.DigestOf(b).String(),
		claimTime(claims, "exp").Add(tokenLeeway),
	)
	switch {
	case err != nil:
		return err
	case !ok:
		return unproven("the ID token was used before; ask the issuer for a new one")
	}
	return nil
}

// claimTime returns a claim that is a time.
func claimTime(claims map[string]any, name string) time.Time {
	n, _ := claims[name].(float64)
	return time.Unix(int64(n), 0)
}

// checkClaims returns an error unless the claims name the owner, for this registry, now.
func checkClaims(claims map[string]any, issuer wire.OIDC, owner, host string, now time.Time) error {
	seconds := func(name string) time.Time {
		return claimTime(claims, name)
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
	list, ok := aud.([]any)
	if ok && len(list) == 1 {
		aud = list[0]
	}
	return aud == host
}

// issuerKeys reads the keys of an issuer, as OpenID Connect Discovery describes it.
func (s *Server) issuerKeys(ctx context.Context, issuer string) ([]jose.JSONWebKey, error) {
	fetch := s.p.Fetch
	switch {
	case fetch != nil:
	case strings.HasPrefix(issuer, "http://127.0.0.1:"): // the operator configured it
		fetch = fetchLocal
	default:
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
	if about.Issuer != issuer {
		return nil, fmt.Errorf("its description names %q", about.Issuer)
	}
	local := "http://127.0.0.1:"
	if !strings.HasPrefix(about.Keys, "https://") &&
		!(strings.HasPrefix(issuer, local) && strings.HasPrefix(about.Keys, local)) {
		return nil, fmt.Errorf("its jwks_uri %q does not begin with https://", about.Keys)
	}
	if b, err = fetch(ctx, about.Keys, maxJWKS); err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil { // an issuer may have keys of other types
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// verifyToken returns the claims of a token whose signature, by RS256 or ES256, one of the
// keys verifies. No other algorithm is accepted, so none and the symmetric ones are not.
func verifyToken(token string, keys []jose.JSONWebKey) (map[string]any, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("it has more than %d bytes", maxToken)
	}
	t, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if !mayVerify(k, t.Headers[0]) {
			continue
		}
		claims := map[string]any{}
		if t.Claims(k.Key, &claims) == nil {
			return claims, nil
		}
	}
	return nil, fmt.Errorf("no key of the issuer verifies its signature")
}

// mayVerify reports whether a key of an issuer is meant for the signature of a token.
// RSA keys of less than 2048 bits are not accepted.
func mayVerify(k jose.JSONWebKey, h jose.Header) bool {
	if !k.IsPublic() ||
		k.KeyID != h.KeyID ||
		k.Algorithm != "" && k.Algorithm != h.Algorithm ||
		k.Use != "" && k.Use != "sig" {
		return false
	}
	rsaKey, ok := k.Key.(*rsa.PublicKey)
	return !ok || rsaKey.N.BitLen() >= 2048 && rsaKey.N.BitLen() <= 8192
}
