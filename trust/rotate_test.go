package trust_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// turning is the scope of keys that may rotate.
func turning() doc.Scope { return scopeOf("sign", "rotate") }

// rotate writes the rotation of a key and the document of its successor.
func (w *world) rotate(dir string, old, successor sign.Signer) string {
	w.t.Helper()
	name, keyDoc := w.document(successor, "leo again", turning())
	w.write(dir, name, keyDoc)
	name, b, err := doc.NewRotation(context.Background(), doc.RotationParams{Now: w.now}, old, successor)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(dir, name, b)
}

// chained is a user who granted key 10, and hops rotations in the project: from
// key 10 to key 11 and so on.
func chained(t testing.TB, hops byte) *world {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(10), "leo", turning(), turning(), key(1))
	for n := range hops {
		w.rotate(w.project, key(10+n), key(11+n))
	}
	return w
}

func TestRotation(t *testing.T) {
	w := chained(t, 1)
	w.revoke(w.project, key(10), doc.ReasonSuperseded, w.now)
	in := w.tool(key(11), "a/b", w.now)
	s := w.clean()
	v := s.Verify(in)
	wantCode(t, "the successor", v, "")
	if v.Tier != trust.TierUser || v.Owner != "leo again" {
		t.Errorf("verdict %+v", v)
	}
	wantCode(t, "what the old key signed before", s.Verify(w.tool(key(10), "a/b", w.now.Add(-time.Second))), diag.NotYetValid)
	wantCode(t, "what the old key signs from now on", s.Verify(w.tool(key(10), "a/b", w.now)), diag.Revoked)
	info, _ := s.Key(fp(key(11)))
	if len(info.Rotations) != 1 || info.State != trust.StateValid || info.Scope.String() != "kinds *, namespaces every id, may rotate sign" {
		t.Errorf("Key: %+v", info)
	}
	text := strings.Join(s.Explain(v, in), "\n")
	for _, want := range []string{"successor by one rotation: valid", "hop 1: ", "granted by your key"} {
		if !strings.Contains(text, want) {
			t.Errorf("Explain does not say %q:\n%s", want, text)
		}
	}
	in.Use = "release"
	wantCode(t, "the successor gets no more than the old key had", s.Verify(in), diag.Scope)
}

// A successor reaches as far as the key before it was granted, and never
// further.
func TestRotationNeverWidens(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.addUntil(key(10), doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"leo/**"}, May: []string{"sign", "rotate"}}, w.now.AddDate(1, 0, 0))
	w.rotate(w.project, key(10), key(11))
	w.rotate(w.project, key(11), key(12))
	for _, n := range []byte{11, 12} {
		s := w.clean()
		wantCode(t, "within", s.Verify(w.tool(key(n), "leo/x", w.now)), "")
		v := s.Verify(w.tool(key(n), "team/x", w.now))
		wantCode(t, "beyond", v, diag.Scope)
		wantReason(t, v, "leo/**")
	}
	w.now = w.now.AddDate(0, 6, 0) // nor for longer: a newer document does not outlive the grant
	_, keyDoc := w.document(key(12), "leo again", turning())
	w.write(w.project, doc.FileName("key", fp(key(12))), keyDoc)
	in := w.tool(key(12), "leo/x", w.now)
	wantCode(t, "half a year later", w.clean().Verify(in), "")
	w.now = w.now.AddDate(0, 6, 1)
	wantCode(t, "after the grant's end", w.clean().Verify(in), diag.Expired)
}

// addUntil trusts another's key until then.
func (w *world) addUntil(k sign.Signer, scope doc.Scope, until time.Time) {
	w.t.Helper()
	name, keyDoc := w.document(k, "leo", turning())
	w.write(w.userDir, name, keyDoc)
	name, b, err := doc.NewGrant(context.Background(), doc.PermissionParams{Document: keyDoc, NotAfter: until, Scope: scope, Now: w.now}, key(1))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(w.userDir, name, b)
}

