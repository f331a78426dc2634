package trust

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// KeyDocParams is what a new key document says. The key itself is the
// signer's.
type KeyDocParams struct {
	Owner      string
	Identities []string
	NotBefore  time.Time // zero: Now
	NotAfter   time.Time // zero: a year after NotBefore
	Scope      Scope     // the owner's wish
	Now        time.Time // the time of the signature
}

// GrantParams is what a new grant says. The signer must be an own key; when it
// is the key itself, the grant makes that key the user's own.
type GrantParams struct {
	Document  []byte // the key document, as it lies in the file
	NotBefore time.Time
	NotAfter  time.Time // zero: the document's own end
	Scope     Scope
	Now       time.Time
}

// RevocationParams is what a revocation says.
type RevocationParams struct {
	Key    sign.Fingerprint // zero: the signer's own
	Reason Reason
	CutOff time.Time // zero: Now
	Now    time.Time
}

// NewKeyDocument returns the file name and the bytes of a key document, ready
// to write.
func NewKeyDocument(ctx context.Context, p KeyDocParams, signer sign.Signer) (name string, b []byte, err error) {
	if p.NotBefore.IsZero() {
		p.NotBefore = p.Now
	}
	if p.NotAfter.IsZero() {
		p.NotAfter = p.NotBefore.AddDate(1, 0, 0)
	}
	var w writer
	w.head(KindKey)
	w.public(signer)
	w.str("owner", p.Owner)
	w.list("identities", p.Identities)
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	return w.sign(ctx, KindKey, sign.FingerprintOf(signer.Public()), signer, p.Now)
}

// NewGrant returns the file name and the bytes of a grant over a key document.
func NewGrant(ctx context.Context, p GrantParams, signer sign.Signer) (name string, b []byte, err error) {
	return vouch(ctx, KindGrant, p, signer)
}

// vouch writes what a grant and an endorsement share.
func vouch(ctx context.Context, kind string, p GrantParams, signer sign.Signer) (string, []byte, error) {
	d, err := keyDocument(p.Document)
	if err != nil {
		return "", nil, err
	}
	if p.NotBefore.IsZero() {
		p.NotBefore = d.NotBefore
	}
	if p.NotAfter.IsZero() {
		p.NotAfter = d.NotAfter
	}
	var w writer
	w.head(kind)
	w.str("key", d.Fingerprint.String())
	w.str("document", item.DigestOf(p.Document).String())
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	if kind == KindEndorsement {
		return w.signAs(ctx, kind, stemBy(kind, d.Fingerprint, sign.FingerprintOf(signer.Public())), signer, p.Now)
	}
	return w.sign(ctx, kind, d.Fingerprint, signer, p.Now)
}

// keyDocument reads a key document under the name that it must have.
func keyDocument(b []byte) (*Document, error) {
	const doing = "granting a key document"
	d, fs := parse("key.toml", b)
	if d.Kind != KindKey || d.Public == nil {
		return nil, diag.FromFindings(doing, append(fs, diag.Errorf(diag.ValidationFailed, 1, 1, "it is not a key document")))
	}
	d, fs = ParseDocument(FileName(KindKey, d.Fingerprint), b)
	return d, diag.FromFindings(doing, fs)
}

// NewEndorsement returns the file name and the bytes of an endorsement of a key
// document. It counts where the signer is an anchor that may endorse.
func NewEndorsement(ctx context.Context, p GrantParams, signer sign.Signer) (name string, b []byte, err error) {
	return vouch(ctx, KindEndorsement, p, signer)
}

// NewRevocation returns the file name and the bytes of a revocation: of the
// signer's own key, such as the certificate that is made with every key and
// kept offline, or of another's, which counts where the signer is that key's
// successor or an anchor that may revoke.
func NewRevocation(ctx context.Context, p RevocationParams, signer sign.Signer) (name string, b []byte, err error) {
	if p.CutOff.IsZero() {
		p.CutOff = p.Now
	}
	self := sign.FingerprintOf(signer.Public())
	stem := stemFor(KindRevocation, self)
	var w writer
	w.head(KindRevocation)
	if p.Key == (sign.Fingerprint{}) || p.Key == self {
		w.public(signer)
	} else {
		w.str("key", p.Key.String())
		stem = stemBy(KindRevocation, p.Key, self)
	}
	w.str("reason", string(p.Reason))
	w.time("cut-off", p.CutOff)
	return w.signAs(ctx, KindRevocation, stem, signer, p.Now)
}

// RotationParams is what a rotation says.
type RotationParams struct {
	From time.Time // the old key is superseded from here on; zero: Now
	Now  time.Time
}

