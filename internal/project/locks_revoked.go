package project

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

// revoked returns the revocations of the project as its lock records them.
func (p *Project) revoked() lock.Revoked {
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
	err := p.Lock.Lock.CheckRevoked(p.revoked())
	if err != nil && m == Lenient {
		p.LockErrs = append(p.LockErrs, err)
		return nil
	}
	return err
}

// Staple records the project's current revocations in its lock and reports whether
// the lock changed. It is called after a command changed them on purpose, with the
// project as it was before; that lock must have been valid.
func (before *Project) Staple(ctx context.Context) (bool, error) {
	if before.Lock == nil || before.Lock.Lock.CheckRevoked(before.revoked()) != nil {
		return false, nil
	}
	release, err := before.hold(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	h, err := before.Env.Open(ctx, Lenient) // open again: the trust documents changed
	if err != nil || h.Lock == nil {
		return false, err
	}
	l := *h.Lock.Lock
	if l.Revoked = h.revoked(); len(lock.Compare(h.Lock.Lock, &l)) == 0 {
		return false, nil
	}
	if err := atomicfile.Project(h.Lock.Dir).Write(lock.LockFile, l.Render(), 0); err != nil {
		return false, diag.Doing("writing "+lock.LockFile, err)
	}
	return true, nil
}
