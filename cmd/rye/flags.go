package main

import (
	"strings"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
)

// lockedUsage is the text of --locked.
const lockedUsage = "use only locked items and bundles (the default in CI)"

// until reads an instant: a date, an RFC 3339 time, or a span from now.
func until(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	d, err := project.Span(text)
	return now.Add(d), err
}

// listFlag splits the values of a repeatable flag at commas.
func listFlag(c *cli.Call, name string) []string {
	var out []string
	for _, v := range c.Strs(name) {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// showStapled prints that the lock records a new revocation.
func showStapled(u *cli.UI, recorded bool) {
	if recorded {
		u.Out("%s records it", lock.LockFile)
	}
}
