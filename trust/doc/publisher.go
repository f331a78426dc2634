package doc

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/idpattern"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Limits of publisher documents.
const (
	maxRoleKeys      = 32
	maxPublisherName = 64 // bytes
	maxVersion       = 1_000_000
	maxBundles       = 64
)

// Role is a set of keys and the number of them that must sign.
type Role struct {
	Keys      []ed25519.PublicKey `json:"keys"`
	Threshold int                 `json:"threshold"`
}

// Fingerprints returns the fingerprints of the role's keys, in order.
func (r Role) Fingerprints() []sign.Fingerprint {
	out := make([]sign.Fingerprint, len(r.Keys))
	for i, pub := range r.Keys {
		out[i] = sign.FingerprintOf(pub)
	}
	return out
}

// Publisher is one version of a publisher document: the keys that may change it,
// that must sign the releases of its bundles, and that revoke them. It grants
// nothing: each key must be trusted by itself.
//
// It demands signatures and grants no trust, so it may be in any tier and has no end.
type Publisher struct {
	Name    string      `json:"name"`
	Version int         `json:"version"`
	Bundles []string    `json:"bundles"` // patterns of bundle ids, as in manifests or in projects
	Root    Role        `json:"root"`
	Release Role        `json:"release"`
	Revoke  Role        `json:"revoke"`           // without keys: the publisher revokes nothing
	Content item.Digest `json:"content,omitzero"` // of the text that every root key signs
}

// Names reports whether the publisher's bundles include one of these ids, by any address of
// their repositories.
func (p *Publisher) Names(ids ...string) bool {
	return slices.ContainsFunc(p.Bundles, func(pattern string) bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			return idpattern.MatchRepository(pattern, id)
		})
	})
}

// PublisherCopy is one root key's signed copy of a publisher document. The
// version is valid once a threshold of root keys has signed the same text, each
// in its own file.
type PublisherCopy struct {
	Header
	Publisher Publisher
}

// About returns the zero fingerprint.
func (d *PublisherCopy) About() sign.Fingerprint {
	return sign.Fingerprint{}
}

// Name returns the name for the publisher, the version and the signer.
func (d *PublisherCopy) Name() string {
	return stemOfPublisher(&d.Publisher, d.Signer) + ".toml"
}

func (d *PublisherCopy) embedded() ed25519.PublicKey {
	return nil
}

// checkBundles returns why a pattern of bundle ids is not valid, or "".
func checkBundles(pattern string) string {
	if err := idpattern.Check(pattern); err != nil {
		return err.Error()
	}
	return checkPatternText(pattern)
}

func (d *PublisherCopy) read(f *fields) {
	p := Publisher{Name: f.label("name", true, maxPublisherName), Version: f.integer("version", 1, maxVersion)}
	if strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(p.Name, "-") {
		f.Reject("name", "must be a word of a-z, 0-9 and -")
	}
	if p.Bundles = f.list("bundles", maxBundles, checkBundles); len(p.Bundles) == 0 {
		f.Reject("bundles", "is empty")
	}
	p.Root = f.role("root", true)
	p.Release = f.role("release", true)
	p.Revoke = f.role("revoke", false)
	sp, err := sign.SplitFile(d.data, style())
	if err == nil {
		p.Content = item.Digest(sp.Digest())
	}
	d.Publisher = p
}

// role reads distinct keys and a threshold from 1 to their number.
func (f *fields) role(key string, required bool) (r Role) {
	if !f.Has(key) && !required {
		f.known = append(f.known, key)
		return r
	}
	s := f.sub(key)
	for i, text := range s.list("keys", maxRoleKeys, func(string) string { return "" }) {
		pub, why := roleKey(text)
		if why == "" &&
			slices.ContainsFunc(r.Keys, func(k ed25519.PublicKey) bool { return k.Equal(pub) }) {
			why = "the same key is listed twice"
		}
		if why != "" {
			s.Reject("keys", "entry %d: %s", i+1, why)
			continue
		}
		r.Keys = append(r.Keys, pub)
	}
	if len(r.Keys) == 0 {
		s.Reject("keys", "is empty")
	}
	r.Threshold = s.integer("threshold", 1, max(1, len(r.Keys)))
	s.finish()
	return r
}

func roleKey(text string) (ed25519.PublicKey, string) {
	raw := decodeKey(text)
	if raw == nil {
		return nil, "it must be the 32 raw bytes of an Ed25519 public key in standard base64, padded"
	}
	if err := sign.CheckKey(raw); err != nil {
		return nil, "it may not be used: " + err.Error()
	}
	return raw, ""
}

// NewPublisher returns the file name and the bytes of one root key's copy of a
// publisher document.
func NewPublisher(
	ctx context.Context,
	p Publisher,
	signer sign.Signer,
	now time.Time,
) (name string, b []byte, err error) {
	var w writer
	w.head(KindPublisher)
	w.str("name", p.Name)
	w.line("version", strconv.Itoa(p.Version))
	w.list("bundles", p.Bundles)
	w.role("root", p.Root)
	w.role("release", p.Release)
	if len(p.Revoke.Keys) > 0 {
		w.role("revoke", p.Revoke)
	}
	return w.sign(
		ctx,
		KindPublisher,
		stemOfPublisher(&p, sign.FingerprintOf(signer.Public())),
		signer,
		now,
	)
}

func (w *writer) role(name string, r Role) {
	keys := make([]string, len(r.Keys))
	for i, k := range r.Keys {
		keys[i] = base64.StdEncoding.EncodeToString(k)
	}
	w.b.WriteString("\n[" + name + "]\n")
	w.list("keys", keys)
	w.line("threshold", strconv.Itoa(r.Threshold))
}