// V89: a consumer with a default grant follows a rotation after the end of the old
// key. A rotation after that end, or dated after it, is not followed: the key was not
// valid any more.
func TestV89RotationOutlivesTheKey(t *testing.T) {
	w := chained(t, 1)
	start := w.now
	w.now = start.AddDate(0, 6, 0) // the successor renews its document
	_, keyDoc := w.document(key(11), "leo again", turning())
	w.write(w.project, doc.FileName("key", fp(key(11))), keyDoc)
	in := w.tool(key(11), "a/b", w.now)
	w.now = start.AddDate(1, 0, 1)
	wantCode(t, "after the old key's end", w.clean().Verify(in), "")
	wantCode(t, "the old key itself", w.clean().Verify(w.tool(key(10), "a/b", start)), diag.Expired)
	w.now = start.AddDate(1, 6, 1)
	wantCode(t, "after the successor's own end", w.clean().Verify(in), diag.Expired)

	w = chained(t, 0)
	w.now = w.now.AddDate(1, 0, 1)
	w.rotate(w.project, key(10), key(11))
	v := w.clean().Verify(w.tool(key(11), "a/b", w.now))
	wantCode(t, "a rotation after the end", v, diag.KeyUnknown)
	wantReason(t, v, "does not pass on the trust")
}

// V69, V70: the lock proves that a signature was made before the key's end, and only
// a signature that claims a time within the validity. A revocation beats the lock.
func TestV69LockedSignature(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	start, end := w.now, w.now.AddDate(1, 0, 0)
	locked := func(in trust.Input, by sign.Signer) trust.Input {
		in.Locked = func(k sign.Fingerprint) bool { return k == fp(by) }
		return in
	}
	w.now = end.AddDate(1, 0, 0)
	for name, tc := range map[string]struct {
		in     trust.Input
		code   diag.Code
		anchor string
	}{
		"locked":             {locked(w.tool(key(2), "a/b", start.Add(time.Hour)), key(2)), "", trust.AnchorLock},
		"not locked":         {w.tool(key(2), "a/b", start.Add(time.Hour)), diag.Expired, trust.AnchorClaimed},
		"locked for another": {locked(w.tool(key(2), "a/b", start.Add(time.Hour)), key(1)), diag.Expired, trust.AnchorClaimed},
		"claims its end":     {locked(w.tool(key(2), "a/b", end), key(2)), "", trust.AnchorLock},
		"claims later":       {locked(w.tool(key(2), "a/b", end.Add(time.Second)), key(2)), diag.Expired, trust.AnchorClaimed},
		"claims earlier":     {locked(w.tool(key(2), "a/b", start.Add(-time.Second)), key(2)), diag.Expired, trust.AnchorClaimed},
		"own, locked":        {locked(w.tool(key(1), "a/b", start.Add(time.Hour)), key(1)), "", trust.AnchorLock},
	} {
		v := w.clean().Verify(tc.in)
		wantCode(t, name, v, tc.code)
		if v.Anchor != tc.anchor || v.Ended != end {
			t.Errorf("%s: anchor %q, ended %v", name, v.Anchor, v.Ended)
		}
	}
	w.now = start.Add(time.Hour)
	if v := w.clean().Verify(locked(w.tool(key(2), "a/b", w.now), key(2))); v.Anchor != trust.AnchorClaimed || !v.Ended.IsZero() {
		t.Errorf("a valid key needs no lock: %+v", v)
	}
	in := locked(w.tool(key(2), "a/b", w.now), key(2))
	w.revoke(w.userDir, key(2), doc.ReasonCompromised, time.Time{})
	w.now = end.AddDate(1, 0, 0)
	wantCode(t, "V72", w.clean().Verify(in), diag.Revoked)
}

// Only who may rotate hands its trust on.
func TestRotationNeedsLeave(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(10), "leo", turning(), everything, key(1))
	w.rotate(w.project, key(10), key(11))
	v := w.clean().Verify(w.tool(key(11), "a/b", w.now))
	wantCode(t, "not granted", v, diag.KeyUnknown)
	wantReason(t, v, "may not rotate")
	w.rotate(w.project, key(20), key(21)) // of a key that is not trusted
	wantCode(t, "a successor of an unknown key", w.clean().Verify(w.tool(key(21), "a/b", w.now)), diag.KeyUnknown)
	w = chained(t, 1)
	if err := os.Remove(filepath.Join(w.project, doc.FileName("key", fp(key(11))))); err != nil {
		t.Fatal(err)
	}
	v = w.clean().Verify(w.tool(key(11), "a/b", w.now))
	wantCode(t, "without a document", v, diag.KeyUnknown)
	wantReason(t, v, "no document about it")
}

