package packages

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// checkReleases refuses locked bundles whose release was revoked, judged by the
// lock and by the installed manifest. A nil lock passes.
func (e *Engine) checkReleases(l *lock.Lock) error {
	if l == nil || !e.p.Trust.RevokesReleases() {
		return nil
	}
	var errs []error
	for _, b := range l.Bundles {
		why := e.p.Trust.ReleaseRevoked(b.Manifest, signersOf(b))
		// The signers in the lock may be edited; the installed manifest has its own.
		if why == "" && installs(b) {
			if v, _ := e.installedManifest(b); v.Code == diag.Revoked {
				why = v.Reason()
			}
		}
		if why != "" {
			errs = append(errs, diag.New(diag.Revoked, "checking %s: %s", b.Module(), why).
				WithReason("release").
				WithDetail("bundle", b.ID.String()).
				WithDetail("version", b.Version))
		}
	}
	return joinErrors("checking bundles", errs)
}
