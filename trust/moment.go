package trust

import (
	"time"

	"github.com/ryeos/rye/item"
)

// How the time of a signature is known, strongest first.
const (
	AnchorLog     = "log"     // a transparency log included the file
	AnchorLock    = "lock"    // a committed lockfile recorded the file
	AnchorClaimed = "claimed" // nobody but the signer vouches for it
)

// Moment is when a file is known to have existed, and how that is known.
type Moment struct {
	Time   time.Time
	Anchor string // AnchorLog or AnchorLock
}

// moments are what is known about the time of one signature: its claim, and
// what anchors it, when something does.
type moments struct {
	claimed time.Time
	anchor  Moment // zero: nothing
}

func claimed(t time.Time) moments { return moments{claimed: t} }

// moment asks for the anchor of a file. A claim later than its anchor
// contradicts it, and then only the claim is left.
func (s *Store) moment(digest item.Digest, claim time.Time) moments {
	m := claimed(claim)
	if s.known == nil {
		return m
	}
	if a, ok := s.known(digest); ok && (a.Anchor == AnchorLog || a.Anchor == AnchorLock) && !claim.After(a.Time.Add(ClockSkew)) {
		m.anchor = a
	}
	return m
}

// how names the anchor.
func (m moments) how() string {
	if m.anchor.Anchor == "" {
		return AnchorClaimed
	}
	return m.anchor.Anchor
}

// within reports whether the anchor proves that the signature was there before
// that end.
func (m moments) within(end time.Time) bool {
	return m.anchor.Anchor != "" && !m.anchor.Time.After(end)
}
