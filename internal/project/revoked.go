package project

import (
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

// Revoked returns the revocations of the project as its lock records them.
func (p *Project) Revoked() lock.Revoked {
	state := p.Trust.ProjectRevoked()
	out := lock.Revoked{Documents: state.Documents}
	for _, l := range state.Lists {
		out.Lists = append(out.Lists, lock.RevokedList{Signer: packages.SignerText(l.By), At: l.At})
	}
	return out
}

// checkRevoked returns an error if the project no longer contains a revocation that
// its lock records. In Lenient mode the error is remembered in LockErrs.
func (p *Project) checkRevoked(m Mode) error {
	if p.Lock == nil {
		return nil
	}
	err := p.Lock.Lock.CheckRevoked(p.Revoked())
	if err != nil && m == Lenient {
		p.LockErrs = append(p.LockErrs, err)
		return nil
	}
	return err
}
