package main

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

// revoked returns the revocations of the project as its lock records them.
func (h *house) revoked() lock.Revoked {
	state := h.trust.ProjectRevoked()
	out := lock.Revoked{Documents: state.Documents}
	for _, l := range state.Lists {
		out.Lists = append(out.Lists, lock.RevokedList{Signer: packages.SignerText(l.By), At: l.At})
	}
	return out
}

// checkRevoked refuses a project that took back a revocation which its lock was
// written with. A lenient house remembers that and goes on.
func (h *house) checkRevoked(m mode) error {
	if h.lock == nil {
		return nil
	}
	err := h.lock.lock.CheckRevoked(h.revoked())
	if err != nil && m == lenient {
		h.lockErrs = append(h.lockErrs, err)
		return nil
	}
	return err
}

// staple writes the revocations that the project holds by now into its lock,
// when it has one, and says whether it did. Whoever just changed them on purpose
// calls it; the lock of before must have held.
func (c *call) staple(ctx context.Context, before *house) (bool, error) {
	if before.lock == nil || before.lock.lock.CheckRevoked(before.revoked()) != nil {
		return false, nil
	}
	release, err := before.hold(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	h, err := c.house(ctx, lenient) // anew: the documents are others now
	if err != nil || h.lock == nil {
		return false, err
	}
	l := *h.lock.lock
	if l.Revoked = h.revoked(); len(lock.Compare(h.lock.lock, &l)) == 0 {
		return false, nil
	}
	if err := atomicfile.Write(filepath.Join(h.lock.dir, lock.LockFile), l.Render(), 0); err != nil {
		return false, diag.New(diag.FileSystemError, "writing %s: %w", lock.LockFile, err)
	}
	return true, nil
}

// stapled says that the lock knows.
func (u *ui) stapled(is bool) {
	if is {
		u.Out("%s records it", lock.LockFile)
	}
}
