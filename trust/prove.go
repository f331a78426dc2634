package trust

import (
	"crypto/ed25519"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// documentStyle is how TOML writes a comment.
func documentStyle() sign.Style { return sign.Style{Name: "#", Open: "# "} }

// subject is what the statement of a document's signature names: its kind and
// its file's stem, under the header of its use.
func subject(kind, stem string) sign.Subject {
	use := sign.UseTrust
	if kind == KindRevocation {
		use = sign.UseRevocation
	}
	return sign.Subject{Use: use, Kind: kind, ID: stem}
}

// FileName returns the only name that a document of this kind for this key may
// have.
func FileName(kind string, key sign.Fingerprint) string { return stemFor(kind, key) + ".toml" }

func stemFor(kind string, key sign.Fingerprint) string { return kind + "-" + key.String() }

// prove checks the file name and the signature as far as the document itself
// allows: a key document and a revocation must be signed by the key inside.
func (d *Document) prove() []diag.Finding {
	var fs []diag.Finding
	want := stemFor(d.Kind, d.Fingerprint)
	if d.named = d.Stem == want; !d.named {
		f := diag.Errorf(diag.ValidationFailed, 0, 0, "the file must be named %s.toml, after the key inside", want)
		f.Fix = "rename it; if the name was right, somebody changed the key"
		fs = append(fs, f)
	}
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
		if d.Kind != KindGrant {
			d.bad = d.signedBy(d.Public)
		}
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

func signatureFinding(err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.SigInvalid
	}
	return diag.Errorf(code, 1, 1, "%v", err)
}
