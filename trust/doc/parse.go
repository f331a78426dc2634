package doc

import (
	"crypto/ed25519"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Parse returns the document in a file of that name: strict TOML, the name that
// the content determines, usable keys and, where the key that must sign is in
// the document, a valid signature. The Document is nil exactly if a finding is
// an error.
func Parse(name string, b []byte) (Document, []diag.Finding) {
	return orNil(Read(name, b, nil))
}

// ParseAnyName is Parse for a file that may have any name. The document is read
// under the name that its content determines, which Document.Name returns.
func ParseAnyName(b []byte) (Document, []diag.Finding) {
	return orNil(ReadAnyName("document.toml", b))
}

// As returns the document of one kind from the results of Parse. It returns nil
// if the document is nil or of another kind.
func As[D Document](d Document, _ []diag.Finding) D {
	out, _ := d.(D)
	return out
}

func orNil(d Document, fs []diag.Finding) (Document, []diag.Finding) {
	if diag.Failed(fs) {
		return nil, fs
	}
	return d, fs
}

// Read is Parse, but it also returns the fields of an invalid document that
// could be read. The Document is never nil. proofs may know its keys and signatures, and
// can be nil.
func Read(name string, b []byte, proofs sign.Proofs) (Document, []diag.Finding) {
	h := Header{
		Path:   name,
		Digest: item.DigestOf(b),
		data:   b,
		proofs: proofs,
	}
	stem, isTOML := strings.CutSuffix(filepath.Base(name), ".toml")
	h.Stem = stem
	fs := checkBytes(b)
	if !isTOML {
		fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "a trust document's name ends in .toml"))
	}
	if diag.Failed(fs) {
		return &Unknown{h}, diag.WithPath(fs, name)
	}
	table, syntax := tomlx.Parse(b)
	fs = append(fs, syntax...)
	if table == nil || diag.Failed(syntax) {
		return &Unknown{h}, diag.WithPath(fs, name)
	}
	f := &fields{Reader: tree.NewReader(table, diag.ValidationFailed), proofs: proofs}
	f.word("schema", Schema)
	h.Kind = f.word("kind", KindKey, KindGrant, KindRevocation, KindEndorsement, KindRotation, KindRevocations, KindReleaseRevocation, KindPublisher, KindRegistry)
	d := newDocument(h)
	if _, unknown := d.(*Unknown); !unknown {
		d.read(f)
		f.finish()
	}
	fs = append(fs, f.Findings()...)
	// The signature is checked last: the name and the key that it needs come
	// from fields that must be valid.
	if !diag.Failed(fs) {
		fs = append(fs, prove(d)...)
	}
	return d, diag.WithPath(fs, name)
}

// ReadAnyName is Read for a file that may have any name. If the kind can be
// read, the document is read under the name that its content determines.
func ReadAnyName(name string, b []byte) (Document, []diag.Finding) {
	d, fs := Read(name, b, nil)
	if h := d.Head(); h.Kind == "" || h.Named {
		return d, fs
	}
	return Read(d.Name(), b, nil)
}

// checkBytes reports why bytes cannot be a trust document, before they are
// parsed.
func checkBytes(b []byte) []diag.Finding {
	if len(b) > MaxDocument {
		return []diag.Finding{diag.Errorf(
			diag.TooLarge,
			0,
			0,
			"a trust document has at most %d bytes, this has %d",
			MaxDocument,
			len(b),
		)}
	}
	if fs := hidden.Encoding(b); diag.Failed(fs) {
		return fs
	}
	return hidden.Scan(b)
}

// prove checks the file name and, if the key that must sign is in the document,
// the signature. It records the result in the header.
func prove(d Document) []diag.Finding {
	h := d.Head()
	sp, err := sign.SplitFile(h.data, style())
	switch {
	case err != nil:
		h.Invalid = err
	case !sp.Signed:
		h.Invalid = diag.New(diag.Unsigned, "reading the signature line: there is none")
	case sp.LineNo != 1:
		h.Invalid = diag.New(diag.SigMalformed, "reading the signature line: a trust document has it on line 1")
	default:
		h.Signer = sp.Line.Key
		h.Signed = sp.Line.Time
		if pub := d.embedded(); pub != nil {
			h.Invalid = h.SignedBy(pub)
		}
	}
	var fs []diag.Finding
	// The name is checked after the signer is known: the names of some kinds
	// contain the signer.
	want := d.Name()
	if h.Named = h.Stem+".toml" == want; !h.Named {
		fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "the file must be named %s, after the key inside", want).
			WithReason("document_name", "name", want))
	}
	if r, ok := d.(*Rotation); ok && h.Invalid == nil {
		h.Invalid = r.verifyAcceptance()
	}
	if h.Invalid != nil {
		fs = append(fs, SignatureFinding(h.Invalid))
	}
	return fs
}

// SignedBy returns nil if that key signed this document under its name.
func (h *Header) SignedBy(pub ed25519.PublicKey) error {
	if want := sign.FingerprintOf(pub); h.Signer != want {
		return diag.New(diag.SigInvalid, "verifying: key %s signed it, but key %s must", h.Signer.Short(), want.Short())
	}
	_, err := sign.VerifyBoth(
		h.data,
		nil,
		style(),
		subject(h.Kind, h.Stem),
		sign.OnlyKey(pub),
		h.proofs,
	)
	return err
}

// SignatureFinding returns the finding about a signature that is not valid.
func SignatureFinding(err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.SigInvalid
	}
	return diag.Errorf(code, 1, 1, "%v", err).WithReason("document_signature")
}

// style is the comment syntax of TOML.
func style() sign.Style {
	return sign.Hash()
}
