package trust

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Verify returns the verdict on one file. The order is fixed, and the first
// failure is the result: size, encoding, the signature line, duplicates, hash,
// key, the key itself, the signature, scope, validity, revocation, hidden
// characters. Opening the file comes before and the lock after; neither is part
// of Verify. It does not read or write files.
func (s *Store) Verify(in Input) Verdict {
	v := Verdict{Anchor: AnchorClaimed}
	limit := in.limit()
	if int64(len(in.Bytes)) > limit {
		return v.Refuse(diag.TooLarge, fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(in.Bytes), limit)).unanchored()
	}
	if in.Text {
		if fs := hidden.Encoding(in.Bytes); diag.Failed(fs) {
			v.Findings = diag.WithPath(fs, in.Path)
			return v.Refuse(diag.Encoding, fs[0].Message).unanchored()
		}
	}
	now := s.clockTime()
	line, err := s.signature(in, now)
	v.Signer = line.Key
	v.Time = line.Time
	switch diag.CodeOf(err) {
	case "":
		if err != nil {
			return v.refuseErr(err, in)
		}
		return s.judge(v, in, line, now)
	case diag.KeyUnknown:
		return s.unknown(v, in, now)
	case diag.KeyWeak:
		return v.Refuse(diag.KeyWeak, "the key is not a safe Ed25519 point: it could have signed anything")
	}
	if line.Key == (sign.Fingerprint{}) {
		v = v.unanchored()
	}
	e := s.keys[line.Key]
	if e != nil && len(e.bases) > 0 {
		v.Owner = e.bases[0].owner // the refusal shows the owner of the key that the line names
	}
	return s.earlier(v.refuseErr(err, in), in)
}

// Judge is the part of Verify after the signature. The caller must have proof that
// line is a valid signature over these bytes and this subject. A cache may
// remember only that: every other step depends on the time and the documents.
func (s *Store) Judge(in Input, line sign.Line) Verdict {
	now := s.clockTime()
	v := Verdict{Anchor: AnchorClaimed, Signer: line.Key, Time: line.Time}
	_, ok := s.candidate(line.Key, in.Embedded, now)
	switch {
	case s.keys[line.Key] != nil && s.keys[line.Key].weak:
		return v.Refuse(diag.KeyWeak, "the key is not a safe Ed25519 point: it could have signed anything")
	case !ok:
		return s.unknown(v, in, now)
	}
	return s.judge(v, in, line, now)
}

func (in Input) limit() int64 {
	if in.MaxSize > 0 {
		return in.MaxSize
	}
	return DefaultMaxSize
}

// unanchored returns the verdict without an anchor, for a file without a usable
// signature line.
func (v Verdict) unanchored() Verdict {
	v.Anchor = ""
	return v
}

// Now returns the time that verdicts depend on.
func (s *Store) Now() time.Time {
	return s.clockTime()
}

func (s *Store) clockTime() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// signature runs the steps of package sign with the keys that are trusted in this
// space.
func (s *Store) signature(in Input, now time.Time) (sign.Line, error) {
	style := in.Style
	if in.DetachedOnly {
		style = sign.StyleBare
	}
	proofs := s.proofs
	if proofs != nil && in.Digest != (item.Digest{}) {
		proofs = sign.ByFile{Proofs: proofs, Digest: in.Digest}
	}
	if in.Covered != (sign.Fingerprint{}) {
		proofs = covered(in.Covered)
	}
	return sign.VerifyBoth(
		in.Bytes,
		in.Detached,
		style,
		in.Subject,
		func(fp sign.Fingerprint) (ed25519.PublicKey, bool) {
			return s.candidate(fp, in.Embedded, now)
		},
		proofs,
	)
}

// covered are the Proofs of a file that a manifest by the key lists as signed.
type covered sign.Fingerprint

// Known implements sign.Proofs.
func (v covered) Known(s sign.Signature) bool {
	return s.Key == sign.Fingerprint(v)
}

// Valid implements sign.Proofs.
func (covered) Valid(sign.Signature) {}

// KnownKey implements sign.Proofs.
func (covered) KnownKey([ed25519.PublicKeySize]byte) bool {
	return false
}

// ValidKey implements sign.Proofs.
func (covered) ValidKey([ed25519.PublicKeySize]byte) {}

// candidate returns the key if a basis makes it trusted in this space. It also
// returns a weak key, so that the verdict is KEY_WEAK and not KEY_UNKNOWN.
func (s *Store) candidate(
	fp sign.Fingerprint,
	embedded bool,
	now time.Time,
) (ed25519.PublicKey, bool) {
	e := s.keys[fp]
	switch {
	case e == nil:
		return s.recorder(fp, embedded)
	case e.weak:
		return make([]byte, ed25519.PublicKeySize), true // package sign refuses these bytes
	case e.embeddedOnly:
		return e.public, embedded
	case s.blind != "":
		return nil, false
	}
	for _, x := range e.bases {
		if ok, _ := x.valid(now); ok {
			return e.public, true
		}
	}
	return s.recorder(fp, embedded)
}

