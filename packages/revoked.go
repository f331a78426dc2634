package packages

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// takenBack refuses locked bundles whose release was revoked, by what the lock
// says of them and by what is installed.
func (e *Engine) takenBack(l *lock.Lock) error {
	if l == nil || !e.p.Trust.RevokesReleases() {
		return nil
	}
	var errs []error
	for _, b := range l.Bundles {
		why := e.p.Trust.ReleaseRevoked(b.Manifest, signersOf(b))
		if why == "" && installs(b) {
			if v, _ := e.manifestVerdict(b); v.Code == diag.Revoked {
				why = v.Reason()
			}
		}
		if why != "" {
			errs = append(errs, diag.New(diag.Revoked, "checking %s: %s", b.Module(), why).WithDetail("bundle", b.ID).WithDetail("version", b.Version).WithHint("%s", otherRelease))
		}
	}
	return together("checking bundles", errs)
}

// otherRelease is what to do about a release that was revoked.
const otherRelease = "rye update takes a later release; rye remove takes the bundle out"
