package keychain

import (
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// OfferedSigner is the signer of a release whom the user may trust.
type OfferedSigner struct {
	Key      *doc.Key
	Document []byte    // the file about the key
	Scope    doc.Scope // what the signer needs for this release
}

// OfferOf returns the signer of a release that no grant of the user covers. Its key
// document is the one in the repository, or else the one that known returns, which the
// user has already: it names the key that the manifest's signature names, and that key
// made the signature. Nothing of it is trusted before the user has compared the
// fingerprint.
func OfferOf(
	in *packages.Inspection,
	known func(sign.Fingerprint) []byte,
	now time.Time,
) (*OfferedSigner, error) {
	if len(in.Signers) == 0 {
		return nil, diag.New(diag.Unsigned, "reading the signer of %s %s: no key has signed its manifest", in.ID, in.Version).WithReason("release")
	}
	s := in.Signers[0]
	i := slices.IndexFunc(in.Signers, func(x packages.ReleaseSigner) bool {
		return x.Verdict == string(diag.KeyUnknown)
	})
	if i >= 0 {
		s = in.Signers[i]
	}
	fail := func(why, reason string) error {
		return diag.New(diag.KeyUnknown, "reading the signer of %s %s: %s", in.ID, in.Version, why).
			WithReason(reason).
			WithDetail("signer", packages.SignerText(s.Key)).
			WithDetail("bundle", in.ID)
	}
	document := s.Document
	if document == nil {
		document = known(s.Key)
	}
	if document == nil {
		return nil, fail("the repository has no document of the key in .ai/trust", "no_key_document")
	}
	k := doc.As[*doc.Key](doc.ParseAnyName(document))
	switch {
	case k == nil || k.Fingerprint != s.Key:
		return nil, fail("the document in .ai/trust is not a valid document of that key", "no_key_document")
	case in.Signers[0].Key == s.Key && in.SignedBy(k.Public) != nil:
		return nil, diag.New(
			diag.SigInvalid,
			"reading the signer of %s %s: the manifest names key %s, which did not sign it",
			in.ID,
			in.Version,
			s.Key.Short(),
		).
			WithReason("release")
	case !k.NotAfter.After(now):
		return nil, diag.New(
			diag.Expired,
			"reading the signer of %s %s: its key expired on %s",
			in.ID,
			in.Version,
			k.NotAfter.UTC().Format(time.DateOnly),
		).
			WithReason("document")
	}
	return &OfferedSigner{Key: k, Document: document, Scope: doc.Scope{Kinds: in.Kinds, Namespaces: in.Namespaces, May: doc.GrantUses()}}, nil
}

// KnownDocument returns a valid document of a key that the user, the machine or the
// project has, or nil.
func (kc *Keychain) KnownDocument(key sign.Fingerprint) []byte {
	for _, d := range kc.Trust.Documents(key) {
		b, err := openat.ReadRegular(d.Path, openat.MaxText)
		if err == nil {
			return b
		}
	}
	return nil
}

// ReplacedGrant returns the user's grant for a key that a new one replaces, nil without one
// that permits something now. less reports whether a grant with the new scope permits less
// in some part.
func (kc *Keychain) ReplacedGrant(key sign.Fingerprint, scope doc.Scope) (old *doc.Permission, less bool) {
	for _, g := range kc.Trust.Grants(key) {
		if !g.NotAfter.After(kc.Now()) {
			continue
		}
		if old = g; !scope.Includes(g.Scope) {
			return g, true
		}
	}
	return old, false
}