// recorder returns a runtime key of this account.
func (s *Store) recorder(fp sign.Fingerprint, embedded bool) (ed25519.PublicKey, bool) {
	if k := s.runtimeKey(fp); k != nil && !embedded {
		return k.Public, true
	}
	return nil, false
}

// judge runs the steps after the signature. The scope is checked before the
// clock, so that a wrong clock does not hide a missing permission.
func (s *Store) judge(v Verdict, in Input, line sign.Line, now time.Time) Verdict {
	if k := s.runtimeKey(v.Signer); k != nil {
		return s.judgeRecord(v, k, in, now)
	}
	e := s.keys[v.Signer]
	b, code, why := e.best(v.Time, now, &in)
	if b.expired(now) &&
		(code == diag.Expired || code == "") &&
		in.Locked != nil &&
		in.Locked(v.Signer) {
		if x := e.lockedUnder(v.Time, now, in); x != nil {
			b = x
			code = ""
			why = fmt.Sprintf("key expired on %s; %s records this content, so it stays usable", stamp(x.notAfter), lockFile)
			v.Anchor = AnchorLock
		}
	}
	if b.expired(now) {
		v.Ended = b.notAfter
	}
	v.Owner = b.owner
	v.Document = b.document
	v.Tier = b.tier
	if e.grantOnly {
		return v.Refuse(diag.Scope, "key "+e.key.Short()+" is a grant key: it signs the grants of one account and nothing else")
	}
	bound, part := e.bounds.denier(in.scoped().Kind, in.scoped().ID, in.Use)
	if part != "" {
		return v.Refuse(diag.Scope, scopeReason(bound, part, in))
	}
	if code == diag.Scope {
		return v.Refuse(code, why)
	}
	if late, reason := s.clock(now); late != "" {
		return v.Refuse(late, reason)
	}
	if code != "" {
		return v.Refuse(code, why)
	}
	if why != "" {
		v.Reasons = append(v.Reasons, why)
	}
	if r := e.revokedAt(v.Time); r != nil {
		v.Reasons = nil
		return v.Refuse(diag.Revoked, revokedReason(r))
	}
	if why := s.releaseVoid(in.Subject, line); why != "" {
		v.Reasons = nil
		return v.Refuse(diag.Revoked, why)
	}
	why = s.fresh.stale(now)
	if why != "" && !b.owned && !in.Embedded {
		v.Reasons = nil
		return v.Refuse(diag.Stale, why)
	}
	if len(e.revocations) > 0 {
		r := e.revocations[0]
		v.Reasons = append(v.Reasons, fmt.Sprintf(
			"the key is %s from %s on; this signature claims %s",
			r.Reason,
			stamp(r.CutOff),
			stamp(v.Time),
		))
	}
	v.Status = Trusted
	v.Agent = e.agent
	if !in.Text {
		return v
	}
	return v.readable(in)
}

// best returns the first basis under which a signature of that time is valid for
// the input. If there is none, it returns the basis that passes most steps, with
// the code and reason of its refusal. A reason without a code is shown and is not
// a refusal. A nil input checks only the time.
func (e *entry) best(
	claimed, now time.Time,
	in *Input,
) (b *basis, code diag.Code, reason string) {
	for _, x := range e.bases {
		if ok, _ := x.valid(now); !ok {
			continue
		}
		if in != nil {
			bound, part := x.scopeLimit(in.scoped().Kind, in.scoped().ID, in.Use)
			if part != "" {
				if b == nil {
					b = x
					code = diag.Scope
					reason = scopeReason(bound, part, *in)
				}
				continue
			}
		}
		c, why := x.window(claimed, now)
		if c == "" {
			return x, "", why
		}
		b = x
		code = c
		reason = why
	}
	return b, code, reason
}

// lockFile is the name of the lock in reasons.
const lockFile = "rye.lock"

// lockedUnder returns the first basis under which a locked signature of that time
// was valid before the key expired, or nil. The lock proves the time: it names these
// bytes, and no command adds an entry that an expired key signed.
func (e *entry) lockedUnder(claimed, now time.Time, in Input) *basis {
	for _, x := range e.bases {
		ok, _ := x.valid(now)
		_, part := x.scopeLimit(in.scoped().Kind, in.scoped().ID, in.Use)
		if ok && part == "" && x.signedWithin(claimed, now) == "" {
			return x
		}
	}
	return nil
}

// revokedReason returns the reason of a refusal because of that revocation.
func revokedReason(r *revocation) string {
	if r.Reason == doc.ReasonCompromised {
		return "the key is revoked as compromised by " + quoted(r.Path) + ": none of its signatures is valid"
	}
	return fmt.Sprintf("the key is revoked as %s from %s on by %s", r.Reason, stamp(r.CutOff), quoted(r.Path))
}

