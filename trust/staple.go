package trust

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Revoked are the revocations in a project, according to its own documents. They
// do not depend on what this machine trusts, so every machine gets the same.
type Revoked struct {
	Documents []item.Digest // of the revocations, in order
	Lists     []ListState   // of the lists of revocations, by signer
}

// ListState is the time at which a key listed the revocations that it knew.
type ListState struct {
	By sign.Fingerprint
	At time.Time
}

// ProjectRevoked returns the validly signed revocations and lists of the project.
// A signature by a key without a document in the project is left out, because it
// cannot be verified on every machine.
func (s *Store) ProjectRevoked() Revoked {
	return s.revoked
}

// projectRevoked fills what Store.ProjectRevoked returns.
func (b *builder) projectRevoked() {
	out := &b.store.revoked
	keys := b.projectKeys()
	verified := func(h *doc.Header, o origin, self bool) bool {
		if o.tier != TierProject || !h.Named || h.Invalid != nil {
			return false
		}
		pub, known := keys[h.Signer]
		return self || known && h.SignedBy(pub) == nil
	}
	for _, d := range b.docs.revocations {
		if verified(&d.Header, d.origin, d.Public != nil) {
			out.Documents = append(out.Documents, d.Digest)
		}
	}
	for _, d := range b.docs.releases {
		if verified(&d.Header, d.origin, false) {
			out.Documents = append(out.Documents, d.Digest)
		}
	}
	for _, d := range b.docs.lists {
		if verified(&d.Header, d.origin, false) {
			out.Lists = append(out.Lists, ListState{By: d.Signer, At: d.Signed.UTC()})
		}
	}
	slices.SortFunc(out.Documents, func(x, y item.Digest) int {
		return bytes.Compare(x[:], y[:])
	})
	slices.SortFunc(out.Lists, func(x, y ListState) int {
		return bytes.Compare(x.By[:], y.By[:])
	})
}

// projectKeys returns the keys with a valid document in the project, including
// those that the caller named as anchors.
func (b *builder) projectKeys() map[sign.Fingerprint]ed25519.PublicKey {
	out := map[sign.Fingerprint]ed25519.PublicKey{}
	for _, d := range b.docs.keys {
		if d.inProject && d.Named && d.Invalid == nil && d.Public != nil {
			out[d.Fingerprint] = d.Public
		}
	}
	return out
}
