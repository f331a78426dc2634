package token

import (
	"crypto/ed25519"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
)

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// lab is a runtime key, and what the receiver of its tokens knows.
type lab struct {
	*testing.T
	signer sign.Signer
	want   Want
}

func newLab(t *testing.T) *lab {
	l := &lab{T: t, signer: key(t, 1)}
	l.want = Want{Thread: "a-01", Project: "/p", Now: noon(), Keys: func(fp sign.Fingerprint) ([]byte, bool) {
		return l.signer.Public(), fp == sign.FingerprintOf(l.signer.Public())
	}}
	return l
}

func key(t *testing.T, seed byte) sign.Signer {
	t.Helper()
	return sign.NewFileSigner(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+seed)), ed25519.SeedSize))), "test")
}

func grant() Grant {
	net := policy.Profile{Net: policy.NetNone}
	return Grant{
		ID: "t1", Thread: "a-01", Root: "a-01", Project: "/p", Directive: item.DigestOf([]byte("d")), Depth: 3, Now: noon(), Duration: time.Hour,
		Held: policy.Person().With(policy.Grant{Caps: policy.Set{"rye.execute.tool.gh.*"}, Profile: &net, Source: "directive:a/b"}),
	}
}

func (l *lab) mint(g Grant) Token {
	l.Helper()
	t, _, err := Mint(l.Context(), g, l.signer)
	if err != nil {
		l.Fatal(err)
	}
	return t
}

// refused wants TOKEN_INVALID about a claim.
func (l *lab) refused(what, claim string, t Token, w Want) {
	l.Helper()
	_, err := Check(t, w)
	e := diag.Typed(err)
	if e == nil || e.Code != diag.TokenInvalid || e.Details["claim"] != claim {
		l.Errorf("%s: %v, want TOKEN_INVALID about %s", what, err, claim)
	}
}

// TestRoundTrip: a token has what it was made with, and permits what its grants permit.
func TestRoundTrip(t *testing.T) {
	l, g := newLab(t), grant()
	c, err := Check(l.mint(g), l.want)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.Permits(), g.Held) || c.Depth != 3 || c.Parent != nil || c.Expires != "2026-11-22T13:05:00Z" {
		t.Errorf("%+v permits %+v", c, c.Permits())
	}
	for id, want := range map[string]bool{"gh/issue": true, "bash/bash": false} {
		if got := c.Permits().Allows(policy.Execute, item.Ref{Kind: item.Tool, ID: id}) == nil; got != want {
			t.Errorf("execute %s: %v", id, got)
		}
	}
	if err := c.For(g.Directive); err != nil {
		t.Error(err)
	}
	if err := c.For(item.DigestOf([]byte("other"))); diag.CodeOf(err) != diag.TokenInvalid {
		t.Errorf("another directive: %v", err)
	}
	g.Duration = 100 * time.Hour
	if c, err = Check(l.mint(g), l.want); err != nil || c.Expires != "2026-11-23T12:00:00Z" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRefused: the token of another thread or project, one that is over, and one that was
// changed or signed by another key or for another use is refused.
func TestRefused(t *testing.T) {
	l := newLab(t)
	good := l.mint(grant())
	other := l.want
	other.Thread = "b-02"
	l.refused("of another thread", "thread_id", good, other)
	other = l.want
	other.Project = "/q"
	l.refused("of another project", "project", good, other)
	other = l.want
	other.Now = noon().Add(time.Hour + Grace)
	l.refused("expired", "exp", good, other)
	other.Now = noon().Add(time.Hour + Grace - time.Second)
	if _, err := Check(good, other); err != nil {
		t.Error(err)
	}
	l.refused("nothing", "token", Token{}, l.want)
	l.refused("without a signature", "signature", Token{Text: good.Text}, l.want)
	l.refused("too large", "token", Token{Text: strings.Repeat("x", maxText+1)}, l.want)
	for n := range good.Text { // every byte is signed
		b := []byte(good.Text)
		b[n] ^= 1
		if _, err := Check(Token{string(b), good.Signature}, l.want); diag.CodeOf(err) != diag.TokenInvalid {
			t.Fatalf("byte %d changed: %v", n, err)
		}
	}
	for n := range good.Signature {
		b := []byte(good.Signature)
		b[n] ^= 1
		l.refused("changed signature", "signature", Token{good.Text, string(b)}, l.want)
	}
	forged, _, err := Mint(t.Context(), grant(), key(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	l.refused("by another key", "key", forged, l.want)
}

// TestForgedClaims signs changed claims with the right key: what a token states must have
// the one form, and the form alone is not enough.
func TestForgedClaims(t *testing.T) {
	l := newLab(t)
	_, c, err := Mint(t.Context(), grant(), l.signer)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(text string) Token {
		sig, err := l.signer.Sign(t.Context(), statement([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return Token{text, encoding.EncodeToString(sig)}
	}
	for what, x := range map[string]struct {
		claim  string
		change func(c *Claims)
	}{
		"audience":        {"aud", func(c *Claims) { c.Audience = "rye-worker" }},
		"version":         {"v", func(c *Claims) { c.Version = 2 }},
		"no id":           {"token_id", func(c *Claims) { c.ID = "" }},
		"a removed entry": {"held", func(c *Claims) { c.Held = c.Held[:1] }},
		"no entries":      {"held", func(c *Claims) { c.Held, c.Profiles, c.Sources = [][]string{}, []*policy.Profile{}, []string{} }},
		"two days":        {"exp", func(c *Claims) { c.Expires = "2026-11-24T12:00:00Z" }},
		"no time":         {"exp", func(c *Claims) { c.Expires = "tomorrow" }},
		"no issue":        {"iat", func(c *Claims) { c.Issued = "" }},
		"no key":          {"key", func(c *Claims) { c.Key = "x" }},
	} {
		changed := *c
		x.change(&changed)
		text, err := json.Marshal(&changed)
		if err != nil {
			t.Fatal(err)
		}
		l.refused(what, x.claim, signed(string(text)), l.want)
	}
	text := l.mint(grant()).Text
	l.refused("an unknown claim", "token", signed(strings.Replace(text, `"aud"`, `"admin":true,"aud"`, 1)), l.want)
	l.refused("a claim twice", "token", signed(strings.Replace(text, `"v":1`, `"v":1,"v":1`, 1)), l.want)
	l.refused("a space", "token", signed(text+" "), l.want)
	// A signature for another use is not one of a token.
	sig, err := l.signer.Sign(t.Context(), []byte(string(sign.UseCheckpoint)+"\n"+text+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	l.refused("for another use", "signature", Token{text, encoding.EncodeToString(sig)}, l.want)
}