// V53: sixteen hops are followed, the seventeenth is not; a loop and a
// compromised key in the middle end the chain.
func TestV53RotationChain(t *testing.T) {
	w := chained(t, 17)
	s := w.clean()
	wantCode(t, "V53 16 hops", s.Verify(w.tool(key(26), "a/b", w.now)), "")
	if info, _ := s.Key(fp(key(26))); len(info.Rotations) != trust.MaxHops {
		t.Errorf("V53: %d hops are recorded", len(info.Rotations))
	}
	v := s.Verify(w.tool(key(27), "a/b", w.now))
	wantCode(t, "V53 17 hops", v, diag.KeyUnknown)
	wantReason(t, v, "is hop 17")

	w = chained(t, 3)
	w.rotate(w.project, key(13), key(11))
	s, fs := w.load()
	wantFinding(t, "V53 loop", fs, diag.SignerChanged, doc.FileName(doc.KindRotation, fp(key(13))), "comes back to key")
	for _, n := range []byte{11, 12, 13} {
		v := s.Verify(w.tool(key(n), "a/b", w.now))
		wantCode(t, fmt.Sprint("V53 loop ", n), v, diag.KeyUnknown)
		wantReason(t, v, "comes back")
	}
	wantCode(t, "V53 loop, its beginning", s.Verify(w.tool(key(10), "a/b", w.now)), "")
	w = chained(t, 2)
	w.rotate(w.project, key(12), key(10))
	s, _ = w.load()
	wantCode(t, "V53 back to the beginning", s.Verify(w.tool(key(12), "a/b", w.now)), diag.KeyUnknown)

	w = chained(t, 4)
	w.revoke(w.project, key(12), doc.ReasonCompromised, time.Time{})
	s = w.clean()
	wantCode(t, "V53 before the middle", s.Verify(w.tool(key(11), "a/b", w.now)), "")
	wantCode(t, "V53 the middle", s.Verify(w.tool(key(12), "a/b", w.now)), diag.Revoked)
	for _, n := range []byte{13, 14} {
		v := s.Verify(w.tool(key(n), "a/b", w.now))
		wantCode(t, fmt.Sprint("V53 after the middle ", n), v, diag.KeyUnknown)
		wantReason(t, v, "is revoked (compromised)")
	}
}

// The rotation is the last signature of a key: it is valid at the cut-off and not
// later.
func TestRotationAtTheCutOff(t *testing.T) {
	w := chained(t, 0)
	w.revoke(w.project, key(10), doc.ReasonSuperseded, w.now)
	w.rotate(w.project, key(10), key(11))
	in := w.tool(key(11), "a/b", w.now)
	wantCode(t, "at the cut-off", w.clean().Verify(in), "")
	w.now = w.now.Add(time.Second)
	w.rotate(w.project, key(10), key(11))
	wantCode(t, "after the cut-off", w.clean().Verify(w.tool(key(11), "a/b", w.now)), diag.KeyUnknown)
}

// Two successors cancel each other out, and the first that was seen is not
// forgotten.
func TestRotationFork(t *testing.T) {
	w := chained(t, 1)
	w.p.StateDir = t.TempDir()
	first, second := w.tool(key(11), "a/b", w.now), w.tool(key(21), "a/b", w.now)
	s := w.clean()
	wantCode(t, "one", s.Verify(first), "")
	if err := trust.Remember(w.p, s); err != nil {
		t.Fatal(err)
	}
	path := w.rotate(w.project, key(10), key(21)) // in the place of the other
	s, fs := w.load()
	wantFinding(t, "replaced", fs, diag.SignerChanged, path, "names another successor")
	wantCode(t, "the replaced", s.Verify(first), diag.KeyUnknown)
	wantCode(t, "the thief's", s.Verify(second), diag.KeyUnknown)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = w.clean()
	wantCode(t, "what is remembered grants nothing", s.Verify(first), diag.KeyUnknown)
}

