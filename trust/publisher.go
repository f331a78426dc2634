package trust

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Limits of publisher documents.
const (
	maxRoleKeys   = 32
	maxPublisher  = 64 // bytes of a name
	maxVersion    = 1_000_000
	maxOfBundles  = 64
	publisherStem = KindPublisher + "-"
)

// Role is keys, and how many of them must sign.
type Role struct {
	Keys      []ed25519.PublicKey `json:"keys"`
	Threshold int                 `json:"threshold"`
}

// Fingerprints returns the keys of the role as rules and locks name them.
func (r Role) Fingerprints() []sign.Fingerprint {
	out := make([]sign.Fingerprint, len(r.Keys))
	for i, pub := range r.Keys {
		out[i] = sign.FingerprintOf(pub)
	}
	return out
}

// Publisher is what one version of a publisher document says: who may change
// it, who must sign the releases of its bundles, and who takes them back. It
// grants nothing: every key must count by itself.
type Publisher struct {
	Name    string      `json:"name"`
	Version int         `json:"version"`
	Bundles []string    `json:"bundles"` // globs over the ids of bundles, as manifests or projects name them
	Root    Role        `json:"root"`
	Release Role        `json:"release"`
	Revoke  Role        `json:"revoke"`           // without keys: nobody as a publisher
	Content item.Digest `json:"content,omitzero"` // of the text that every root key signs
}

func (d *Document) readPublisher(f *fields) {
	p := &Publisher{Name: f.label("name", true, maxPublisher), Version: f.integer("version", 1, maxVersion)}
	if strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(p.Name, "-") {
		f.bad("name", "a publisher's name is a word of a-z, 0-9 and -")
	}
	if p.Bundles = f.list("bundles", maxOfBundles, checkNamespace); len(p.Bundles) == 0 {
		f.bad("bundles", "bundles names no bundle")
	}
	p.Root, p.Release = f.role("root", true), f.role("release", true)
	p.Revoke = f.role("revoke", false)
	if sp, err := sign.SplitFile(d.raw, documentStyle()); err == nil {
		p.Content = item.Digest(sp.Digest())
	}
	d.Publisher = p
}

// role reads keys that are distinct by their bytes, and a threshold that they
// can reach and that is not nothing.
func (f *fields) role(key string, required bool) (r Role) {
	if _, there := f.table[key]; !there && !required {
		f.known = append(f.known, key)
		return r
	}
	s := f.sub(key)
	for i, text := range s.list("keys", maxRoleKeys, func(string) string { return "" }) {
		pub, why := roleKey(text)
		if why == "" && slices.ContainsFunc(r.Keys, func(k ed25519.PublicKey) bool { return k.Equal(pub) }) {
			why = "the same key stands there twice"
		}
		if why != "" {
			s.bad("keys", "entry %d of %s.keys: %s", i+1, s.path, why)
			continue
		}
		r.Keys = append(r.Keys, pub)
	}
	if len(r.Keys) == 0 {
		s.bad("keys", "%s names no key", s.path)
	}
	r.Threshold = s.integer("threshold", 1, max(1, len(r.Keys)))
	s.finish()
	return r
}

func roleKey(text string) (ed25519.PublicKey, string) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize || base64.StdEncoding.EncodeToString(raw) != text {
		return nil, "it must be the 32 raw bytes of an Ed25519 public key in standard base64, padded"
	}
	if err := sign.CheckKey(raw); err != nil {
		return nil, "it may not be used: " + err.Error()
	}
	return raw, ""
}

func stemOfPublisher(p *Publisher, by sign.Fingerprint) string {
	return publisherStem + p.Name + "-" + strconv.Itoa(p.Version) + "-by-" + by.String()
}

// text is what every root key signs: the same bytes whoever writes it.
func (p Publisher) text() string {
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
	return w.b.String()
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

// edition is one text of one version, with everybody who signed it.
type edition struct {
	*Publisher
	docs []*Document
	seen bool // some copy was remembered
}

// signers returns the keys of a role that signed this text, each counted once,
// by its bytes. A key that is revoked signs nothing. With trusted, copies in a
// project count only where their keys count here without it.
func (b *builder) signers(x *edition, r Role, trusted bool) (n int) {
	for _, pub := range r.Keys {
		fp := sign.FingerprintOf(pub)
		e := b.store.keys[fp]
		if slices.ContainsFunc(x.docs, func(d *Document) bool {
			switch {
			case d.Signer != fp || d.signedBy(pub) != nil || e != nil && (e.weak || e.embeddedOnly || e.revokedAt(claimed(d.Signed)) != nil):
				return false
			}
			return !trusted || d.Tier != TierProject || e != nil && len(e.bases) > 0
		}) {
			n++
		}
	}
	return n
}

// signed reports whether enough keys of a role signed the text.
func (b *builder) signed(x *edition, r Role, trusted bool) bool {
	return b.signers(x, r, trusted) >= r.Threshold
}

// editions gathers the copies of each text, by publisher and in the order of
// versions.
func (b *builder) editions() map[string][]*edition {
	out := map[string][]*edition{}
	for _, d := range b.docs {
		if d.Kind != KindPublisher || !d.named || d.bad != nil {
			continue
		}
		p := d.Publisher
		i := slices.IndexFunc(out[p.Name], func(x *edition) bool { return x.Version == p.Version && x.Content == p.Content })
		if i < 0 {
			i = len(out[p.Name])
			out[p.Name] = append(out[p.Name], &edition{Publisher: p})
		}
		x := out[p.Name][i]
		x.docs, x.seen = append(x.docs, d), x.seen || d.seen
	}
	for _, list := range out {
		slices.SortFunc(list, func(x, y *edition) int {
			if x.Version != y.Version {
				return x.Version - y.Version
			}
			return bytes.Compare(x.Content[:], y.Content[:])
		})
	}
	return out
}

// PublisherRule is what a publisher demands of the releases of its bundles.
type PublisherRule struct {
	Publisher string             `json:"publisher"`
	Version   int                `json:"version"`
	Document  string             `json:"document"` // a path, safe to print
	Bundles   []string           `json:"bundles"`
	Keys      []sign.Fingerprint `json:"keys"`
	Threshold int                `json:"threshold"`
}

// String names the rule.
func (r PublisherRule) String() string {
	return fmt.Sprintf("the publisher document %s, version %d,", hidden.Visible(r.Publisher), r.Version)
}

// PublisherRules returns what publishers demand of a bundle that has these ids:
// that of its manifest, and that under which a project knows it. All hold.
func (s *Store) PublisherRules(ids ...string) []PublisherRule {
	var out []PublisherRule
	for _, x := range s.publishers {
		if !x.names(ids...) {
			continue
		}
		out = append(out, PublisherRule{x.Name, x.Version, quoted(x.docs[0].Path), x.Bundles, x.Release.Fingerprints(), x.Release.Threshold})
	}
	return out
}

// Publishes reports whether any publisher document counts.
func (s *Store) Publishes() bool { return len(s.publishers) > 0 }

// Publisher returns the version of a publisher document that counts, nil when
// none does.
func (s *Store) Publisher(name string) *Publisher {
	for _, x := range s.publishers {
		if x.Name == name {
			return x.Publisher
		}
	}
	return nil
}

func (x *edition) names(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return inNamespace(x.Bundles, id) })
}

// Have returns how many of the rule's keys are among those that signed.
func (r PublisherRule) Have(signers []sign.Fingerprint) int {
	n := 0
	for _, fp := range r.Keys {
		if slices.Contains(signers, fp) {
			n++
		}
	}
	return n
}
