package bundle

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// cosign writes a co-signature of the manifest in root.
func cosign(t *testing.T, root, name string, k testKey, sub sign.Subject) string {
	t.Helper()
	sp, err := sign.SplitFile([]byte(read(t, root, ManifestPath("acme"))), hash())
	if err != nil {
		t.Fatal(err)
	}
	sig, _, err := sign.SignDetached(t.Context(), sp.Body(), nil, sub, k, now)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, name, string(sig), 0o644)
	return string(sig)
}

func verifyAll(t *testing.T, root string, keys ...testKey) *Report {
	t.Helper()
	all := func(fp sign.Fingerprint) (ed25519.PublicKey, bool) {
		for _, k := range keys {
			if sign.FingerprintOf(k.Public()) == fp {
				return k.Public(), true
			}
		}
		return nil, false
	}

	r, err := Verify(t.Context(), VerifyParams{Tree: open(t, root), ID: "acme",
		Judge: func(b []byte, sub sign.Subject) Verdict {
			_, err := sign.Verify(b, hash(), sub, all)
			return verdict{err}
		},
		JudgeCosignature: func(_ string, body, sig []byte, sub sign.Subject) Verdict {
			_, err := sign.VerifyDetached(body, sig, sub, all)
			return verdict{err}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// V54: a key is listed once under any number of names, and only valid signatures of
// trusted keys are listed.
func TestV54Signers(t *testing.T) {
	k, e, stranger := newKey('k'), newKey('e'), newKey('s')
	fp := func(k testKey) sign.Fingerprint { return sign.FingerprintOf(k.Public()) }
	where := ManifestPath("acme")
	for name, c := range map[string]struct {
		do      func(t *testing.T, root string)
		signers []sign.Fingerprint
		count   int
		code    diag.Code
	}{
		"one":          {func(*testing.T, string) {}, []sign.Fingerprint{fp(k)}, 1, ""},
		"another":      {func(t *testing.T, root string) { cosign(t, root, CosignPath("acme", fp(e)), e, Subject("acme")) }, []sign.Fingerprint{fp(k), fp(e)}, 2, ""},
		"itself again": {func(t *testing.T, root string) { cosign(t, root, where+".x.rye-sig", k, Subject("acme")) }, []sign.Fingerprint{fp(k)}, 2, ""},
		"one, two names": {func(t *testing.T, root string) {
			cosign(t, root, where+".a.rye-sig", e, Subject("acme"))
			cosign(t, root, where+".b.rye-sig", e, Subject("acme"))
		}, []sign.Fingerprint{fp(k), fp(e)}, 3, ""},
		"a stranger":        {func(t *testing.T, root string) { cosign(t, root, where+".s.rye-sig", stranger, Subject("acme")) }, []sign.Fingerprint{fp(k)}, 2, ""},
		"of another bundle": {func(t *testing.T, root string) { cosign(t, root, where+".e.rye-sig", e, Subject("other")) }, []sign.Fingerprint{fp(k)}, 2, diag.SigInvalid},
		"of another use": {func(t *testing.T, root string) {
			cosign(t, root, where+".e.rye-sig", e, sign.Subject{Use: sign.UseItem, Kind: "bundle", ID: "acme"})
		}, []sign.Fingerprint{fp(k)}, 2, diag.SigInvalid},
		"truncated": {func(t *testing.T, root string) {
			sig := cosign(t, root, where+".e.rye-sig", e, Subject("acme"))
			write(t, root, where+".e.rye-sig", sig[:len(sig)-9], 0o644)
		}, []sign.Fingerprint{fp(k)}, 2, diag.SigMalformed},
		"twice in a file": {func(t *testing.T, root string) {
			sig := cosign(t, root, where+".e.rye-sig", e, Subject("acme"))
			write(t, root, where+".e.rye-sig", sig+sig, 0o644)
		}, []sign.Fingerprint{fp(k)}, 2, diag.SigMultiple},
		"empty": {func(t *testing.T, root string) { write(t, root, where+".e.rye-sig", "", 0o644) }, []sign.Fingerprint{fp(k)}, 2, diag.SigMalformed},
		"huge":  {func(t *testing.T, root string) { write(t, root, where+".e.rye-sig", strings.Repeat("x", 1<<20), 0o644) }, []sign.Fingerprint{fp(k)}, 1, diag.TooLarge},
		"of the manifest before": {func(t *testing.T, root string) {
			cosign(t, root, where+".e.rye-sig", e, Subject("acme"))
			write(t, root, ".ai/tools/acme/more.sh", "#!/bin/sh\n", 0o755)
			manifest(t, root)
		}, []sign.Fingerprint{fp(k)}, 2, diag.HashMismatch},
	} {
		root := folder(t)
		c.do(t, root)
		r := verifyAll(t, root, k, e)
		want := slices.Clone(c.signers)
		slices.SortFunc(want, func(a, b sign.Fingerprint) int { return strings.Compare(a.String(), b.String()) })
		if got := r.Signers(); !slices.Equal(got, want) || len(r.Signatures) != c.count || diag.CodeOf(r.Err("acme")) != c.code {
			t.Errorf("%s: signers %v of %d signatures, %v; want %v of %d, %q", name, got, len(r.Signatures), r.Err("acme"), want, c.count, c.code)
		}
	}
}

func TestVoidCosignatures(t *testing.T) {
	root := folder(t)
	fresh, junk := CosignPath("acme", sign.Fingerprint{1}), ManifestPath("acme")+".junk.rye-sig"
	cosign(t, root, fresh, newKey('e'), Subject("acme"))
	write(t, root, junk, "junk", 0o644)
	write(t, root, ".ai/bundles/other/manifest.yaml.x.rye-sig", "of another", 0o644)
	void := func(manifest string) []string {
		out, err := VoidCosignatures(open(t, root), "acme", []byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	now := read(t, root, ManifestPath("acme"))
	if got := void(now); !slices.Equal(got, []string{junk}) {
		t.Errorf("of the same manifest: %v", got)
	}
	if got := void(strings.Replace(now, "Tests.", "Texts.", 1)); !slices.Equal(got, []string{fresh, junk}) {
		t.Errorf("of a new manifest: %v", got)
	}
}

func TestCosignedManifest(t *testing.T) {
	for p, want := range map[string]string{
		".ai/bundles/a/manifest.yaml.x.rye-sig": ".ai/bundles/a/manifest.yaml", ".ai/bundles/a/manifest.yaml.rye-sig": "",
		".ai/bundles/a/manifest.yaml": "", ".ai/bundles/a/manifest.yaml..rye-sig": "", ".ai/bundles/a/b.yaml.x.rye-sig": "",
		"bundles/a/b/manifest.yaml.a.b.rye-sig": "bundles/a/b/manifest.yaml",
	} {
		if got, ok := CosignedManifest(p); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", p, got, ok)
		}
	}
}

// A link in place of a signature is not followed.
func TestCosignatureLink(t *testing.T) {
	root := folder(t)
	at := ManifestPath("acme") + ".e.rye-sig"
	outside := filepath.Join(t.TempDir(), "sig")
	sig := cosign(t, root, at, newKey('e'), Subject("acme"))
	remove(t, root, at)
	if err := os.WriteFile(outside, []byte(sig), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, filepath.FromSlash(at))); err != nil {
		t.Skip("no links here: ", err)
	}
	if r := verifyAll(t, root, newKey('k'), newKey('e')); r.OK() || len(r.Signers()) != 1 {
		t.Errorf("%v, signers %v", r.Findings, r.Signers())
	}
}
