package trust_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// revokeBy writes a revocation of another's key.
func (w *world) revokeBy(dir string, k, by sign.Signer, reason doc.Reason, cutOff time.Time) string {
	w.t.Helper()
	name, b, err := doc.NewRevocation(context.Background(), doc.RevocationParams{Key: fp(k), Reason: reason, CutOff: cutOff, Now: w.now}, by)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(dir, name, b)
}

// V50: a revocation by an unrelated key is ignored with a warning, and shown as
// such; one by an anchor that may revoke counts, wherever it lies.
func TestV50UnrelatedRevocation(t *testing.T) {
	for name, by := range map[string]sign.Signer{"unknown": key(9), "a granted key without revoke": key(3), "the victim's friend": key(4)} {
		w := team(t, "sign", "revoke")
		w.add(key(3), "ben", everything, everything, key(1))
		w.add(key(4), "leo", everything, everything, key(1))
		in := w.tool(key(4), "a/b", w.now)
		if name == "the victim's friend" {
			by = key(5)
			w.propose(key(5), "friend", scopeOf("sign", "revoke"))
		}
		at := w.revokeBy(w.project, key(4), by, doc.ReasonCompromised, time.Time{})
		s, fs := w.load()
		wantFinding(t, "V50 "+name, fs, diag.KeyUnknown, at, "ignored: ")
		if diag.Failed(fs) {
			t.Errorf("V50 %s: more than a warning: %v", name, fs)
		}
		v := s.Verify(in)
		wantCode(t, "V50 "+name, v, "")
		if text := strings.Join(s.Explain(v, in), "\n"); !strings.Contains(text, "is ignored: ") {
			t.Errorf("V50 %s: Explain hides it:\n%s", name, text)
		}
		at = w.revokeBy(w.project, key(4), key(2), doc.ReasonCompromised, time.Time{})
		s, _ = w.load()
		v = s.Verify(in)
		wantCode(t, "an anchor that may revoke", v, diag.Revoked)
		wantReason(t, v, at)
	}
	w := team(t, "sign", "revoke") // forged: in the anchor's name, by another
	w.add(key(4), "leo", everything, everything, key(1))
	_, b, err := doc.NewRevocation(t.Context(), doc.RevocationParams{Key: fp(key(4)), Reason: doc.ReasonCompromised, Now: w.now}, key(9))
	if err != nil {
		t.Fatal(err)
	}
	name := doc.FileNameBy(doc.KindRevocation, fp(key(4)), fp(key(2)))
	w.write(w.project, name, b)
	s, fs := w.load()
	wantFinding(t, "V50 in another's name", fs, diag.ValidationFailed, name, "must be named")
	wantCode(t, "V50 in another's name", s.Verify(w.tool(key(4), "a/b", w.now)), "")
}

// A denial cannot be undone from the project: not by narrowing who denied, not
// by denying him.
func TestDenialsStay(t *testing.T) {
	w := team(t, "sign", "revoke")
	w.add(key(4), "leo", everything, everything, key(1))
	in := w.tool(key(4), "a/b", w.now)
	w.revokeBy(w.project, key(4), key(2), doc.ReasonRetired, w.now)
	wantCode(t, "denied", w.clean().Verify(in), diag.Revoked)
	w.propose(key(2), "root", doc.Scope{})
	wantCode(t, "the anchor is narrowed", w.clean().Verify(in), diag.Revoked)
	w.revoke(w.project, key(2), doc.ReasonCompromised, time.Time{})
	wantCode(t, "the anchor is revoked", w.clean().Verify(in), diag.Revoked)
	w.now = w.now.AddDate(0, 11, 0)
	wantCode(t, "later", w.clean().Verify(in), diag.Revoked)
	w.revoke(w.project, key(4), doc.ReasonRetired, w.now.Add(time.Hour))
	s, _ := w.load()
	wantCode(t, "a later cut-off as well", s.Verify(in), diag.Revoked)
}

