package trust

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust/doc"
)

// window checks the time of a signature under one basis. The claimed time proves
// nothing, so a key is not used after its end, except the user's own for
// OwnGrace. code is "" if the signature is valid now; reason is set for a
// refusal and for what should be shown.
func (b *basis) window(claimed, now time.Time) (code diag.Code, reason string) {
	over := b.expired(now)
	if code, reason = b.started(now); code != "" {
		return code, reason
	}
	switch {
	case over && !b.owned:
		return diag.Expired, fmt.Sprintf("key expired on %s; the signature's own date (%s) is not proof that it was made earlier", stamp(b.notAfter), stamp(claimed))
	case over && now.After(b.notAfter.Add(OwnGrace)):
		return diag.Expired, fmt.Sprintf(
			"your key expired on %s, and the %d days of grace are over",
			stamp(b.notAfter),
			OwnGrace/(24*time.Hour),
		)
	}
	if code, reason = b.claim(claimed, now); code == "" && over {
		reason = fmt.Sprintf("your own key expired on %s; it stays valid here until %s by grace", stamp(b.notAfter), stamp(b.notAfter.Add(OwnGrace)))
	}
	return code, reason
}

// claim checks only that the claimed time is past and within the validity.
func (b *basis) claim(claimed, now time.Time) (code diag.Code, reason string) {
	switch {
	case claimed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, which is in the future: here it is %s", stamp(claimed), stamp(now))
	case claimed.Before(b.notBefore):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, before the key's validity began %s", stamp(claimed), stamp(b.notBefore))
	case !b.notAfter.IsZero() && claimed.After(b.notAfter):
		return diag.Expired, fmt.Sprintf("the signature claims %s, after the key's validity ended %s", stamp(claimed), stamp(b.notAfter))
	}
	return "", ""
}

// started refuses a document or grant of the basis that was signed in the future.
func (b *basis) started(now time.Time) (code diag.Code, reason string) {
	switch {
	case b.doc != nil && b.doc.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("%s was signed at %s, which is in the future", b.document, stamp(b.doc.Signed))
	case b.grant != nil && b.grant.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf(
			"%s was signed at %s, which is in the future",
			quoted(b.grant.Path),
			stamp(b.grant.Signed),
		)
	}
	return "", ""
}

// expired reports whether the validity of the basis has ended.
func (b *basis) expired(now time.Time) bool {
	return !b.notAfter.IsZero() && now.After(b.notAfter)
}

// signedWithin returns why a trust document of that claimed time was not signed
// within the validity of the basis, or "". The end of the key does not end what it
// permitted before: a grant in the user's own directory is protected by its
// location, and a rotation is followed until the end of the grant before it.
func (b *basis) signedWithin(claimed, now time.Time) string {
	if _, why := b.started(now); why != "" {
		return why
	}
	_, why := b.claim(claimed, now)
	return why
}

// clock refuses a machine whose clock is before a time that is known to have
// passed: such a clock would make expired keys valid again.
func (s *Store) clock(now time.Time) (diag.Code, string) {
	if now.Add(ClockSkew).Before(s.floor) {
		return diag.NotYetValid, fmt.Sprintf(
			"this machine's clock is at %s, but %s is from %s: no time can be checked",
			stamp(now),
			quoted(s.floorFrom),
			stamp(s.floor),
		)
	}
	return "", ""
}

// valid reports whether the grant, endorsement or rotation of this basis is
// valid now: a grant if its granter signed it within its validity, an endorsement
// while its endorser is valid, a rotation while what permits the key before is.
func (b *basis) valid(now time.Time) (ok bool, reason string) {
	switch {
	case b.rotation != nil:
		return b.rotationValid(now)
	case b.endorser != nil:
		return b.endorsementValid(now)
	case b.granter == nil:
		return true, ""
	}
	if r := b.granter.revokedAt(b.grant.Signed); r != nil {
		return false, fmt.Sprintf(
			"the key %s that signed %s is revoked (%s)",
			b.granter.key.Short(),
			quoted(b.grant.Path),
			r.Reason,
		)
	}
	why := b.granter.own().signedWithin(b.grant.Signed, now)
	if why != "" {
		return false, fmt.Sprintf(
			"the key %s that signed %s is not trusted: %s",
			b.granter.key.Short(),
			quoted(b.grant.Path),
			why,
		)
	}
	return true, ""
}

// revokedAt returns the revocation that voids a signature with that claimed
// time, or nil.
func (e *entry) revokedAt(claimed time.Time) *revocation {
	for _, r := range e.revocations {
		if r.voids(claimed) {
			return r
		}
	}
	return nil
}

// voids reports whether the revocation voids a signature with that claimed time.
// A compromised key voids every time, because a thief can claim any.
// All rotations of a compromised key are void, not only those after the cut-off: a thief chooses
// the date.
func (r *revocation) voids(claimed time.Time) bool {
	return r.Reason == doc.ReasonCompromised || !claimed.Before(r.CutOff)
}

// rotationRevoked is revokedAt for a rotation. A rotation may be the last
// signature of a key, so one exactly at the cut-off is still valid. All
// revocations are checked, so that a second revocation cannot make the rotation
// valid again.
func (e *entry) rotationRevoked(claimed time.Time) *revocation {
	for _, r := range e.revocations {
		if r.voids(claimed) &&
			(r.Reason == doc.ReasonCompromised || !claimed.Equal(r.CutOff)) {
			return r
		}
	}
	return nil
}

func stamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
