package client

import (
	"crypto/ed25519"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// keyIn returns the key in the key document of a namespace. The caller compares its
// fingerprint with the fingerprint of the signer.
func keyIn(document []byte) (sign.Fingerprint, ed25519.PublicKey, error) {
	d, found := doc.ParseAnyName(document)
	key := doc.As[*doc.Key](d, found)
	if key == nil {
		return sign.Fingerprint{}, nil, diag.New(diag.KeyUnknown, "reading the key document: it has no key")
	}
	return key.Fingerprint, key.Public, nil
}
