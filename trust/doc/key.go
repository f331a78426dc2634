package doc

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Key is a key document: a public key with its owner, validity and scope, signed
// by that key.
type Key struct {
	Header
	Fingerprint         sign.Fingerprint
	Public              ed25519.PublicKey
	Owner               string // as written: escape it before printing
	KeyKind             string // one of the key kinds
	NotBefore, NotAfter time.Time
	Scope               Scope // what the owner asks for
}

// The kinds of keys. The kind of a document is another field.
const (
	KeyPerson  = "person" // the default
	KeyAgent   = "agent"
	KeyRuntime = "runtime"
	KeyGrant   = "grant" // signs the grants of one account and nothing else
)

// KeyParams is the content of a new key document. The key is the signer's.
type KeyParams struct {
	Owner     string
	KeyKind   string    // "": KeyPerson
	NotBefore time.Time // zero: Now
	NotAfter  time.Time // zero: a year after NotBefore
	Scope     Scope
	Now       time.Time // the time of the signature
}

// About returns the key.
func (d *Key) About() sign.Fingerprint {
	return d.Fingerprint
}

// Name returns the name for the key.
func (d *Key) Name() string {
	return FileName(KindKey, d.Fingerprint)
}

func (d *Key) embedded() ed25519.PublicKey {
	return d.Public
}

func (d *Key) read(f *fields) {
	f.word("algorithm", "ed25519")
	d.Public, d.Fingerprint, d.Weak = f.signingKey("public-key")
	d.Owner = f.label("owner", true, 256)
	if d.KeyKind = KeyPerson; f.present("key-kind", false) {
		d.KeyKind = f.word("key-kind", KeyPerson, KeyAgent, KeyRuntime, KeyGrant)
	}
	// Documents of earlier versions have identities. They are checked and not
	// used.
	f.list("identities", 32, func(s string) string {
		if s == "" || len(s) > 512 {
			return "an identity has 1 to 512 bytes"
		}
		return ""
	})
	d.NotBefore, d.NotAfter = f.validity(MaxYears)
	d.Scope = f.scope()
	if d.KeyKind == KeyGrant && len(d.Scope.May) > 0 {
		f.Reject("scope", "a grant key has no uses: may is absent or empty")
	}
}

// NewKey returns the file name and the bytes of a signed key document.
func NewKey(
	ctx context.Context,
	p KeyParams,
	signer sign.Signer,
) (name string, b []byte, err error) {
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
	if p.KeyKind != "" && p.KeyKind != KeyPerson {
		w.str("key-kind", p.KeyKind)
	}
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	return w.sign(
		ctx,
		KindKey,
		stemOf(KindKey, sign.FingerprintOf(signer.Public())),
		signer,
		p.Now,
	)
}

// Permission is what a grant and an endorsement have in common: the signer
// permits one key document, named by its digest, within a scope.
type Permission struct {
	Header
	Fingerprint         sign.Fingerprint
	Document            item.Digest       // of the key document; zero if Public is set
	Public              ed25519.PublicKey // of a grant without a key document, else nil
	Source              string            // where Public was read, as written: escape it before printing
	NotBefore, NotAfter time.Time
	Scope               Scope
}

// MaxPlainYears is how long a grant without a key document lasts at most: the key has
// no end of its own, and its owner proved nothing.
const MaxPlainYears = 2

// Grant is a user's permission for a key. One of the user's own keys signs it.
type Grant struct{ Permission }

// Endorsement is an anchor's permission for a key. It is kept in the project.
type Endorsement struct{ Permission }

// PermissionParams is the content of a new grant or endorsement.
type PermissionParams struct {
	Document  []byte            // the file of the key document; nil if Public is set
	Public    ed25519.PublicKey // of a grant for a key without a document
	Source    string            // where Public was read
	NotBefore time.Time         // zero: the value of the key document
	NotAfter  time.Time         // zero: MaxYears after Now, so that a rotation can be followed
	Scope     Scope
	Now       time.Time // the time of the signature
}

// About returns the key that is permitted.
func (d *Permission) About() sign.Fingerprint {
	return d.Fingerprint
}

func (d *Permission) embedded() ed25519.PublicKey {
	return nil
}

