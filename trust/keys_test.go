package trust_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func TestKeyStates(t *testing.T) {
	w := newWorld(t)
	w.p.Anchors = []trust.Anchor{{Public: key(7).Public(), Owner: "rye", EmbeddedOnly: true, Scope: everything}}
	w.own(key(1), everything)
	w.own(key(5), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	name, keyDoc := w.document(key(3), "not granted", everything)
	w.write(w.userDir, name, keyDoc)
	w.add(key(4), "revoked", everything, everything, key(1))
	w.revoke(w.userDir, key(4), doc.ReasonCompromised, time.Time{})
	s := w.clean()

	states := func() map[byte]trust.KeyState {
		out := map[byte]trust.KeyState{}
		for n := byte(1); n < 8; n++ {
			if k, ok := s.Key(fp(key(n))); ok {
				out[n] = k.State
			}
		}
		return out
	}
	want := func(what string, at time.Time, want map[byte]trust.KeyState) {
		t.Helper()
		w.now = at
		got := states()
		for n, st := range want {
			if got[n] != st {
				t.Errorf("%s: key %d is %q, want %q", what, n, got[n], st)
			}
		}
	}
	start, end := w.now, w.now.AddDate(1, 0, 0)
	want("today", start, map[byte]trust.KeyState{1: trust.StateValid, 2: trust.StateValid, 3: trust.StateNotTrusted, 4: trust.StateRevoked, 7: trust.StateValid, 6: ""})
	want("before", start.Add(-time.Hour), map[byte]trust.KeyState{1: trust.StateNotYetValid})
	want("just after", end.Add(time.Hour), map[byte]trust.KeyState{1: trust.StateGrace, 2: trust.StateExpired, 7: trust.StateValid})
	want("long after", end.AddDate(1, 0, 0), map[byte]trust.KeyState{1: trust.StateExpired, 2: trust.StateExpired})

	w.now = start
	ks := s.Keys()
	if len(ks) != 6 || !ks[0].Own || !ks[1].Own || ks[2].Own {
		t.Fatalf("own keys come first: %+v", ks)
	}
	tiers := []trust.Tier{trust.TierUser, trust.TierSystem, trust.TierProject, trust.TierEmbedded, ""}
	place := func(k trust.KeyInfo) string {
		return fmt.Sprintf("%d %s %s", slices.Index(tiers, k.Tier), k.Owner, k.Fingerprint)
	}
	for i := 3; i < len(ks); i++ {
		if place(ks[i-1]) >= place(ks[i]) {
			t.Errorf("keys are not in order: %s before %s", place(ks[i-1]), place(ks[i]))
		}
	}
	docs := s.Documents(fp(key(3)))
	if len(docs) != 1 || docs[0].Owner != "not granted" || filepath.Dir(docs[0].Path) != w.userDir || s.Documents(fp(key(6))) != nil {
		t.Errorf("Documents() = %+v", docs)
	}
}

// For each step that fails, the steps before it passed and those after it were
// not reached.
func TestExplain(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"acme/**"}, May: []string{"sign"}}, key(1))
	s := w.clean()
	in := w.tool(key(2), "other/x", w.now)
	v := s.Verify(in)
	lines := s.Explain(v, in)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"2 size: passed", "6 hash: passed", "7 key: passed, " + fp(key(2)).String() + " of acme", "9 signature: passed, made for tool:other/x",
		"10 scope: FAILED, SCOPE", "acme/**", "11 validity: not reached", "13 hidden characters: not reached", "verdict: untrusted, SCOPE",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Explain does not say %q:\n%s", want, text)
		}
	}
	in = w.tool(key(1), "a/b", w.now)
	text = strings.Join(s.Explain(s.Verify(in), in), "\n")
	if strings.Contains(text, "FAILED") || strings.Contains(text, "not reached") || !strings.Contains(text, "verdict: trusted") {
		t.Errorf("Explain of a trusted item:\n%s", text)
	}
	if !strings.Contains(text, "11 validity: passed, 2026-11-20T10:00:00Z to 2027-11-20T10:00:00Z") {
		t.Errorf("Explain hides the window:\n%s", text)
	}
}

