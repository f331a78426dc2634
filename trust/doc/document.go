// Package doc reads and writes trust documents: keys, grants, endorsements,
// revocations, rotations, publishers and registries. A document is a signed TOML file with a
// name that its content determines. docs/reference/format/trust-documents.md describes the
// format.
//
// The package checks the syntax, the file name and, where the key that must sign
// is in the document itself, the signature. It opens no file, and it does not
// decide whether a document is trusted: package trust does.
package doc

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Schema is the value of the field schema of every trust document.
const Schema = "rye.trust/v1"

// The kinds of trust documents.
const (
	KindKey        = "key"        // a public key, signed by itself
	KindGrant      = "grant"      // one of the user's own keys permits a key document
	KindRevocation = "revocation" // a key revokes itself, or its successor or an anchor revokes it

	KindEndorsement = "endorsement" // an anchor permits a key document, for every user who has that anchor
	KindRotation    = "rotation"    // a key names its successor, and the successor accepts
	KindRevocations = "revocations" // an anchor lists the revocations that it knows, as of its signature

	KindPublisher         = "publisher"          // the keys that must sign the releases of some bundles, signed by several root keys
	KindReleaseRevocation = "release-revocation" // a signer of a release, or an anchor, revokes the release
)

// Limits of trust documents.
const (
	MaxDocument = 64 << 10 // bytes of one document
	MaxListed   = 800      // revocations in one list
	MaxYears    = 3        // from not-before to not-after of a key

	// A permission is made while the key is valid and ends MaxYears later.
	maxPermission = 2 * MaxYears
)

// Document is one parsed trust document: a *Key, *Grant, *Endorsement,
// *Revocation, *Rotation, *RevocationList, *ReleaseRevocation,
// *PublisherCopy or *Registry, or an *Unknown whose kind could not be read.
type Document interface {
	// Head returns the fields that every document has.
	Head() *Header
	// About returns the key that the document is about, zero if it is not about
	// one key.
	About() sign.Fingerprint
	// Name returns the only name that the document's file may have.
	Name() string

	// read fills the document from its fields.
	read(f *fields)
	// embedded returns the key in the document that must sign the document, nil
	// if another key signs it.
	embedded() ed25519.PublicKey
}

// Header is what every trust document has besides the fields of its kind.
type Header struct {
	Path   string      // as given to Parse
	Stem   string      // the file name without .toml, which is the id that was signed
	Kind   string      // "" if it could not be read
	Digest item.Digest // of the whole file

	Signer sign.Fingerprint // as the signature line names it
	Signed time.Time        // as the signature line claims

	Named   bool  // the file name is the one that the content determines
	Weak    error // why a key in the document may not be used, with the code KEY_WEAK
	Invalid error // why the signature is not valid; nil also if another key signs, which SignedBy checks

	data   []byte
	proofs sign.Proofs
}

// Head returns h.
func (h *Header) Head() *Header {
	return h
}

// Data returns the bytes of the file.
func (h *Header) Data() []byte {
	return h.data
}

// Unknown is a document whose kind could not be read. It has no fields.
type Unknown struct{ Header }

// About returns the zero fingerprint.
func (d *Unknown) About() sign.Fingerprint {
	return sign.Fingerprint{}
}

// Name returns the name of a document of that kind without a key.
func (d *Unknown) Name() string {
	return FileName(d.Kind, sign.Fingerprint{})
}

func (d *Unknown) read(*fields) {}
func (d *Unknown) embedded() ed25519.PublicKey {
	return nil
}

// newDocument returns an empty document of the header's kind.
func newDocument(h Header) Document {
	switch h.Kind {
	case KindKey:
		return &Key{Header: h}
	case KindGrant:
		return &Grant{Permission{Header: h}}
	case KindEndorsement:
		return &Endorsement{Permission{Header: h}}
	case KindRevocation:
		return &Revocation{Header: h}
	case KindRotation:
		return &Rotation{Header: h}
	case KindRevocations:
		return &RevocationList{Header: h}
	case KindReleaseRevocation:
		return &ReleaseRevocation{Header: h}
	case KindPublisher:
		return &PublisherCopy{Header: h}
	case KindRegistry:
		return &Registry{Header: h}
	}
	return &Unknown{Header: h}
}