// scopeReason returns the reason of a refusal because of part of a scope: may,
// kinds or namespaces.
func scopeReason(b Bound, part string, in Input) string {
	use := in.Use
	if use == "" {
		use = doc.DefaultUse
	}
	source := quoted(b.Source)
	switch part {
	case "may":
		return fmt.Sprintf("the key may not %s: %s permits %s", quoted(use), source, doc.Words(b.Scope.May))
	case "kinds":
		return fmt.Sprintf(
			"the key may not sign items of kind %s: %s permits kinds %s",
			quoted(in.scoped().Kind),
			source,
			doc.Words(b.Scope.Kinds),
		)
	}
	return fmt.Sprintf(
		"the key may not sign the id %s: %s permits %s",
		quoted(in.scoped().ID),
		source,
		doc.Words(b.Scope.Namespaces),
	)
}

// Hidden returns findings for the hidden characters of an item of a kind. The files
// of tools are read as programs, all others as texts.
func Hidden(kind string, b []byte) []diag.Finding {
	if kind == string(item.Tool) {
		return hidden.ScanCode(b)
	}
	return hidden.Scan(b)
}

// readable is the last step: it refuses hidden characters.
func (v Verdict) readable(in Input) Verdict {
	fs := Hidden(in.Subject.Kind, in.Bytes)
	if len(fs) == 0 {
		return v
	}
	v.Findings = append(v.Findings, diag.WithPath(fs, in.Path)...)
	for _, f := range fs {
		if f.Severity == diag.SeverityError {
			v.Reasons = nil
			return v.Refuse(diag.HiddenChars, fmt.Sprintf("line %d: %s", f.Line, f.Message))
		}
	}
	return v
}

// unknown returns the refusal of a key that is not trusted here.
func (s *Store) unknown(v Verdict, in Input, now time.Time) Verdict {
	e := s.keys[v.Signer]
	reasons := s.whyUnknown(e, v.Signer, now)
	if e != nil {
		v.Owner = e.label()
	}
	if why := s.changed(v.Signer); why != "" {
		return v.Refuse(diag.TrustChanged, append([]string{why}, reasons...)...)
	}
	v = v.Refuse(diag.KeyUnknown, reasons...)
	f := diag.Errorf(diag.KeyUnknown, 0, 0, "%s", reasons[0])
	f.Path = in.Path
	if e != nil && e.embeddedOnly {
		v.Findings = append(v.Findings, f.WithReason("embedded_key"))
	} else if file := s.proposedFile(v.Signer); file != "" {
		v.Findings = append(v.Findings, f.WithReason("proposed_key", "document", file))
	}
	return v
}

// proposedFile returns the file in the project with a valid document about the
// key, "" if there is none.
func (s *Store) proposedFile(fp sign.Fingerprint) string {
	for _, p := range s.proposing(fp) {
		if p.Sound {
			return p.folder() + "/" + doc.FileName(doc.KindKey, fp)
		}
	}
	return ""
}

// label returns the owner of the key, safe to print, "" if it is not known.
func (e *entry) label() string {
	if len(e.bases) > 0 {
		return e.bases[0].owner
	}
	if len(e.documents) > 0 {
		return quoted(e.documents[0].Owner)
	}
	return ""
}

// whyUnknown returns why the key is not trusted here.
func (s *Store) whyUnknown(e *entry, fp sign.Fingerprint, now time.Time) []string {
	if e != nil && e.embeddedOnly {
		return []string{"key " + fp.Short() + " is the development key of the items embedded in rye; its private key is public, so it is trusted for those items only"}
	}
	if s.blind != "" {
		return []string{quoted(s.blind) + " could not be read and may contain revocations, so no key is trusted"}
	}
	var out []string
	for _, p := range s.proposing(fp) {
		out = append(out, fmt.Sprintf(
			"the project proposes key %s%s in %s, and a project cannot make its own keys trusted",
			fp.Short(),
			ofOwner(p.Owner),
			p.folder(),
		))
	}
	if e != nil {
		out = append(out, e.whyNot(now)...)
	}
	if len(out) == 0 {
		out = append(out, "no trust document of yours names key "+fp.Short())
	}
	return out
}

// whyNot returns why no basis of the key is valid, and which documents about it
// are not used.
func (e *entry) whyNot(now time.Time) []string {
	var out []string
	for _, x := range e.bases {
		if ok, why := x.valid(now); !ok {
			out = append(out, why)
		}
	}
	out = append(out, e.notes...)
	for _, d := range e.documents {
		if d.tier == TierUser && len(out) == 0 {
			out = append(out, quoted(d.Path)+" is in your trust folder, but no grant of yours names it")
		}
	}
	return out
}
