package trust

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
)

// window says whether a signature of that time counts now, under one basis. A
// claimed time proves nothing, so it never rescues a key whose end has passed,
// except for a while the user's own; what a log or a lockfile recorded before
// the end does. code is "" when it counts; reason is set for a refusal and for
// what is remarkable.
func (b *basis) window(m moments, now time.Time) (code diag.Code, reason string) {
	end := !b.notAfter.IsZero()
	over := end && now.After(b.notAfter)
	recorded := end && m.within(b.notAfter)
	switch {
	case b.doc != nil && b.doc.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("%s was signed at %s, which is in the future", b.document, stamp(b.doc.Signed))
	case b.grant != nil && b.grant.Signed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("%s was signed at %s, which is in the future", quoted(b.grant.Path), stamp(b.grant.Signed))
	case over && !b.own && !recorded:
		return diag.Expired, fmt.Sprintf("the key's validity ended %s; the signature claims %s, and a claim does not rescue it", stamp(b.notAfter), stamp(m.claimed))
	case over && now.After(b.notAfter.Add(OwnGrace)) && !recorded:
		return diag.Expired, fmt.Sprintf("your key's validity ended %s, and the %d days of grace are over", stamp(b.notAfter), OwnGrace/(24*time.Hour))
	case m.claimed.After(now.Add(ClockSkew)):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, which is in the future: here it is %s", stamp(m.claimed), stamp(now))
	case m.claimed.Before(b.notBefore):
		return diag.NotYetValid, fmt.Sprintf("the signature claims %s, before the key's validity began %s", stamp(m.claimed), stamp(b.notBefore))
	case end && m.claimed.After(b.notAfter):
		return diag.Expired, fmt.Sprintf("the signature claims %s, after the key's validity ended %s", stamp(m.claimed), stamp(b.notAfter))
	case over && recorded:
		return "", fmt.Sprintf("the key's validity ended %s; a %s recorded the signature at %s, before that", stamp(b.notAfter), m.anchor.Anchor, stamp(m.anchor.Time))
	case over:
		return "", fmt.Sprintf("your own key's validity ended %s; it counts until %s by grace", stamp(b.notAfter), stamp(b.notAfter.Add(OwnGrace)))
	}
	return "", ""
}

// clock refuses a machine whose clock stands before what is known to have
// passed: it would bring expired keys back.
func (s *Store) clock(now time.Time) (diag.Code, string) {
	if now.Add(ClockSkew).Before(s.floor) {
		return diag.NotYetValid, fmt.Sprintf("this machine's clock says %s, but %s is from %s: nothing can be dated", stamp(now), quoted(s.floorFrom), stamp(s.floor))
	}
	return "", ""
}

// stands reports whether what grants this basis holds now: a grant counts as
// long as a signature of its granter from that time does, an endorsement as
// long as its endorser's, a rotation as long as the key before.
func (b *basis) stands(s *Store, now time.Time) (ok bool, reason string) {
	switch {
	case b.rotation != nil:
		return b.carried(s, now)
	case b.endorser != nil:
		return b.vouched(s, now)
	case b.granter == nil:
		return true, ""
	}
	when := s.moment(b.grant.Digest, b.grant.Signed)
	if r := b.granter.revokedAt(when); r != nil {
		return false, fmt.Sprintf("the key %s that signed %s is revoked (%s)", b.granter.key.Short(), quoted(b.grant.Path), r.Reason)
	}
	if code, why := b.granter.own().window(when, now); code != "" {
		return false, fmt.Sprintf("the key %s that signed %s does not count: %s", b.granter.key.Short(), quoted(b.grant.Path), why)
	}
	return true, ""
}

// revokedAt returns the revocation that voids a signature of that time, or nil.
// A compromised key voids every time that is only claimed or locked, because
// who stole it claims the time he likes; a log's time before the cut-off is his
// to choose no more.
func (e *entry) revokedAt(m moments) *Document {
	for _, r := range e.revocations {
		if r.voids(m) {
			return r
		}
	}
	return nil
}

func (d *Document) voids(m moments) bool {
	if d.Reason == ReasonCompromised {
		return m.anchor.Anchor != AnchorLog || d.CutOff.IsZero() || !m.anchor.Time.Before(d.CutOff)
	}
	return !m.claimed.Before(d.CutOff)
}

// rotationRevoked is revokedAt for a rotation, which may be the last that a key
// signs: at the cut-off it still counts. Every revocation is asked, so that one
// more never lets it count again.
func (e *entry) rotationRevoked(m moments) *Document {
	for _, r := range e.revocations {
		if r.voids(m) && (r.Reason == ReasonCompromised || !m.claimed.Equal(r.CutOff)) {
			return r
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
