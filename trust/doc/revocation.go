package doc

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Reason is the reason of a key's revocation.
type Reason string

// The reasons. ReasonCompromised voids every signature of the key, the others
// only signatures from the cut-off on.
const (
	ReasonCompromised Reason = "compromised"
	ReasonSuperseded  Reason = "superseded"
	ReasonRetired     Reason = "retired"
)

// Revocation is the revocation of one key, by itself or by another key.
type Revocation struct {
	Header
	Fingerprint sign.Fingerprint
	Public      ed25519.PublicKey // nil if another key signs the revocation
	Reason      Reason
	CutOff      time.Time // signatures at or after this time are void; zero: none given
}

// RevocationParams is the content of a new revocation.
type RevocationParams struct {
	Key    sign.Fingerprint // zero: the signer's own
	Reason Reason
	CutOff time.Time // zero: Now
	Now    time.Time // the time of the signature
}

// About returns the revoked key.
func (d *Revocation) About() sign.Fingerprint {
	return d.Fingerprint
}

// Name returns the name for the revoked key and, if another key signs, for that
// key.
func (d *Revocation) Name() string {
	if d.Public == nil {
		return FileNameBy(KindRevocation, d.Fingerprint, d.Signer)
	}
	return FileName(KindRevocation, d.Fingerprint)
}

func (d *Revocation) embedded() ed25519.PublicKey {
	return d.Public
}

// read expects the whole public key if the key revokes itself, and its
// fingerprint if another key does.
func (d *Revocation) read(f *fields) {
	if f.Has("key") {
		d.Fingerprint = f.fingerprint("key")
	} else {
		f.word("algorithm", "ed25519")
		d.Public, d.Fingerprint, d.Weak = f.signingKey("public-key")
	}
	d.Reason = Reason(f.word(
		"reason",
		string(ReasonCompromised),
		string(ReasonSuperseded),
		string(ReasonRetired),
	))
	d.CutOff = f.time("cut-off", d.Reason != ReasonCompromised)
}

// NewRevocation returns the file name and the bytes of a revocation. A
// revocation of another key is valid only if the signer is its successor or an
// anchor that may revoke.
func NewRevocation(
	ctx context.Context,
	p RevocationParams,
	signer sign.Signer,
) (name string, b []byte, err error) {
	if p.CutOff.IsZero() {
		p.CutOff = p.Now
	}
	self := sign.FingerprintOf(signer.Public())
	stem := stemOf(KindRevocation, self)
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
	return w.sign(ctx, KindRevocation, stem, signer, p.Now)
}

// RevocationList states which revocations the signer knew when it signed.
type RevocationList struct {
	Header
	Listed []item.Digest // of the revocations' files
}

// About returns the zero fingerprint.
func (d *RevocationList) About() sign.Fingerprint {
	return sign.Fingerprint{}
}

// Name returns the name for the signer.
func (d *RevocationList) Name() string {
	return FileNameBy(KindRevocations, sign.Fingerprint{}, d.Signer)
}

func (d *RevocationList) embedded() ed25519.PublicKey {
	return nil
}

func (d *RevocationList) read(f *fields) {
	for _, s := range f.list("listed", MaxListed, checkDigest) {
		digest, _ := item.ParseDigest(s)
		d.Listed = append(d.Listed, digest)
	}
}

func checkDigest(s string) string {
	if _, err := item.ParseDigest(s); err != nil {
		return "it must be sha256: and 64 lower-case hexadecimal digits"
	}
	return ""
}

// NewRevocationList returns the file name and the bytes of a list of all
// revocations that the signer knows now. It is valid only if the signer is an
// anchor that may revoke.
func NewRevocationList(
	ctx context.Context,
	listed []item.Digest,
	signer sign.Signer,
	now time.Time,
) (name string, b []byte, err error) {
	digests := make([]string, len(listed))
	for i, d := range listed {
		digests[i] = d.String()
	}
	slices.Sort(digests)
	var w writer
	w.head(KindRevocations)
	w.list("listed", digests)
	return w.sign(
		ctx,
		KindRevocations,
		stemBy(KindRevocations, sign.Fingerprint{}, sign.FingerprintOf(signer.Public())),
		signer,
		now,
	)
}

// maxReason is the maximum length of the reason of a release's revocation, in
// bytes.
const maxReason = 512

// Release names one release of a bundle by the manifest that was signed.
type Release struct {
	Bundle   string      `json:"bundle,omitempty"`  // the id in the manifest
	Version  string      `json:"version,omitempty"` // without the leading v
	Manifest item.Digest `json:"manifest,omitzero"` // of the manifest's file, as in a lock
	Content  item.Digest `json:"content,omitzero"`  // of the manifest without its signature line, which is the same for all signers
	Why      string      `json:"why,omitempty"`     // as written: escape it before printing
}

// ReleaseRevocation is the revocation of one release of a bundle.
type ReleaseRevocation struct {
	Header
	Release Release
}

// About returns the zero fingerprint.
func (d *ReleaseRevocation) About() sign.Fingerprint {
	return sign.Fingerprint{}
}

// Name returns the name for the revoked content and the signer.
func (d *ReleaseRevocation) Name() string {
	return stemOfRelease(d.Release.Content, d.Signer) + ".toml"
}

func (d *ReleaseRevocation) embedded() ed25519.PublicKey {
	return nil
}

func (d *ReleaseRevocation) read(f *fields) {
	d.Release = Release{
		Bundle:   f.label("bundle", true, item.MaxID),
		Version:  f.label("version", true, item.MaxID),
		Manifest: f.digest("manifest"),
		Content:  f.digest("content"),
		Why:      f.label("reason", true, maxReason),
	}
	err := item.CheckVersion(d.Release.Version)
	if d.Release.Version != "" && err != nil {
		f.Reject("version", "is not MAJOR.MINOR.PATCH")
	}
}

// NewReleaseRevocation returns the file name and the bytes of the revocation of
// one release. It voids the signatures of the signer and of the keys that the
// signer succeeds, and all signatures if the signer is an anchor that may
// revoke.
func NewReleaseRevocation(
	ctx context.Context,
	r Release,
	signer sign.Signer,
	now time.Time,
) (name string, b []byte, err error) {
	var w writer
	w.head(KindReleaseRevocation)
	w.str("bundle", r.Bundle)
	w.str("version", r.Version)
	w.str("manifest", r.Manifest.String())
	w.str("content", r.Content.String())
	w.str("reason", r.Why)
	return w.sign(
		ctx,
		KindReleaseRevocation,
		stemOfRelease(r.Content, sign.FingerprintOf(signer.Public())),
		signer,
		now,
	)
}
