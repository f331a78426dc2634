package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// manifest returns a signed manifest of a bundle, and the release that it is.
func (w *world) manifest(k sign.Signer, id string) (trust.Input, doc.Release) {
	w.t.Helper()
	body := []byte("bundle:\n  id: " + id + "\n")
	sub := sign.Subject{Use: sign.UseManifest, Kind: "bundle", ID: id}
	b, _, err := sign.Sign(w.t.Context(), body, style, sub, k, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return trust.Input{Space: "project", Path: "manifest.yaml", Bytes: b, Style: style, Subject: sub, Use: "release", Text: true},
		doc.Release{Bundle: id, Version: "1.0.0", Manifest: item.DigestOf(b), Content: item.DigestOf(body), Why: "it leaks"}
}

// takeBack writes the revocation of a release.
func (w *world) takeBack(dir string, r doc.Release, by sign.Signer) string {
	w.t.Helper()
	name, b, err := doc.NewReleaseRevocation(w.t.Context(), r, by, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(dir, name, b)
}

// Protection 13: a signer of a release revokes it, from any tier, and the other
// signatures of that key stay valid.
func TestReleaseRevoked(t *testing.T) {
	for _, tier := range []string{"system", "user", "project"} {
		w := newWorld(t)
		w.own(key(1), everything)
		w.add(key(2), "ben", everything, everything, key(1))
		in, r := w.manifest(key(2), "core")
		other, _ := w.manifest(key(2), "other")
		wantCode(t, "before", w.clean().Verify(in), "")
		at := w.takeBack(map[string]string{"system": w.sysDir, "user": w.userDir, "project": w.project}[tier], r, key(2))
		s := w.clean()
		v := s.Verify(in)
		wantCode(t, tier, v, diag.Revoked)
		wantReason(t, v, "it leaks")
		wantReason(t, v, at)
		wantCode(t, "another release", s.Verify(other), "")
		wantCode(t, "an item", s.Verify(w.tool(key(2), "core/t", w.now)), "")
		if s.ReleaseRevoked(r.Manifest, []sign.Fingerprint{fp(key(2))}) == "" || s.ManifestRevoked(in.Subject, in.Bytes) == "" || !s.RevokesReleases() {
			t.Errorf("%s: what a lock knows is not enough", tier)
		}
		if why := s.ReleaseRevoked(r.Manifest, []sign.Fingerprint{fp(key(3))}); why != "" {
			t.Errorf("a release that others signed: %s", why)
		}
		if got := s.ProjectRevocations(); (len(got) == 1) != (tier == "project") {
			t.Errorf("%s: the project's revocations are %v", tier, got)
		}
		// The same content, signed at another time or next to the manifest, is the same release.
		w.now = w.now.Add(1e9)
		again, _ := w.manifest(key(2), "core")
		wantCode(t, "signed again", s.Verify(again), diag.Revoked)
		sp, _ := sign.SplitFile(in.Bytes, style)
		sig, _, err := sign.SignDetached(t.Context(), sp.Body(), nil, in.Subject, key(2), w.now)
		if err != nil {
			t.Fatal(err)
		}
		in.Bytes, in.Detached, in.DetachedOnly = sp.Body(), sig, true
		wantCode(t, "detached", s.Verify(in), diag.Revoked)
	}
}

// V50 for releases: others take nothing back, whatever they say of themselves.
func TestReleaseRevokedByOthers(t *testing.T) {
	revoker := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"acme/**"}, May: []string{"revoke"}}
	for name, c := range map[string]struct {
		by      sign.Signer
		id      string
		lie     func(*doc.Release)
		want    diag.Code
		ignored bool
	}{
		"a stranger":                 {by: key(9), id: "acme/a", ignored: true},
		"a key that may release":     {by: key(3), id: "acme/a"},
		"an anchor that may revoke":  {by: key(4), id: "acme/a", want: diag.Revoked},
		"outside its scope":          {by: key(4), id: "other/a"},
		"outside, and lies about it": {by: key(4), id: "other/a", lie: func(r *doc.Release) { r.Bundle = "acme/a" }},
		"of another content":         {by: key(4), id: "acme/a", lie: func(r *doc.Release) { r.Content[0] ^= 1 }},
		"of another manifest":        {by: key(2), id: "acme/a", lie: func(r *doc.Release) { r.Manifest[0] ^= 1 }, want: diag.Revoked},
	} {
		w := newWorld(t)
		w.own(key(1), everything)
		w.add(key(2), "ben", everything, everything, key(1))
		w.add(key(3), "eve", everything, everything, key(1))
		w.add(key(4), "sec", revoker, revoker, key(1))
		in, r := w.manifest(key(2), c.id)
		if c.lie != nil {
			c.lie(&r)
		}
		at := w.takeBack(w.userDir, r, c.by)
		s, fs := w.load()
		wantCode(t, name, s.Verify(in), c.want)
		if c.ignored {
			wantFinding(t, name, fs, diag.KeyUnknown, at, "ignored: ")
		}
		if diag.Failed(fs) || len(fs) > 0 != c.ignored {
			t.Errorf("%s: %v", name, fs)
		}
		if got := s.MayRevokeRelease(fp(c.by), in.Subject.ID, []sign.Fingerprint{fp(key(2))}); c.lie == nil && got != (c.want != "") {
			t.Errorf("%s: MayRevokeRelease is %t", name, got)
		}
	}
}