// A key cannot name a successor without its consent, and the consent is for these
// terms only.
func TestRotationForged(t *testing.T) {
	w := chained(t, 1)
	name := doc.FileName(doc.KindRotation, fp(key(10)))
	b, err := os.ReadFile(filepath.Join(w.project, name))
	if err != nil {
		t.Fatal(err)
	}
	body := func(b []byte) string { return string(b[bytes.IndexByte(b, '\n')+1:]) }
	stem := strings.TrimSuffix(name, ".toml")
	_, other, err := doc.NewRotation(t.Context(), doc.RotationParams{Now: w.now}, key(10), key(12))
	if err != nil {
		t.Fatal(err)
	}
	accepted := func(b []byte) string { return string(b[bytes.Index(b, []byte("accepted")):]) }
	as := func(text string, by sign.Signer) []byte {
		b, _, err := sign.Sign(t.Context(), []byte(text), style, sign.Subject{Use: sign.UseRotation, Kind: doc.KindRotation, ID: stem}, by, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, forged := range map[string][]byte{
		"another's consent":      as(strings.Replace(body(b), accepted(b), accepted(other), 1), key(10)),
		"consent to other times": as(strings.Replace(body(b), "from = 2026", "from = 2025", 1), key(10)),
		"no consent":             as(strings.Replace(body(b), accepted(b), "", 1), key(10)),
		"signed by the new key":  as(body(b), key(11)),
		"signed by a stranger":   as(body(b), key(9)),
		"edited":                 bytes.Replace(b, []byte("from = 2026"), []byte("from = 2025"), 1),
		"an unknown field":       as("x = 1\n"+body(b), key(10)),
		"itself":                 as(strings.Replace(body(b), "successor = ", "successor-was = ", 1), key(10)),
	} {
		w.write(w.project, name, forged)
		s, fs := w.load()
		if !diag.Failed(fs) {
			t.Errorf("%s: no finding", what)
		}
		wantCode(t, what, s.Verify(w.tool(key(11), "a/b", w.now)), diag.KeyUnknown)
	}
	w.write(w.project, name, as(body(b), key(10)))
	wantCode(t, "as it was", w.clean().Verify(w.tool(key(11), "a/b", w.now)), "")
	if _, _, err := doc.NewRotation(t.Context(), doc.RotationParams{Now: w.now}, key(10), key(10)); err == nil {
		t.Error("a key became its own successor")
	}
}

// A successor may revoke the key before it; the successor of another may not.
func TestSuccessorRevokes(t *testing.T) {
	w := chained(t, 2)
	in := w.tool(key(10), "a/b", w.now)
	w.revokeBy(w.project, key(10), key(12), doc.ReasonCompromised, time.Time{})
	s := w.clean()
	wantCode(t, "by its successor's successor", s.Verify(in), diag.Revoked)
	wantCode(t, "whose trust ends with it", s.Verify(w.tool(key(12), "a/b", w.now)), diag.KeyUnknown)
	if !s.Succeeds(fp(key(12)), fp(key(10))) || s.Succeeds(fp(key(10)), fp(key(12))) || s.Succeeds(fp(key(9)), fp(key(10))) {
		t.Error("Succeeds is wrong")
	}
	w = chained(t, 2)
	w.revokeBy(w.project, key(12), key(10), doc.ReasonCompromised, time.Time{})
	s, _ = w.load()
	wantCode(t, "the key before does not revoke its successor", s.Verify(w.tool(key(12), "a/b", w.now)), "")
}

// The successor of an anchor is one; that of an endorsed key is endorsed.
func TestSuccessorsOfAnchors(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	powers := scopeOf("sign", "rotate", "endorse", "revoke")
	w.add(key(10), "root", powers, powers, key(1))
	name, keyDoc := w.document(key(11), "root again", powers)
	w.write(w.project, name, keyDoc)
	name, b, err := doc.NewRotation(t.Context(), doc.RotationParams{Now: w.now}, key(10), key(11))
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, name, b)
	w.endorse(w.propose(key(3), "ben", turning()), turning(), key(11))
	w.rotate(w.project, key(3), key(4))
	s := w.clean()
	for _, n := range []byte{10, 11, 3, 4} {
		v := s.Verify(w.tool(key(n), "a/b", w.now))
		wantCode(t, fmt.Sprint("key ", n), v, "")
		if want := map[bool]trust.Tier{true: trust.TierUser, false: trust.TierProject}[n >= 10]; v.Tier != want {
			t.Errorf("key %d: tier %q, want %q", n, v.Tier, want)
		}
	}
}
