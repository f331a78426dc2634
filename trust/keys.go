package trust

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// KeyState is whether a key is trusted at the time of the call.
type KeyState string

// The states.
const (
	StateValid       KeyState = "valid"
	StateGrace       KeyState = "grace" // an own key, less than OwnGrace after its end
	StateNotYetValid KeyState = "not yet valid"
	StateExpired     KeyState = "expired"
	StateRevoked     KeyState = "revoked"
	StateNotTrusted  KeyState = "not trusted" // documents name it, none permits it
	StateWeak        KeyState = "weak"
)

// Usable reports whether the owner may sign with the key: it is valid, or in
// OwnGrace after its end.
func (s KeyState) Usable() bool {
	return s == StateValid || s == StateGrace
}

// KeyInfo is what is shown of one key. Its strings are safe to print.
type KeyInfo struct {
	Fingerprint  sign.Fingerprint `json:"fingerprint"`
	Owner        string           `json:"owner,omitempty"`
	Own          bool             `json:"own"`
	GrantOnly    bool             `json:"grant_only,omitempty"` // a grant key: it signs grants and nothing else
	EmbeddedOnly bool             `json:"embedded_only,omitempty"`
	Tier         Tier             `json:"tier,omitempty"` // of the basis
	Documents    []string         `json:"documents,omitempty"`
	Grants       []string         `json:"grants,omitempty"`
	Endorsements []string         `json:"endorsements,omitempty"` // that an anchor signed
	Rotations    []string         `json:"rotations,omitempty"`    // that lead to it, the last one first
	Accepted     bool             `json:"accepted,omitempty"`     // with the project's set
	Revocations  []string         `json:"revocations,omitempty"`
	Ignored      []string         `json:"ignored,omitempty"` // revocations and rotations that are not valid, and why
	NotBefore    time.Time        `json:"not_before,omitzero"`
	NotAfter     time.Time        `json:"not_after,omitzero"`
	Scope        Bounds           `json:"scope,omitempty"` // all must permit
	State        KeyState         `json:"state"`
	Compromised  bool             `json:"compromised,omitempty"` // none of its signatures is valid
	Reasons      []string         `json:"reasons,omitempty"`
}

// Keys returns every key with a document outside the project or a basis: own keys
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
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.Owner, b.Owner),
			bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]),
		)
	})
	return out
}

// rank orders the user's own keys first and keys without a basis last.
func (k KeyInfo) rank() int {
	if k.Own {
		return 0
	}
	tiers := []Tier{TierUser, TierSystem, TierProject, TierEmbedded, ""}
	return 1 + slices.Index(tiers, k.Tier)
}

// Key describes one key, including the project's documents about it.
func (s *Store) Key(fp sign.Fingerprint) (KeyInfo, bool) {
	e := s.keys[fp]
	if e == nil {
		return KeyInfo{}, false
	}
	return s.info(e, s.clockTime()), true
}

// Documents returns the valid key documents about a key, strongest tier first.
func (s *Store) Documents(fp sign.Fingerprint) []*doc.Key {
	var out []*doc.Key
	if e := s.keys[fp]; e != nil {
		for _, d := range e.documents {
			out = append(out, d.Key)
		}
	}
	return out
}

// Grants returns the user's grants for a key that one of the user's own keys signed.
func (s *Store) Grants(fp sign.Fingerprint) []*doc.Permission {
	var out []*doc.Permission
	if e := s.keys[fp]; e != nil {
		for _, d := range e.grants {
			out = append(out, d.Permission)
		}
	}
	return out
}

// outsideProject reports whether the key has a basis, or a document outside the
// project.
func (e *entry) outsideProject() bool {
	return len(e.bases) > 0 ||
		slices.ContainsFunc(e.documents, func(d *keyDocument) bool {
			return d.outsideProject()
		}) ||
		slices.ContainsFunc(e.revocations, func(d *revocation) bool {
			return d.outsideProject()
		})
}

func (o origin) outsideProject() bool {
	return o.tier != TierProject && !o.seen
}

func (s *Store) info(e *entry, now time.Time) KeyInfo {
	k := KeyInfo{
		Fingerprint:  e.key,
		Owner:        e.label(),
		Own:          e.own() != nil,
		EmbeddedOnly: e.embeddedOnly,
		GrantOnly:    e.grantOnly,
		Scope:        e.bounds,
		Ignored:      e.ignored,
	}
	for _, d := range e.documents {
		k.Documents = append(k.Documents, quoted(d.Path))
	}
	for _, d := range e.grants {
		k.Grants = append(k.Grants, quoted(d.Path))
	}
	for _, d := range e.revocations {
		k.Compromised = k.Compromised || d.Reason == doc.ReasonCompromised
		k.Revocations = append(k.Revocations, quoted(d.Path))
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
	b, code, why := e.best(now, now, nil)
	k.State = e.state(b, code, now)
	k.Scope = slices.Concat(k.Scope, b.limits())
	if b != nil {
		k.Tier = b.tier
		k.NotBefore = b.notBefore
		k.NotAfter = b.notAfter
	} else if len(e.documents) > 0 {
		k.NotBefore = e.documents[0].NotBefore
		k.NotAfter = e.documents[0].NotAfter
	}
	if why != "" {
		k.Reasons = append(k.Reasons, why)
	}
	if s.blind != "" && !e.embeddedOnly {
		k.State, k.Reasons = StateNotTrusted, s.whyUnknown(e, e.key, now)
	}
	if b == nil {
		k.Reasons = append(k.Reasons, e.whyNot(now)...)
	}
	return k
}

func (e *entry) state(b *basis, code diag.Code, now time.Time) KeyState {
	switch {
	case e.weak:
		return StateWeak
	case e.revokedAt(now) != nil:
		return StateRevoked
	case b == nil:
		return StateNotTrusted
	case code == diag.Expired && b.owned && !now.After(b.notAfter.Add(OwnGrace)):
		return StateGrace
	case code == diag.Expired:
		return StateExpired
	case code == diag.NotYetValid:
		return StateNotYetValid
	}
	return StateValid
}