// The successor of a key takes back what the key signed.
func TestReleaseRevokedBySuccessor(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "ben", everything, everything, key(1))
	in, r := w.manifest(key(2), "core")
	name, b, err := doc.NewRotation(t.Context(), doc.RotationParams{From: w.now, Now: w.now}, key(2), key(3))
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.userDir, name, b)
	w.takeBack(w.userDir, r, key(3))
	s, _ := w.load()
	wantCode(t, "by the successor", s.Verify(in), diag.Revoked)
}

// V51 for releases: a revocation is remembered after the project removed it.
func TestV51ReleaseRemembered(t *testing.T) {
	w := newWorld(t)
	w.p.StateDir = filepath.Join(t.TempDir(), "state")
	w.own(key(1), everything)
	w.add(key(2), "ben", everything, everything, key(1))
	in, r := w.manifest(key(2), "core")
	at := w.takeBack(w.project, r, key(2))
	w.takeBack(w.project, r, key(9)) // by an unknown key: not remembered
	s, _ := w.load()
	if err := trust.Remember(w.p, s); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(w.p.StateDir, "seen"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("remembered %v, %v", entries, err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	s, _ = w.load()
	wantCode(t, "V51 after it is gone", s.Verify(in), diag.Revoked)
}

// A lock records the revocations of releases that the project holds, as it does
// those of keys.
func TestReleaseStapled(t *testing.T) {
	w := newWorld(t)
	w.propose(key(2), "ben", everything)
	_, r := w.manifest(key(2), "core")
	at := w.takeBack(w.project, r, key(2))
	w.takeBack(w.project, r, key(9)) // whose key the project does not hold
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := w.load()
	if got := s.ProjectRevoked().Documents; len(got) != 1 || got[0] != item.DigestOf(b) {
		t.Errorf("stapled %v, want %s", got, item.DigestOf(b))
	}
}

// What a document of a release may not be.
func TestReleaseDocuments(t *testing.T) {
	w := newWorld(t)
	_, r := w.manifest(key(2), "core")
	name, good, err := doc.NewReleaseRevocation(t.Context(), r, key(2), w.now)
	if err != nil {
		t.Fatal(err)
	}
	d, fs := doc.Parse(name, good)
	if d := doc.As[*doc.ReleaseRevocation](d, fs); d == nil || d.Release != r {
		t.Fatalf("%+v, %v", d, fs)
	}
	if d, fs := doc.ParseAnyName(good); d == nil || d.Name() != name {
		t.Errorf("%v, %v", d, fs)
	}
	for what, change := range map[string]func(*doc.Release){
		"no reason":     func(r *doc.Release) { r.Why = "" },
		"a long reason": func(r *doc.Release) { r.Why = strings.Repeat("x", 513) },
		"no bundle":     func(r *doc.Release) { r.Bundle = "" },
		"a version":     func(r *doc.Release) { r.Version = "v1" },
		"no version":    func(r *doc.Release) { r.Version = "" },
	} {
		bad := r
		change(&bad)
		if _, _, err := doc.NewReleaseRevocation(t.Context(), bad, key(2), w.now); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for _, other := range []string{strings.Replace(name, "by-", "by-0", 1), "revocation-" + fp(key(2)).String() + ".toml", "x.toml"} {
		if d, _ := doc.Parse(other, good); d != nil {
			t.Errorf("it is read as %s", other)
		}
	}
	text := string(good[strings.IndexByte(string(good), '\n')+1:])
	for what, edit := range map[string]string{
		"an unknown field": text + "more = 1\n",
		"no digest":        strings.Replace(text, r.Content.String(), "sha256:00", 1),
		"a number":         strings.Replace(text, `"1.0.0"`, "1", 1),
		"a field twice":    text + "reason = \"x\"\n",
	} {
		b := w.signed(doc.KindReleaseRevocation, strings.TrimSuffix(name, ".toml"), edit, key(2))
		if d, _ := doc.Parse(name, b); d != nil {
			t.Errorf("%s is accepted", what)
		}
	}
}
