// Package token makes and checks capability tokens: what a process that starts a thread
// permits it, signed by the runtime key of the user account. A token is passed by a
// descriptor, never as an argument, in the environment or in a file.
//
// A token does not prove that a person permitted something: it binds what was permitted
// to one thread, one project, one directive and a time. Which tokens were used or revoked
// is in the registry (threads/store).
//
// A token has sources, one for each entry of held, so that a refusal names what lacks the
// capability. It has no risk: the process reads the allowance of the same account.
package token

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
)

const (
	audience = "rye-thread"
	version  = 1
	// Longest is the longest time that a token is valid.
	Longest = 24 * time.Hour
	// Grace is how long a token outlasts the duration of its thread.
	Grace   = 5 * time.Minute
	maxText = 64 << 10
	layout  = "2006-01-02T15:04:05Z"
)

// Claims are what a token states. The text of a token is their JSON in this order,
// without a space that has no meaning.
type Claims struct {
	Audience  string            `json:"aud"`
	Depth     int64             `json:"depth"` // levels of threads below this one
	Directive item.Digest       `json:"directive"`
	Expires   string            `json:"exp"`
	Held      [][]string        `json:"held"` // from the root down
	Issued    string            `json:"iat"`
	Key       string            `json:"key"`
	Parent    *string           `json:"parent_id"` // the token of the parent
	Profiles  []*policy.Profile `json:"profiles"`  // one for each entry of held
	Project   string            `json:"project"`
	Root      string            `json:"root"`
	Sources   []string          `json:"sources"` // one for each entry of held
	Thread    string            `json:"thread_id"`
	ID        string            `json:"token_id"`
	Version   int               `json:"v"`
}

// Token is the text of the claims, and a signature of it.
type Token struct {
	Text      string `json:"token"`
	Signature string `json:"signature"`
}

// Grant describes a thread that gets a token.
type Grant struct {
	ID        string // of the token
	Thread    string
	Root      string // of the tree
	Parent    string // the token of the parent, "" for a root
	Project   string // the real path
	Directive item.Digest
	Depth     int64
	Held      policy.Held
	Now       time.Time
	Duration  time.Duration // that the thread may still take
}

// Mint makes a token.
func Mint(ctx context.Context, g Grant, signer sign.Signer) (Token, *Claims, error) {
	expires := g.Now.Add(min(g.Duration+Grace, Longest))
	c := &Claims{
		Audience:  audience,
		Depth:     g.Depth,
		Directive: g.Directive,
		Expires:   expires.UTC().Format(layout),
		Held:      [][]string{},
		Issued:    g.Now.UTC().Format(layout),
		Key:       sign.FingerprintOf(signer.Public()).String(),
		Profiles:  []*policy.Profile{},
		Project:   g.Project,
		Root:      g.Root,
		Sources:   []string{},
		Thread:    g.Thread,
		ID:        g.ID,
		Version:   version,
	}
	if g.Parent != "" {
		c.Parent = &g.Parent
	}
	for _, h := range g.Held {
		caps := []string{}
		for _, p := range h.Caps {
			caps = append(caps, string(p))
		}
		c.Held = append(c.Held, caps)
		c.Profiles = append(c.Profiles, h.Profile)
		c.Sources = append(c.Sources, h.Source)
	}
	text, err := jsonx.Marshal(c)
	if err != nil {
		return Token{}, nil, diag.New(diag.Internal, "making the token of %s: %w", g.Thread, err)
	}
	if len(text) > maxText {
		return Token{}, nil, diag.New(diag.TooLarge, "making the token of %s: its permissions have more than %d bytes", g.Thread, maxText)
	}
	sig, err := signer.Sign(ctx, statement(text))
	if err != nil {
		return Token{}, nil, err
	}
	return Token{Text: string(text), Signature: encoding.EncodeToString(sig)}, c, nil
}

var encoding = base64.RawStdEncoding.Strict()

