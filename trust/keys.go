package trust

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/sign"
)

// KeyState says whether a key counts at the moment it was asked.
type KeyState string

// The states.
const (
	StateValid       KeyState = "valid"
	StateGrace       KeyState = "grace" // an own key shortly after its end
	StateNotYetValid KeyState = "not yet valid"
	StateExpired     KeyState = "expired"
	StateRevoked     KeyState = "revoked"
	StateNotTrusted  KeyState = "not trusted" // documents name it, nothing grants it
	StateWeak        KeyState = "weak"
)

// Usable reports whether a key of its owner may sign: it is valid, or in the
// days of grace.
func (s KeyState) Usable() bool { return s == StateValid || s == StateGrace }

// KeyInfo is what rye trust list and rye key list show of one key. Its strings
// are safe to print.
type KeyInfo struct {
	Fingerprint  sign.Fingerprint `json:"fingerprint"`
	Owner        string           `json:"owner,omitempty"`
	Identities   []string         `json:"identities,omitempty"`
	Own          bool             `json:"own"`
	EmbeddedOnly bool             `json:"embedded_only,omitempty"`
	Tier         Tier             `json:"tier,omitempty"` // of what grants trust
	Documents    []string         `json:"documents,omitempty"`
	Grants       []string         `json:"grants,omitempty"`
	Endorsements []string         `json:"endorsements,omitempty"` // that an anchor signed
	Rotations    []string         `json:"rotations,omitempty"`    // that lead to it, the last one first
	Accepted     bool             `json:"accepted,omitempty"`     // by the acceptance of the project's set
	Revocations  []string         `json:"revocations,omitempty"`
	Ignored      []string         `json:"ignored,omitempty"` // revocations and rotations that do not count, and why
	NotBefore    time.Time        `json:"not_before,omitzero"`
	NotAfter     time.Time        `json:"not_after,omitzero"`
	Scope        Bounds           `json:"scope,omitempty"` // all must allow
	State        KeyState         `json:"state"`
	Reasons      []string         `json:"reasons,omitempty"`
}

// Keys returns every key that something outside the project speaks of: own keys
// first, then by tier, owner and fingerprint.
func (s *Store) Keys() []KeyInfo {
	var out []KeyInfo
	now := s.clockTime()
	for _, e := range s.keys {
		if e.outsideProject() {
			out = append(out, s.info(e, now))
		}
	}
	slices.SortFunc(out, func(a, b KeyInfo) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Owner, b.Owner), bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]))
	})
	return out
}

// rank puts what is nearest to the user first, and what nothing grants last.
func (k KeyInfo) rank() int {
	if k.Own {
		return 0
	}
	tiers := []Tier{TierUser, TierSystem, TierProject, TierEmbedded, ""}
	return 1 + slices.Index(tiers, k.Tier)
}

// Key returns what is known of one key, of the project's documents too.
func (s *Store) Key(fp sign.Fingerprint) (KeyInfo, bool) {
	e := s.keys[fp]
	if e == nil {
		return KeyInfo{}, false
	}
	return s.info(e, s.clockTime()), true
}

// Documents returns the valid key documents about a key, strongest tier first.
func (s *Store) Documents(fp sign.Fingerprint) []*Document {
	if e := s.keys[fp]; e != nil {
		return slices.Clone(e.documents)
	}
	return nil
}

func (e *entry) outsideProject() bool {
	above := func(d *Document) bool { return d.Tier != TierProject && !d.seen }
	return len(e.bases) > 0 || slices.ContainsFunc(e.documents, above) || slices.ContainsFunc(e.revocations, above)
}

func (s *Store) info(e *entry, now time.Time) KeyInfo {
	k := KeyInfo{
		Fingerprint: e.key, Owner: e.label(), Own: e.own() != nil, EmbeddedOnly: e.embeddedOnly,
		Documents: paths(e.documents), Grants: paths(e.grants), Revocations: paths(e.revocations),
		Scope: e.bounds, Ignored: e.ignored,
	}
	for _, x := range e.bases {
		k.Accepted = k.Accepted || x.accepted
		if x.endorser != nil && !slices.Contains(k.Endorsements, quoted(x.grant.Path)) {
			k.Endorsements = append(k.Endorsements, quoted(x.grant.Path))
		}
		for y := x; y.rotation != nil && len(k.Rotations) < x.hops; y = y.prev {
			k.Rotations = append(k.Rotations, quoted(y.rotation.Path))
		}
	}
	if len(e.documents) > 0 {
		for _, id := range e.documents[0].Identities {
			k.Identities = append(k.Identities, hidden.Visible(id))
		}
	}
	b, code, why := e.best(s, claimed(now), now, nil)
	k.State = e.state(b, code, now)
	k.Scope = slices.Concat(k.Scope, b.limits())
	if b != nil {
		k.Tier, k.NotBefore, k.NotAfter = b.tier, b.notBefore, b.notAfter
	} else if len(e.documents) > 0 {
		k.NotBefore, k.NotAfter = e.documents[0].NotBefore, e.documents[0].NotAfter
	}
	if why != "" {
		k.Reasons = append(k.Reasons, why)
	}
	if s.blind != "" && !e.embeddedOnly {
		k.State, k.Reasons = StateNotTrusted, s.whyUnknown(e, e.key, now)
	}
	if b == nil {
		k.Reasons = append(k.Reasons, e.whyNot(s, now)...)
	}
	return k
}

func (e *entry) state(b *basis, code diag.Code, now time.Time) KeyState {
	switch {
	case e.weak:
		return StateWeak
	case e.revokedAt(claimed(now)) != nil:
		return StateRevoked
	case b == nil:
		return StateNotTrusted
	case code == diag.Expired && b.own && !now.After(b.notAfter.Add(OwnGrace)):
		return StateGrace
	case code == diag.Expired:
		return StateExpired
	case code == diag.NotYetValid:
		return StateNotYetValid
	}
	return StateValid
}

func paths(docs []*Document) []string {
	var out []string
	for _, d := range docs {
		out = append(out, quoted(d.Path))
	}
	return out
}
