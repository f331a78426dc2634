package env

import (
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/lock"
)

// LockedUsage is the text of --locked.
const LockedUsage = "use only locked items and bundles (the default in CI; --locked=false is honoured)"

// Until reads an instant: a date, an RFC 3339 time, or a span from now.
func Until(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	d, err := keychain.Span(text)
	return now.Add(d), err
}

// ShowStapled prints that the lock records a new revocation.
func ShowStapled(u *cli.UI, recorded bool) {
	if recorded {
		u.Out("%s records it", lock.LockFile)
	}
}
