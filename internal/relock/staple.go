package relock

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
)

// Staple records the project's current revocations in its lock and reports whether
// the lock changed. It is called after a command changed them on purpose, with the
// project as it was before; that lock must have been valid.
func Staple(ctx context.Context, before *project.Project) (bool, error) {
	if before.Lock == nil || before.Lock.Lock.CheckRevoked(before.Revoked()) != nil {
		return false, nil
	}
	release, err := Hold(ctx, before)
	if err != nil {
		return false, err
	}
	defer release()
	h, err := before.Env.Open(ctx, project.Lenient) // open again: the trust documents changed
	if err != nil || h.Lock == nil {
		return false, err
	}
	l := *h.Lock.Lock
	if l.Revoked = h.Revoked(); len(lock.Compare(h.Lock.Lock, &l)) == 0 {
		return false, nil
	}
	err = atomicfile.Project(h.Lock.Dir).Write(lock.LockFile, l.Render(), 0)
	if err != nil {
		return false, diag.Doing("writing "+lock.LockFile, err)
	}
	return true, nil
}
