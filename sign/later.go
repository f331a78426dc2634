package sign

import (
	"context"
	"crypto/ed25519"
	"sync"
)

// Later returns a signer for a public key that opens the private one when it first
// signs, and once: a command that signs nothing must not ask for a passphrase.
func Later(public ed25519.PublicKey, name string, open func() (Signer, error)) Signer {
	return &laterSigner{public, name, sync.OnceValues(open)}
}

type laterSigner struct {
	public ed25519.PublicKey
	name   string
	open   func() (Signer, error)
}

func (s *laterSigner) Public() ed25519.PublicKey {
	return s.public
}
func (s *laterSigner) String() string {
	return s.name
}

func (s *laterSigner) Sign(ctx context.Context, msg []byte) ([]byte, error) {
	opened, err := s.open()
	if err != nil {
		return nil, err
	}
	return opened.Sign(ctx, msg)
}
