package doc

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// Rotation names the successor of a key. The old key signs the file, the
// successor the terms in it.
type Rotation struct {
	Header
	Fingerprint sign.Fingerprint // of the old key
	Public      ed25519.PublicKey
	Successor   ed25519.PublicKey
	From        time.Time // the old key is superseded from here on

	accepted string // the successor's signature line
}

// RotationParams is the content of a new rotation.
type RotationParams struct {
	From time.Time // the old key is superseded from here on; zero: Now
	Now  time.Time // the time of both signatures
}

// About returns the old key.
func (d *Rotation) About() sign.Fingerprint {
	return d.Fingerprint
}

// Name returns the name for the old key.
func (d *Rotation) Name() string {
	return FileName(KindRotation, d.Fingerprint)
}

func (d *Rotation) embedded() ed25519.PublicKey {
	return d.Public
}

func (d *Rotation) read(f *fields) {
	f.word("algorithm", "ed25519")
	d.Public, d.Fingerprint, d.Weak = f.signingKey("public-key")
	d.Successor = f.publicKey("successor")
	if d.Successor != nil {
		if err := sign.CheckKeyKnown(d.Successor, f.proofs); err != nil {
			d.Weak = err
			f.RejectErr("successor", diag.New(diag.KeyWeak, "the key may not be used: %w", err))
		}
		if slices.Equal(d.Successor, d.Public) {
			f.Reject("successor", "is the key itself")
		}
	}
	d.From = f.time("from", true)
	d.accepted = f.label("accepted", true, 512)
}

// verifyAcceptance returns nil if the successor signed the terms. Without its
// signature anyone could name a stranger's key as a successor.
func (d *Rotation) verifyAcceptance() error {
	terms := rotationTerms(d.Public, d.Successor, d.From)
	_, err := sign.VerifyDetached(
		terms,
		[]byte(d.accepted+"\n"),
		acceptance(d.Fingerprint),
		sign.OnlyKey(d.Successor),
	)
	return err
}

// acceptance is what a successor's signature in a rotation is about.
func acceptance(old sign.Fingerprint) sign.Subject {
	return sign.Subject{Use: sign.UseRotation, Kind: "succession", ID: stemOf(KindRotation, old)}
}

// NewRotation returns the file name and the bytes of a rotation.
func NewRotation(
	ctx context.Context,
	p RotationParams,
	old, successor sign.Signer,
) (name string, b []byte, err error) {
	if p.From.IsZero() {
		p.From = p.Now
	}
	fp := sign.FingerprintOf(old.Public())
	terms := rotationTerms(old.Public(), successor.Public(), p.From)
	accepted, _, err := sign.SignDetached(ctx, terms, nil, acceptance(fp), successor, p.Now)
	if err != nil {
		return "", nil, err
	}
	var w writer
	w.b.Write(terms)
	w.str("accepted", strings.TrimSuffix(string(accepted), "\n"))
	return w.sign(ctx, KindRotation, stemOf(KindRotation, fp), old, p.Now)
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