// Every code that Verify can give belongs to a step, so that Explain never
// calls a failure passed.
func TestExplainKnowsEveryCode(t *testing.T) {
	w := newWorld(t)
	s := w.clean()
	in := w.tool(key(1), "a/b", w.now)
	for _, c := range []diag.Code{
		diag.TooLarge, diag.Encoding, diag.Unsigned, diag.SigMalformed, diag.Legacy, diag.SigMultiple, diag.HashMismatch, diag.KeyUnknown,
		diag.KeyWeak, diag.SigInvalid, diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked, diag.HiddenChars, diag.Internal, diag.Usage,
		diag.TrustChanged, diag.Stale,
	} {
		text := strings.Join(s.Explain(trust.Verdict{Code: c, Status: trust.Invalid}, in), "\n")
		if !strings.Contains(text, "FAILED, "+string(c)) {
			t.Errorf("no step fails with %s", c)
		}
	}
}

func TestNewDocumentsRefuseNonsense(t *testing.T) {
	ctx, now := context.Background(), at("2026-11-20T10:00:00Z")
	w := newWorld(t)
	_, keyDoc := w.document(key(2), "acme", everything)
	_, grant := w.grant(keyDoc, everything, key(1))
	for name, err := range map[string]error{
		"no owner":      errOf(doc.NewKey(ctx, doc.KeyParams{Now: now}, key(1))),
		"four years":    errOf(doc.NewKey(ctx, doc.KeyParams{Owner: "x", Now: now, NotAfter: now.AddDate(4, 0, 0)}, key(1))),
		"ends at once":  errOf(doc.NewKey(ctx, doc.KeyParams{Owner: "x", Now: now, NotAfter: now}, key(1))),
		"unknown use":   errOf(doc.NewKey(ctx, doc.KeyParams{Owner: "x", Now: now, Scope: doc.Scope{May: []string{"rule"}}}, key(1))),
		"bad namespace": errOf(doc.NewKey(ctx, doc.KeyParams{Owner: "x", Now: now, Scope: doc.Scope{Namespaces: []string{""}}}, key(1))),
		"grant a grant": errOf(doc.NewGrant(ctx, doc.PermissionParams{Document: grant, Now: now}, key(1))),
		"grant nothing": errOf(doc.NewGrant(ctx, doc.PermissionParams{Now: now}, key(1))),
		"grant forged":  errOf(doc.NewGrant(ctx, doc.PermissionParams{Document: []byte(strings.Replace(string(keyDoc), "acme", "ACME", 1)), Now: now}, key(1))),
		"no reason":     errOf(doc.NewRevocation(ctx, doc.RevocationParams{Now: now}, key(1))),
	} {
		if diag.CodeOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func errOf(_ string, _ []byte, err error) error { return err }

// The short cut for "acme/**" answers as the patterns do.
func TestNamespaceShortCut(t *testing.T) {
	for _, p := range []string{"a/**", "a/b/**", "**", "*/**", "a*/**", "a**", "/**", "a/**/b", "[a]/**", "a//**"} {
		for _, id := range []string{"a", "a/", "a/b", "a/b/c", "ab", "ab/c", "b/a", "a/b/", "", "/a", "a/x/b", "a//b"} {
			sc := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{p}, May: []string{"sign"}}
			if got, want := sc.Allows("tool", id, ""), glob.Match(p, id); got != want {
				t.Errorf("namespace %q, id %q: %v, the pattern gives %v", p, id, got, want)
			}
		}
	}
}

func TestDanglingLinkFailsClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights here")
	}
	w := newWorld(t)
	w.own(key(1), everything)
	link := filepath.Join(w.userDir, "revocation-"+fp(key(1)).String()+".toml")
	if err := os.Symlink(filepath.Join(w.userDir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantFinding(t, "dangling link", fs, diag.FileSystemError, link, "")
	wantCode(t, "dangling link", s.Verify(w.tool(key(1), "a/b", w.now)), diag.KeyUnknown)
}