// V51: a revocation that was seen stays valid after any user deletes it, and after
// its anchor is removed too.
func TestV51SeenRevocation(t *testing.T) {
	for name, by := range map[string]sign.Signer{"itself": key(4), "an anchor": key(2)} {
		w := team(t, "sign", "revoke")
		w.p.StateDir = t.TempDir()
		w.add(key(4), "leo", everything, everything, key(1))
		in := w.tool(key(4), "a/b", w.now)
		at := w.revokeBy(w.project, key(4), by, doc.ReasonSuperseded, w.now)
		if name == "itself" {
			at = w.revoke(w.project, key(4), doc.ReasonSuperseded, w.now)
		}
		s := w.clean()
		wantCode(t, "V51 "+name, s.Verify(in), diag.Revoked)
		if err := trust.Remember(w.p, s); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		s = w.clean()
		v := s.Verify(in)
		wantCode(t, "V51 deleted, "+name, v, diag.Revoked)
		if text := strings.Join(s.Explain(v, in), "\n"); !strings.Contains(text, "remembered from an earlier call") {
			t.Errorf("V51 %s: Explain:\n%s", name, text)
		}
		if _, err := trust.RemoveKey(w.userDir, fp(key(2))); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "V51 the anchor is gone, "+name, w.clean().Verify(in), diag.Revoked)
		if err := trust.Remember(w.p, w.clean()); err != nil {
			t.Errorf("remembering twice: %v", err)
		}
		files, _ := filepath.Glob(filepath.Join(w.p.StateDir, "seen", "*"))
		if len(files) != 1 {
			t.Errorf("remembered %v", files)
		}
	}
}

// A stranger's project cannot fill the state directory, and only revocations are
// kept there.
func TestSeenIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes hundreds of revocations")
	}
	w := newWorld(t)
	w.own(key(1), everything)
	w.p.StateDir = t.TempDir()
	for i := range 600 {
		seed := make([]byte, 32)
		seed[0], seed[1], seed[2] = byte(i), byte(i>>8), 7
		w.revoke(w.project, memSigner{newKey(seed)}, doc.ReasonCompromised, w.now)
	}
	w.revoke(w.project, key(1), doc.ReasonRetired, w.now.Add(time.Hour))
	s, _ := w.load()
	if err := trust.Remember(w.p, s); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(w.p.StateDir, "seen", "*"))
	if len(files) < 512 || len(files) > 513 {
		t.Errorf("%d revocations of strangers are remembered", len(files))
	}
	s, _ = w.load()
	if len(s.Keys()) != 1 {
		t.Errorf("strangers are listed as keys: %d", len(s.Keys()))
	}
	own, _ := filepath.Glob(filepath.Join(w.p.StateDir, "seen", "revocation-"+fp(key(1)).String()+".*"))
	if len(own) != 1 {
		t.Errorf("the one that matters is not: %v", own)
	}
	servedIsBounded(w, s)
	w.write(filepath.Join(w.p.StateDir, "seen"), "junk.toml", []byte("x"))
	name, keyDoc := w.document(key(6), "evil", everything)
	w.write(filepath.Join(w.p.StateDir, "seen"), name, keyDoc)
	s, _ = w.load()
	wantCode(t, "a key document among them", s.Verify(w.tool(key(6), "a/b", w.now)), diag.KeyUnknown)
}

// A registry can serve any document: one that another key than the revoked one signed is
// valid only if that key may revoke, and stays valid after that was verified once.
func TestServedRevocation(t *testing.T) {
	w := team(t, "sign", "revoke")
	w.p.StateDir = t.TempDir()
	w.add(key(4), "leo", everything, everything, key(1))
	in := w.tool(key(4), "a/b", w.now)
	serve := func(by sign.Signer) {
		t.Helper()
		_, b, err := doc.NewRevocation(t.Context(), doc.RevocationParams{Key: fp(key(4)), Reason: doc.ReasonCompromised, Now: w.now}, by)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			if changed, note, err := trust.RememberRevocations(w.p, w.clean(), [][]byte{b}); changed != want || note != "" || err != nil {
				t.Fatalf("changed %v, %q, %v", changed, note, err)
			}
		}
	}
	serve(key(9))
	if err := trust.Remember(w.p, w.clean()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "by a stranger", w.clean().Verify(in), "")
	serve(key(2))
	s := w.clean()
	wantCode(t, "by an anchor", s.Verify(in), diag.Revoked)
	if err := trust.Remember(w.p, s); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.RemoveKey(w.userDir, fp(key(2))); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the anchor is gone", w.clean().Verify(in), diag.Revoked)
}

