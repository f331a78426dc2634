package trust

import (
	"crypto/ed25519"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// documentStyle is how TOML writes a comment.
func documentStyle() sign.Style { return sign.Style{Name: "#", Open: "# "} }

// subject is what the statement of a document's signature names: its kind and
// its file's stem, under the header of its use.
func subject(kind, stem string) sign.Subject {
	use := sign.UseTrust
	switch kind {
	case KindRevocation, KindRevocations, KindReleaseRevocation:
		use = sign.UseRevocation
	case KindEndorsement:
		use = sign.UseEndorsement
	case KindRotation:
		use = sign.UseRotation
	}
	return sign.Subject{Use: use, Kind: kind, ID: stem}
}

// FileName returns the only name that a document of this kind for this key may
// have, where the key itself signs it or the user's own key does.
func FileName(kind string, key sign.Fingerprint) string { return stemFor(kind, key) + ".toml" }

// FileNameBy returns the only name that a document of this kind about key may
// have, where the key by signs it: an endorsement, or another's revocation.
func FileNameBy(kind string, key, by sign.Fingerprint) string {
	return stemBy(kind, key, by) + ".toml"
}

func stemFor(kind string, key sign.Fingerprint) string { return kind + "-" + key.String() }

func stemBy(kind string, key, by sign.Fingerprint) string {
	switch kind {
	case KindEndorsement:
		return "endorse-" + key.String() + "-by-" + by.String()
	case KindRevocations:
		return kind + "-by-" + by.String()
	}
	return stemFor(kind, key) + "-by-" + by.String()
}

func stemOfRelease(content item.Digest, by sign.Fingerprint) string {
	return KindReleaseRevocation + "-" + content.Hex() + "-by-" + by.String()
}

// Name returns the only name that the document's file may have.
func (d *Document) Name() string { return d.wantStem() + ".toml" }

func (d *Document) wantStem() string {
	switch {
	case d.Kind == KindPublisher:
		return stemOfPublisher(d.Publisher, d.Signer)
	case d.Kind == KindReleaseRevocation:
		return stemOfRelease(d.Release.Content, d.Signer)
	case d.Kind == KindEndorsement, d.Kind == KindRevocations, d.foreign() && d.Kind == KindRevocation:
		return stemBy(d.Kind, d.Fingerprint, d.Signer)
	}
	return stemFor(d.Kind, d.Fingerprint)
}

// foreign reports whether another key than one inside the document signs it.
func (d *Document) foreign() bool { return d.Public == nil }

// prove checks the file name and the signature as far as the document itself
// allows: a key document, a rotation and a key's revocation of itself are
// signed by the key inside.
func (d *Document) prove() []diag.Finding {
	var fs []diag.Finding
	sp, err := sign.SplitFile(d.raw, documentStyle())
	switch {
	case err != nil:
		d.bad = err
	case !sp.Signed:
		d.bad = diag.New(diag.Unsigned, "reading the signature line: there is none")
	case sp.LineNo != 1:
		d.bad = diag.New(diag.SigMalformed, "reading the signature line: a trust document has it on line 1")
	default:
		d.Signer, d.Signed = sp.Line.Key, sp.Line.Time
		if !d.foreign() {
			d.bad = d.signedBy(d.Public)
		}
	}
	want := d.wantStem()
	if d.named = d.Stem == want; !d.named {
		f := diag.Errorf(diag.ValidationFailed, 0, 0, "the file must be named %s.toml, after the key inside", want)
		f.Fix = "rename it; if the name was right, somebody changed the key"
		fs = append(fs, f)
	}
	if d.bad == nil && d.Kind == KindRotation {
		d.bad = d.agreed()
	}
	if d.bad != nil {
		fs = append(fs, signatureFinding(d.bad))
	}
	return fs
}

// signedBy returns nil when that key signed this document under its name.
func (d *Document) signedBy(pub ed25519.PublicKey) error {
	if want := sign.FingerprintOf(pub); d.Signer != want {
		return diag.New(diag.SigInvalid, "verifying: key %s signed it, but key %s must", d.Signer.Short(), want.Short())
	}
	_, err := sign.Verify(d.raw, documentStyle(), subject(d.Kind, d.Stem), sign.OnlyKey(pub))
	return err
}

// agreed returns nil when the successor of a rotation signed its terms, so that
// nobody makes another's key his successor.
func (d *Document) agreed() error {
	terms := rotationTerms(d.Public, d.Successor, d.CutOff)
	_, err := sign.VerifyDetached(terms, []byte(d.accepted+"\n"), succession(d.Fingerprint), sign.OnlyKey(d.Successor))
	return err
}

// succession is what a successor's signature in a rotation is about.
func succession(old sign.Fingerprint) sign.Subject {
	return sign.Subject{Use: sign.UseRotation, Kind: "succession", ID: stemFor(KindRotation, old)}
}

func signatureFinding(err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.SigInvalid
	}
	f := diag.Errorf(code, 1, 1, "%v", err)
	f.Fix = "get it again from whoever made it: a trust document is never mended by hand, nor signed with rye sign"
	return f
}