// statement is what the signature of a token is over. Its first line makes it different
// from every statement of another use.
func statement(text []byte) []byte {
	return append(append([]byte(string(sign.UseToken)+"\n"), text...), '\n')
}

// Want is what the process that receives a token knows by itself.
type Want struct {
	Thread  string
	Project string // the real path
	Now     time.Time
	// Keys returns the public half of a runtime key of this user account.
	Keys func(sign.Fingerprint) (public []byte, ok bool)
}

// Check returns the claims of a valid token. The error is TOKEN_INVALID, with the claim
// that does not fit, what it should be and what it is as details.
func Check(t Token, w Want) (*Claims, error) {
	if len(t.Text) > maxText {
		return nil, invalid("token", "at most 64 KiB", len(t.Text))
	}
	var c Claims
	err := json.Unmarshal([]byte(t.Text), &c)
	if err != nil {
		return nil, invalid("token", "canonical JSON", "another text")
	}
	canonical, err := jsonx.Marshal(&c)
	if err != nil || string(canonical) != t.Text {
		return nil, invalid("token", "canonical JSON", "another text")
	}
	fp, err := sign.ParseFingerprint(c.Key)
	if err != nil {
		return nil, invalid("key", "a fingerprint", c.Key)
	}
	public, ok := w.Keys(fp)
	if !ok {
		return nil, invalid("key", "a runtime key of this user account", c.Key)
	}
	sig, err := encoding.DecodeString(t.Signature)
	if err != nil || !ed25519.Verify(public, statement([]byte(t.Text)), sig) {
		return nil, invalid("signature", "the signature of the key "+c.Key, "a different one")
	}
	if err := c.fits(w); err != nil {
		return nil, err
	}
	return &c, c.Live(w.Now)
}

// fits compares the claims with what the receiver knows.
func (c *Claims) fits(w Want) error {
	switch {
	case c.Version != version:
		return invalid("v", version, c.Version)
	case c.Audience != audience:
		return invalid("aud", audience, c.Audience)
	case c.Thread != w.Thread:
		return invalid("thread_id", w.Thread, c.Thread)
	case c.Project != w.Project:
		return invalid("project", w.Project, c.Project)
	case len(c.Held) == 0 || len(c.Held) != len(c.Profiles) || len(c.Held) != len(c.Sources):
		return invalid("held", "as many entries as profiles and sources", len(c.Held))
	case c.ID == "":
		return invalid("token_id", "an id", "")
	}
	return nil
}

// Live returns an error if the token is not valid at a time.
func (c *Claims) Live(now time.Time) error {
	issued, err := time.Parse(layout, c.Issued)
	if err != nil {
		return invalid("iat", layout, c.Issued)
	}
	expires, err := time.Parse(layout, c.Expires)
	switch {
	case err != nil:
		return invalid("exp", layout, c.Expires)
	case expires.Sub(issued) > Longest:
		return invalid("exp", "at most 24 hours after iat", c.Expires)
	case !now.Before(expires):
		return invalid("exp", "after "+now.UTC().Format(layout), c.Expires)
	}
	return nil
}

// For returns an error if the token is for another directive.
func (c *Claims) For(directive item.Digest) error {
	if c.Directive != directive {
		return invalid("directive", directive, c.Directive)
	}
	return nil
}

// Permits returns the permissions of the token.
func (c *Claims) Permits() policy.Held {
	var out policy.Held
	for i, caps := range c.Held {
		g := policy.Grant{Caps: policy.Set{}, Profile: c.Profiles[i], Source: c.Sources[i]}
		for _, p := range caps {
			g.Caps = append(g.Caps, policy.Cap(p))
		}
		out = out.With(g)
	}
	return out
}

func invalid(claim string, want, found any) error {
	return diag.New(diag.TokenInvalid, "checking the token of a thread: %s is %v, not %v", claim, found, want).
		WithDetail("claim", claim).WithDetail("want", want).WithDetail("found", found)
}