func (d *Permission) read(f *fields) {
	d.Fingerprint = f.fingerprint("key")
	if d.Kind == KindGrant && f.Has("public-key") {
		d.plain(f)
	} else {
		d.Document = f.digest("document")
	}
	d.NotBefore, d.NotAfter = f.validity(maxPermission)
	if d.Public != nil && d.NotAfter.After(d.NotBefore.AddDate(MaxPlainYears, 0, 0)) {
		f.Reject("validity", "a grant without a key document lasts at most %d years", MaxPlainYears)
	}
	d.Scope = f.scope()
}

// plain reads the public key of a grant without a key document.
func (d *Permission) plain(f *fields) {
	pub, fp, _ := f.signingKey("public-key")
	d.Public, d.Source = pub, f.label("source", true, 512)
	if pub != nil && fp != d.Fingerprint {
		f.Reject("public-key", "is not the key with that fingerprint")
	}
}

// Name returns the name for the permitted key.
func (d *Grant) Name() string {
	return FileName(KindGrant, d.Fingerprint)
}

// Name returns the name for the permitted key and the signer.
func (d *Endorsement) Name() string {
	return FileNameBy(KindEndorsement, d.Fingerprint, d.Signer)
}

// NewGrant returns the file name and the bytes of a grant. The signer must be
// one of the user's own keys. If it signs a grant for its own document, the key
// becomes the user's own.
func NewGrant(
	ctx context.Context,
	p PermissionParams,
	signer sign.Signer,
) (name string, b []byte, err error) {
	w, key, err := permission(KindGrant, p)
	if err != nil {
		return "", nil, err
	}
	return w.sign(ctx, KindGrant, stemOf(KindGrant, key), signer, p.Now)
}

// NewEndorsement returns the file name and the bytes of an endorsement. It is
// valid only if the signer is an anchor that may endorse.
func NewEndorsement(
	ctx context.Context,
	p PermissionParams,
	signer sign.Signer,
) (name string, b []byte, err error) {
	w, key, err := permission(KindEndorsement, p)
	if err != nil {
		return "", nil, err
	}
	return w.sign(
		ctx,
		KindEndorsement,
		stemBy(KindEndorsement, key, sign.FingerprintOf(signer.Public())),
		signer,
		p.Now,
	)
}

// permission writes the text of a grant or endorsement and returns the key that
// it permits.
func permission(kind string, p PermissionParams) (writer, sign.Fingerprint, error) {
	var w writer
	if p.Public != nil && kind == KindGrant {
		return plainGrant(p)
	}
	d, err := keyDocument(p.Document)
	if err != nil {
		return w, sign.Fingerprint{}, err
	}
	if p.NotBefore.IsZero() {
		p.NotBefore = d.NotBefore
	}
	if p.NotAfter.IsZero() {
		p.NotAfter = p.Now.AddDate(MaxYears, 0, 0)
	}
	w.head(kind)
	w.str("key", d.Fingerprint.String())
	w.str("document", d.Digest.String())
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	return w, d.Fingerprint, nil
}

// plainGrant is permission for a key without a document. Its end is at most
// MaxPlainYears away.
func plainGrant(p PermissionParams) (w writer, key sign.Fingerprint, err error) {
	if p.NotBefore.IsZero() {
		p.NotBefore = p.Now
	}
	last := p.NotBefore.AddDate(MaxPlainYears, 0, 0)
	if p.NotAfter.IsZero() || p.NotAfter.After(last) {
		p.NotAfter = last
	}
	key = sign.FingerprintOf(p.Public)
	w.head(KindGrant)
	w.str("key", key.String())
	w.str("public-key", base64.StdEncoding.EncodeToString(p.Public))
	w.str("source", p.Source)
	w.validity(p.NotBefore, p.NotAfter)
	w.scope(p.Scope)
	return w, key, nil
}

// keyDocument reads a key document under the name that its key determines.
func keyDocument(b []byte) (*Key, error) {
	const doing = "granting a key document"
	d, fs := Read("key.toml", b, nil)
	key, ok := d.(*Key)
	if !ok || key.Public == nil {
		return nil, diag.FromFindings(doing, append(fs, diag.Errorf(diag.ValidationFailed, 1, 1, "it is not a key document")))
	}
	d, fs = Parse(key.Name(), b)
	if err := diag.FromFindings(doing, fs); err != nil {
		return nil, err
	}
	return d.(*Key), nil
}