// servedIsBounded serves a revocation of a stranger, a forged one and one of a trusted key
// while as many of strangers are remembered as are permitted.
func servedIsBounded(w *world, s *trust.Store) {
	w.t.Helper()
	revocation := func(by sign.Signer, of sign.Fingerprint) []byte {
		_, b, err := doc.NewRevocation(w.t.Context(), doc.RevocationParams{Key: of, Reason: doc.ReasonRetired, CutOff: w.now.Add(2 * time.Hour), Now: w.now}, by)
		if err != nil {
			w.t.Fatal(err)
		}
		return b
	}
	// Another key's signature with the fingerprint of a trusted one.
	forged := bytes.ReplaceAll(revocation(key(9), fp(key(4))), []byte(fp(key(9)).String()), []byte(fp(key(1)).String()))
	texts := [][]byte{revocation(key(9), sign.Fingerprint{}), forged, revocation(key(1), sign.Fingerprint{})}
	// A store that was loaded before another process wrote them lacks them, too.
	for _, want := range []bool{true, true, false} {
		if !want {
			s, _ = w.load()
		}
		changed, note, err := trust.RememberRevocations(w.p, s, texts)
		if changed != want || err != nil || !strings.HasPrefix(note, "1 revocations of registries are ignored: ") || !strings.Contains(note, "; 1 revocations of registries are not remembered") {
			w.t.Errorf("changed %v, %q, %v", changed, note, err)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(w.p.StateDir, "seen", "revocation-"+fp(key(1)).String()+".*"))
	if len(kept) != 2 {
		w.t.Errorf("of the trusted key are remembered %v", kept)
	}
}

// The claimed time of a signature decides only under a revocation that is not for
// a compromised key, and never after the key's end.
func TestClaimedTime(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	start := w.now
	cut := start.Add(48 * time.Hour)
	in := w.tool(key(2), "a/b", start.Add(time.Hour))
	end := start.AddDate(1, 0, 0)
	for _, tc := range []struct {
		name   string
		reason doc.Reason
		now    time.Time
		want   diag.Code
	}{
		{"compromised", doc.ReasonCompromised, cut, diag.Revoked},
		{"retired, claimed before", doc.ReasonRetired, cut, ""},
		{"expired", "", end.Add(time.Hour), diag.Expired},
	} {
		path := filepath.Join(w.userDir, doc.FileName(doc.KindRevocation, fp(key(2))))
		_ = os.Remove(path)
		w.now = start
		if tc.reason != "" {
			w.revoke(w.userDir, key(2), tc.reason, cut)
		}
		w.now = tc.now
		v := w.clean().Verify(in)
		wantCode(t, tc.name, v, tc.want)
		if v.Anchor != "claimed" {
			t.Errorf("%s: anchor %q", tc.name, v.Anchor)
		}
	}
}

func (w *world) list(by sign.Signer, listed ...item.Digest) string {
	w.t.Helper()
	name, b, err := doc.NewRevocationList(context.Background(), listed, by, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(w.project, name, b)
}

// Revocation data that is too old or incomplete is STALE.
func TestStale(t *testing.T) {
	w := team(t, "sign", "revoke")
	w.add(key(3), "ben", everything, everything, key(1))
	in, own := w.tool(key(3), "a/b", w.now), w.tool(key(1), "a/b", w.now)
	wantCode(t, "no age is asked for", w.clean().Verify(in), "")
	w.p.MaxAge = 24 * time.Hour
	v := w.clean().Verify(in)
	wantCode(t, "no list", v, diag.Stale)
	wantReason(t, v, "no anchor has listed")
	wantCode(t, "the own key needs none", w.clean().Verify(own), "")
	if v.Status != trust.Untrusted || v.Err("x").(*diag.Error).Code != diag.Stale {
		t.Errorf("verdict %+v", v)
	}
	w.list(key(3))
	s, fs := w.load()
	wantFinding(t, "a list of another", fs, diag.KeyUnknown, doc.FileNameBy(doc.KindRevocations, sign.Fingerprint{}, fp(key(3))), "not an anchor that may revoke")
	wantCode(t, "a list of another", s.Verify(in), diag.Stale)
	_ = os.Remove(filepath.Join(w.project, doc.FileNameBy(doc.KindRevocations, sign.Fingerprint{}, fp(key(3)))))

	w.list(key(2))
	wantCode(t, "fresh", w.clean().Verify(in), "")
	w.now = w.now.Add(24 * time.Hour)
	wantCode(t, "at its age", w.clean().Verify(in), "")
	w.now = w.now.Add(time.Second)
	v = w.clean().Verify(in)
	wantCode(t, "a second later", v, diag.Stale)
	wantReason(t, v, "maximum age")

	at := w.revoke(w.project, key(4), doc.ReasonRetired, w.now)
	s = w.clean()
	if len(s.ProjectRevocations()) != 1 {
		t.Fatalf("revocations %v", s.ProjectRevocations())
	}
	w.list(key(2), s.ProjectRevocations()...)
	w.p.MaxAge = 0
	wantCode(t, "all listed are here", w.clean().Verify(in), "")
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	s, fs = w.load()
	wantCode(t, "one is missing", s.Verify(in), diag.Stale)
	wantFinding(t, "one is missing", fs, diag.Stale, doc.FileNameBy(doc.KindRevocations, sign.Fingerprint{}, fp(key(2))), "which is missing")
	if text := strings.Join(s.Explain(s.Verify(in), in), "\n"); !strings.Contains(text, "12 revocation: FAILED, STALE") {
		t.Errorf("Explain:\n%s", text)
	}
	// A stolen anchor cannot date the revocations.
	w.p.MaxAge = 24 * time.Hour
	w.list(key(2))
	w.revoke(w.userDir, key(2), doc.ReasonCompromised, time.Time{})
	wantCode(t, "the list of a stolen anchor", w.clean().Verify(in), diag.Stale)
}

// A revocation is made stricter in its place, never weaker.
func TestRevocationKeepsItsPlace(t *testing.T) {
	w := newWorld(t)
	make := func(reason doc.Reason, cut time.Time) (string, []byte) {
		name, b, err := doc.NewRevocation(t.Context(), doc.RevocationParams{Reason: reason, CutOff: cut, Now: w.now}, key(2))
		if err != nil {
			t.Fatal(err)
		}
		return name, b
	}
	for _, step := range []struct {
		what   string
		reason doc.Reason
		cut    time.Duration
		want   diag.Code
	}{
		{"first", doc.ReasonRetired, time.Hour, ""},
		{"the same", doc.ReasonRetired, time.Hour, ""},
		{"later", doc.ReasonRetired, 2 * time.Hour, diag.ConfigError},
		{"earlier", doc.ReasonSuperseded, 0, ""},
		{"compromised", doc.ReasonCompromised, 0, ""},
		{"retired again", doc.ReasonRetired, -time.Hour, diag.ConfigError},
	} {
		name, b := make(step.reason, w.now.Add(step.cut))
		for _, add := range []func(string, string, []byte) (string, error){trust.AddDocument, trust.AddToProject} {
			dir := w.project
			if _, err := add(dir, name, b); diag.CodeOf(err) != step.want {
				t.Errorf("%s: %v, want %q", step.what, err, step.want)
			}
		}
	}
	_, keyDoc := w.document(key(2), "x", everything)
	name, g := w.grant(keyDoc, everything, key(1))
	if _, err := trust.AddToProject(w.project, name, g); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("a grant in a project: %v", err)
	}
}
