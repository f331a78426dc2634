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
	end := !b.notAfter.IsZero()
	over := end && now.After(b.notAfter)
	switch {
	case b.doc != nil && b.doc.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("%s was signed at %s, which is in the future", b.document, stamp(b.doc.Signed))
	case b.grant != nil && b.grant.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("%s was signed at %s, which is in the future", quoted(b.grant.Path), stamp(b.grant.Signed))
	case over && !b.own:
		return diag.Expired, fmt.Sprintf("the key's validity ended %s; the signature claims %s, which is not proof that it was made earlier", stamp(b.notAfter), stamp(claimed))
	case over && now.After(b.notAfter.Add(OwnGrace)):
		return diag.Expired, fmt.Sprintf("your key's validity ended %s, and the %d days of grace are over", stamp(b.notAfter), OwnGrace/(24*time.Hour))
	case claimed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, which is in the future: here it is %s", stamp(claimed), stamp(now))
	case claimed.Before(b.notBefore):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, before the key's validity began %s", stamp(claimed), stamp(b.notBefore))
	case end && claimed.After(b.notAfter):
		return diag.Expired, fmt.Sprintf("the signature claims %s, after the key's validity ended %s", stamp(claimed), stamp(b.notAfter))
	case over:
		return "", fmt.Sprintf("your own key's validity ended %s; it stays valid until %s by grace", stamp(b.notAfter), stamp(b.notAfter.Add(OwnGrace)))
	}
	return "", ""
}

// clock refuses a machine whose clock is before a time that is known to have
// passed: such a clock would make expired keys valid again.
func (s *Store) clock(now time.Time) (diag.Code, string) {
	if now.Add(ClockSkew).Before(s.floor) {
		return diag.NotYetValid, fmt.Sprintf("this machine's clock is at %s, but %s is from %s: no time can be checked", stamp(now), quoted(s.floorFrom), stamp(s.floor))
	}
	return "", ""
}

// valid reports whether the grant, endorsement or rotation of this basis is
// valid now: a grant while a signature of its granter from that time is, an
// endorsement while one of its endorser is, a rotation while the key before is
// trusted.
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
		return false, fmt.Sprintf("the key %s that signed %s is revoked (%s)", b.granter.key.Short(), quoted(b.grant.Path), r.Reason)
	}
	if code, why := b.granter.own().window(b.grant.Signed, now); code != "" {
		return false, fmt.Sprintf("the key %s that signed %s is not trusted: %s", b.granter.key.Short(), quoted(b.grant.Path), why)
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
func (r *revocation) voids(claimed time.Time) bool {
	return r.Reason == doc.ReasonCompromised || !claimed.Before(r.CutOff)
}

// rotationRevoked is revokedAt for a rotation. A rotation may be the last
// signature of a key, so one exactly at the cut-off is still valid. All
// revocations are checked, so that a second revocation cannot make the rotation
// valid again.
func (e *entry) rotationRevoked(claimed time.Time) *revocation {
	for _, r := range e.revocations {
		if r.voids(claimed) && (r.Reason == doc.ReasonCompromised || !claimed.Equal(r.CutOff)) {
			return r
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
