package trust

import (
	"context"
	"encoding/base64"
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

// RevocationParams is what a revocation says. It is signed by the key that it
// revokes.
type RevocationParams struct {
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
	w.head(KindGrant)
	w.str("key", d.Fingerprint.String())
	w.str("document", item.DigestOf(p.Document).String())
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	return w.sign(ctx, KindGrant, d.Fingerprint, signer, p.Now)
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

// NewRevocation returns the file name and the bytes of a revocation of the
// signer's own key, such as the certificate that is made with every key and
// kept offline.
func NewRevocation(ctx context.Context, p RevocationParams, signer sign.Signer) (name string, b []byte, err error) {
	if p.CutOff.IsZero() {
		p.CutOff = p.Now
	}
	var w writer
	w.head(KindRevocation)
	w.public(signer)
	w.str("reason", string(p.Reason))
	w.time("cut-off", p.CutOff)
	return w.sign(ctx, KindRevocation, sign.FingerprintOf(signer.Public()), signer, p.Now)
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
	name := FileName(kind, key)
	b, _, err := sign.Sign(ctx, []byte(w.b.String()), documentStyle(), subject(kind, stemFor(kind, key)), signer, now)
	if err != nil {
		return "", nil, err
	}
	if _, fs := ParseDocument(name, b); diag.Failed(fs) {
		return "", nil, diag.FromFindings("writing a trust document", fs)
	}
	return name, b, nil
}
