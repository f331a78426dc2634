package trust

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
)

// ExpiryNotice is how long before its end the expiry of a key is reported.
const ExpiryNotice = 30 * 24 * time.Hour

// DaysLeft returns the days until the key expires, rounded up; 0 if it has expired.
func (k KeyInfo) DaysLeft(now time.Time) int {
	left := k.NotAfter.Sub(now)
	if left <= 0 {
		return 0
	}
	return int((left + 24*time.Hour - 1) / (24 * time.Hour))
}

// Ending returns a warning about a key that expires within ExpiryNotice, and about
// an own key in its grace: other users are already refused what it signed. ok is
// false for every other key.
func (k KeyInfo) Ending(now time.Time) (f diag.Finding, ok bool) {
	left := k.NotAfter.Sub(now)
	switch {
	case k.NotAfter.IsZero() || k.EmbeddedOnly || k.State != StateValid && k.State != StateGrace && k.State != StateRevoked:
		return f, false
	case left > ExpiryNotice:
		return f, false
	case left > 0 && k.Own && k.State == StateRevoked:
		return diag.Warnf(
			diag.Expired,
			0,
			0,
			"your former key %s (%s) expires on %s, in %s: sign what it signed again with `rye sign --take-over`",
			k.Fingerprint.Short(),
			k.Owner,
			k.NotAfter.UTC().Format(time.DateOnly),
			plural(k.DaysLeft(now), "day"),
		), true
	case left > 0 && k.Own:
		return diag.Warnf(
			diag.Expired,
			0,
			0,
			"your key %s (%s) expires on %s, in %s: replace it with `rye key rotate --resign`",
			k.Fingerprint.Short(),
			k.Owner,
			k.NotAfter.UTC().Format(time.DateOnly),
			plural(k.DaysLeft(now), "day"),
		), true
	case left > 0:
		return diag.Warnf(
			diag.Expired,
			0,
			0,
			"key %s (%s) expires on %s, in %s: its owner replaces it with `rye key rotate`",
			k.Fingerprint.Short(),
			k.Owner,
			k.NotAfter.UTC().Format(time.DateOnly),
			plural(k.DaysLeft(now), "day"),
		), true
	case k.Own && !now.After(k.NotAfter.Add(OwnGrace)):
		return diag.Warnf(
			diag.Expired,
			0,
			0,
			"your key %s (%s) expired on %s: other users are refused what it signed and their lock does not record; replace it with `rye key rotate --resign`",
			k.Fingerprint.Short(),
			k.Owner,
			k.NotAfter.UTC().Format(time.DateOnly),
		), true
	}
	return f, false
}

// KeptByLock returns the warning about an expired key of which n files or releases stay
// usable because the lock records them.
func (k KeyInfo) KeptByLock(n int, noun string) diag.Finding {
	return diag.Warnf(diag.Expired, 0, 0, "key %s (%s) expired on %s: what the lock records of it stays usable until the lock changes (%s); its owner replaces it with `rye key rotate`",
		k.Fingerprint.Short(), k.Owner, k.NotAfter.UTC().Format(time.DateOnly), plural(n, noun))
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