// NewRotation returns the file name and the bytes of a rotation: the old key
// signs the file, the new one the terms inside.
func NewRotation(ctx context.Context, p RotationParams, old, successor sign.Signer) (name string, b []byte, err error) {
	if p.From.IsZero() {
		p.From = p.Now
	}
	fp := sign.FingerprintOf(old.Public())
	terms := rotationTerms(old.Public(), successor.Public(), p.From)
	accepted, _, err := sign.SignDetached(ctx, terms, nil, succession(fp), successor, p.Now)
	if err != nil {
		return "", nil, err
	}
	w := writer{}
	w.b.Write(terms)
	w.str("accepted", strings.TrimSuffix(string(accepted), "\n"))
	return w.sign(ctx, KindRotation, fp, old, p.Now)
}

// rotationTerms is the text that both keys of a rotation sign.
func rotationTerms(old, successor ed25519.PublicKey, from time.Time) []byte {
	var w writer
	w.head(KindRotation)
	w.str("algorithm", "ed25519")
	w.str("public-key", base64.StdEncoding.EncodeToString(old))
	w.str("successor", base64.StdEncoding.EncodeToString(successor))
	w.time("from", from)
	return []byte(w.b.String())
}

// NewRevocationList returns the file name and the bytes of a statement that
// these are all revocations the signer knows now. It counts where the signer is
// an anchor that may revoke.
func NewRevocationList(ctx context.Context, listed []item.Digest, signer sign.Signer, now time.Time) (name string, b []byte, err error) {
	words := make([]string, len(listed))
	for i, d := range listed {
		words[i] = d.String()
	}
	slices.Sort(words)
	var w writer
	w.head(KindRevocations)
	w.list("listed", words)
	return w.signAs(ctx, KindRevocations, stemBy(KindRevocations, sign.Fingerprint{}, sign.FingerprintOf(signer.Public())), signer, now)
}

// NewReleaseRevocation returns the file name and the bytes of the revocation of
// one release. It counts against the signatures of the signer and of those it
// succeeds, and against all where the signer is an anchor that may revoke.
func NewReleaseRevocation(ctx context.Context, r Release, signer sign.Signer, now time.Time) (name string, b []byte, err error) {
	var w writer
	w.head(KindReleaseRevocation)
	w.str("bundle", r.Bundle)
	w.str("version", r.Version)
	w.str("manifest", r.Manifest.String())
	w.str("content", r.Content.String())
	w.str("reason", r.Why)
	return w.signAs(ctx, KindReleaseRevocation, stemOfRelease(r.Content, sign.FingerprintOf(signer.Public())), signer, now)
}

// NewPublisher returns the file name and the bytes of one root key's copy of a
// publisher document. It counts once a threshold of root keys signed the same
// text, each in a file of its own.
func NewPublisher(ctx context.Context, p Publisher, signer sign.Signer, now time.Time) (name string, b []byte, err error) {
	var w writer
	w.b.WriteString(p.text())
	return w.signAs(ctx, KindPublisher, stemOfPublisher(&p, sign.FingerprintOf(signer.Public())), signer, now)
}

// writer writes the TOML of a document.
type writer struct{ b strings.Builder }

func (w *writer) line(key, value string) { w.b.WriteString(key + " = " + value + "\n") }

func (w *writer) str(key, value string) { w.line(key, tomlx.Quote(value)) }

func (w *writer) time(key string, t time.Time) { w.line(key, stamp(t)) }

func (w *writer) list(key string, list []string) {
	if len(list) == 0 {
		return
	}
	quotes := make([]string, len(list))
	for i, s := range list {
		quotes[i] = tomlx.Quote(s)
	}
	w.line(key, "["+strings.Join(quotes, ", ")+"]")
}

func (w *writer) head(kind string) {
	w.str("schema", Schema)
	w.str("kind", kind)
}

func (w *writer) public(signer sign.Signer) {
	w.str("algorithm", "ed25519")
	w.str("public-key", base64.StdEncoding.EncodeToString(signer.Public()))
}

func (w *writer) validity(from, to time.Time) {
	w.b.WriteString("\n[validity]\n")
	w.time("not-before", from)
	w.time("not-after", to)
}

func (w *writer) scope(s Scope) {
	w.b.WriteString("\n[scope]\n")
	w.list("kinds", s.Kinds)
	w.list("namespaces", s.Namespaces)
	w.list("may", s.May)
}

// sign signs what was written and reads it back as strictly as anybody will.
func (w *writer) sign(ctx context.Context, kind string, key sign.Fingerprint, signer sign.Signer, now time.Time) (string, []byte, error) {
	return w.signAs(ctx, kind, stemFor(kind, key), signer, now)
}

func (w *writer) signAs(ctx context.Context, kind, stem string, signer sign.Signer, now time.Time) (string, []byte, error) {
	name := stem + ".toml"
	b, _, err := sign.Sign(ctx, []byte(w.b.String()), documentStyle(), subject(kind, stem), signer, now)
	if err != nil {
		return "", nil, err
	}
	if _, fs := ParseDocument(name, b); diag.Failed(fs) {
		return "", nil, diag.FromFindings("writing a trust document", fs)
	}
	return name, b, nil
}
