package trust_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func TestSystemAnchor(t *testing.T) {
	w := newWorld(t)
	name, keyDoc := w.document(key(2), "company", doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"acme/**"}, May: []string{"sign"}})
	w.write(w.sysDir, name, keyDoc)
	s := w.clean()
	v := s.Verify(w.tool(key(2), "acme/x", w.now))
	wantCode(t, "anchor by being there", v, "")
	if v.Tier != trust.TierSystem || v.Owner != "company" {
		t.Errorf("verdict %+v", v)
	}
	wantCode(t, "its document's scope counts", s.Verify(w.tool(key(2), "other/x", w.now)), diag.Scope)

	// The user and the project may narrow it; neither can widen it.
	w.own(key(1), everything)
	wide := strings.Replace(keyText(key(2), "company"), `["**"]`, `["acme/**", "other/**"]`, 1)
	w.write(w.project, name, w.signed("key", keyStem(key(2)), wide, key(2)))
	wantCode(t, "project document does not widen", w.clean().Verify(w.tool(key(2), "other/x", w.now)), diag.Scope)
	narrow := strings.Replace(keyText(key(2), "company"), `["**"]`, `["acme/y"]`, 1)
	w.write(w.project, name, w.signed("key", keyStem(key(2)), narrow, key(2)))
	s = w.clean()
	wantCode(t, "project document narrows", s.Verify(w.tool(key(2), "acme/x", w.now)), diag.Scope)
	wantCode(t, "within the narrow scope", s.Verify(w.tool(key(2), "acme/y", w.now)), "")
	if err := os.Remove(filepath.Join(w.project, name)); err != nil {
		t.Fatal(err)
	}

	gname, grant := w.grant(keyDoc, doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"acme/z"}, May: []string{"sign"}}, key(1))
	w.write(w.userDir, gname, grant)
	s = w.clean()
	wantCode(t, "a grant narrows an anchor", s.Verify(w.tool(key(2), "acme/x", w.now)), diag.Scope)
	wantCode(t, "a grant never widens", s.Verify(w.tool(key(2), "other/x", w.now)), diag.Scope)
	wantCode(t, "what both allow", s.Verify(w.tool(key(2), "acme/z", w.now)), "")
}

// A document in memory has the rights of a document in a system directory.
func TestSystemDocuments(t *testing.T) {
	w := newWorld(t)
	name, keyDoc := w.document(key(2), "company", doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"acme/**"}, May: []string{"sign"}})
	in := w.tool(key(2), "acme/x", w.now)
	wantCode(t, "without the document", w.clean().Verify(in), diag.KeyUnknown)

	w.p.System = []trust.File{{Name: name, Data: keyDoc}}
	s := w.clean()
	v := s.Verify(in)
	wantCode(t, "in memory", v, "")
	if v.Tier != trust.TierSystem || v.Owner != "company" {
		t.Errorf("verdict %+v", v)
	}
	wantCode(t, "the scope of the document", s.Verify(w.tool(key(2), "other/x", w.now)), diag.Scope)

	rname, revocation, err := doc.NewRevocation(t.Context(), doc.RevocationParams{Reason: doc.ReasonCompromised, CutOff: w.now.AddDate(0, 0, -1), Now: w.now}, key(2))
	if err != nil {
		t.Fatal(err)
	}
	w.p.System = append(w.p.System, trust.File{Name: rname, Data: revocation})
	wantCode(t, "a revocation in memory", w.clean().Verify(in), diag.Revoked)

	w.p.System = []trust.File{{Name: "key-1.toml", Data: keyDoc}}
	s, fs := w.load()
	wantFinding(t, "a document under another name", fs, diag.ValidationFailed, "key-1.toml", "")
	wantCode(t, "a document under another name", s.Verify(in), diag.KeyUnknown)

	w.p.System = []trust.File{{Name: name, Data: bytes.Repeat([]byte("#"), doc.MaxDocument+1)}}
	s, fs = w.load()
	wantFinding(t, "a large document", fs, diag.TooLarge, name, "")
	wantCode(t, "a large document", s.Verify(in), diag.KeyUnknown)
}

// T9, V44: a clone that carries a trust document for its own key.
func TestT9ProjectTrustsItself(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	in := w.tool(key(6), "demo/evil", w.now)
	name, keyDoc := w.document(key(6), "nice people", everything)
	w.write(w.project, name, keyDoc)
	gname, grant := w.grant(keyDoc, everything, key(6))
	w.write(w.project, gname, grant)
	s, _ := w.load()
	v := s.Verify(in)
	wantCode(t, "T9", v, diag.KeyUnknown)
	wantReason(t, v, "of nice people in .ai/trust, and a project cannot make its own keys trusted")
	if err := v.Err("tool:demo/evil").(*diag.Error); err.Reason != "proposed_key" || err.Details["document"] != ".ai/trust/"+name {
		t.Errorf("T9: the reason is %q, %v", err.Reason, err.Details)
	}
	ps := s.Proposals()
	if len(ps) != 2 || ps[1].Fingerprint != fp(key(6)) || !ps[1].Sound || ps[1].Known || ps[1].Owner != "nice people" {
		t.Errorf("Proposals() = %+v", ps)
	}
	if k := s.Keys(); len(k) != 1 {
		t.Errorf("a proposal is not a key: %+v", k)
	}
	info, ok := s.Key(fp(key(6)))
	if !ok || info.State != trust.StateNotTrusted {
		t.Errorf("Key of a proposal: %+v %v", info, ok)
	}
}

// The folder of the Python original is read as proposals too.
func TestLegacyProposals(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(filepath.Dir(w.project), "trusted_keys")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	der, _ := hex.DecodeString("302a300506032b6570032100")
	pem := "-----BEGIN PUBLIC KEY-----\n" + base64.StdEncoding.EncodeToString(append(der, key(6).Public()...)) + "\n-----END PUBLIC KEY-----\n"
	w.write(dir, "9fbfabe975fa5a7f.toml", []byte("fingerprint = \"9fbfabe975fa5a7f\"\nowner = \"leo\\u001b\"\n\n[public_key]\npem = \"\"\"\n"+pem+"\"\"\"\n"))
	w.write(dir, "junk.toml", []byte("[public_key]\npem = 1\n"))
	s := w.clean()
	ps := s.Proposals()
	if len(ps) != 1 || !ps[0].Legacy || ps[0].Fingerprint != fp(key(6)) || strings.Contains(ps[0].Owner, "\x1b") {
		t.Fatalf("Proposals() = %+v", ps)
	}
	v := s.Verify(w.tool(key(6), "a/b", w.now))
	wantCode(t, "legacy trust folder", v, diag.KeyUnknown)
	wantReason(t, v, "trusted_keys")
}

// T16, V2 to V5: keys that verify anything, or that implementations disagree on.
func TestT16WeakKeys(t *testing.T) {
	for name, enc := range map[string]string{
		"V2 identity":      "0100000000000000000000000000000000000000000000000000000000000000",
		"V3 order 2":       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"V3 order 4":       "0000000000000000000000000000000000000000000000000000000000000000",
		"V3 order 8":       "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"V4 not canonical": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"V5 mixed order":   "b33565f6b1d8a4f4e1ff9e1d5a0f0f0a9c4d5ed3d4dd6dd9c0c0d8b6c16fb8c0",
	} {
		raw, err := hex.DecodeString(enc)
		if err != nil || len(raw) != 32 {
			t.Fatal(name, err)
		}
		w := newWorld(t)
		w.p.Anchors = []trust.Anchor{{Public: raw, Owner: "x", Scope: everything}}
		s, fs := w.load()
		if len(fs) != 1 || fs[0].Code != diag.KeyWeak {
			t.Errorf("%s as anchor: %v", name, fs)
		}
		for _, k := range s.Keys() {
			if k.State != trust.StateWeak {
				t.Errorf("%s as anchor: %+v", name, k)
			}
		}

		text := strings.Replace(keyText(key(3), "x"), base64.StdEncoding.EncodeToString(key(3).Public()), base64.StdEncoding.EncodeToString(raw), 1)
		w = newWorld(t)
		stem := doc.FileName("key", sha(raw))
		path := w.write(w.sysDir, stem, w.signed("key", strings.TrimSuffix(stem, ".toml"), text, key(3)))
		s, fs = w.load()
		wantFinding(t, name, fs, diag.KeyWeak, path, "may not be used")
		in := w.tool(key(3), "a/b", w.now)
		in.Bytes = bytes.Replace(in.Bytes, []byte(fp(key(3)).String()), []byte(sha(raw).String()), 1)
		wantCode(t, name+", an item of that key", s.Verify(in), diag.KeyWeak)
	}
}

// Vectors V45 to V48 and similar ones: documents that are not used, each with the
// finding that states the reason.
func TestBadDocuments(t *testing.T) {
	good := keyText(key(2), "acme")
	stem := keyStem(key(2))
	for _, tc := range []struct {
		name  string
		file  string
		bytes func(*world) []byte
		code  diag.Code
		says  string
	}{
		{"V45 other name", "key-" + strings.Repeat("0", 64) + ".toml", func(w *world) []byte { return w.signed("key", "key-"+strings.Repeat("0", 64), good, key(2)) }, diag.ValidationFailed, "must be named"},
		{"V45 shortened name", "key-" + fp(key(2)).Short() + ".toml", func(w *world) []byte { return w.signed("key", "key-"+fp(key(2)).Short(), good, key(2)) }, diag.ValidationFailed, "must be named"},
		{"V45 upper case", strings.ToUpper(stem) + ".toml", func(w *world) []byte { return w.signed("key", strings.ToUpper(stem), good, key(2)) }, diag.ValidationFailed, "must be named"},
		{"V47 unsigned", stem + ".toml", func(*world) []byte { return []byte(good) }, diag.Unsigned, "there is none"},
		{"V48 a hundred years", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "2027-", "2126-", 1), key(2))
		}, diag.ValidationFailed, "more than 3 years"},
		{"three years and a second", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "2027-11-01T00:00:00Z", "2029-11-01T00:00:01Z", 1), key(2))
		}, diag.ValidationFailed, "more than 3 years"},
		{"ends before it begins", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "2027-", "2025-", 1), key(2))
		}, diag.ValidationFailed, "not later"},
		{"no end", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "not-after = 2027-11-01T00:00:00Z\n", "", 1), key(2))
		}, diag.ValidationFailed, "validity.not-after is missing"},
		{"end in quotes", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "2027-11-01T00:00:00Z", `"2027-11-01T00:00:00Z"`, 1), key(2))
		}, diag.ValidationFailed, "must be a time"},
		{"signed by another", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, good, key(3)) }, diag.SigInvalid, "must"},
		{"signed for another use", stem + ".toml", func(w *world) []byte { return w.signed(doc.KindRevocation, stem, good, key(2)) }, diag.SigInvalid, "did not sign"},
		{"signed as another kind", stem + ".toml", func(w *world) []byte { return w.signed("grant", stem, good, key(2)) }, diag.SigInvalid, "did not sign"},
		{"changed after signing", stem + ".toml", func(w *world) []byte {
			return bytes.Replace(w.signed("key", stem, good, key(2)), []byte("acme"), []byte("ACME"), 1)
		}, diag.HashMismatch, "not what was signed"},
		{"signature on line 2", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, "#!x\n"+good, key(2)) }, diag.SigMalformed, "on line 1"},
		{"unknown field", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, "ovner = \"x\"\n"+good, key(2)) }, diag.ValidationFailed, `unknown field "ovner"`},
		{"unknown field in a table", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, good+"tier = \"system\"\n", key(2)) }, diag.ValidationFailed, `unknown field "scope.tier"`},
		{"a fingerprint of its own", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, "fingerprint = \"x\"\n"+good, key(2)) }, diag.ValidationFailed, "unknown field"},
		{"unknown kind", stem + ".toml", func(w *world) []byte {
			return w.signed("policy", stem, strings.Replace(good, `"key"`, `"policy"`, 1), key(2))
		}, diag.ValidationFailed, "kind must be"},
		{"other schema", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, strings.Replace(good, "/v1", "/v2", 1), key(2)) }, diag.ValidationFailed, "schema must be"},
		{"other algorithm", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, "ed25519", "rsa", 1), key(2))
		}, diag.ValidationFailed, "algorithm must be"},
		{"unknown use", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, `["sign"]`, `["sign", "rule"]`, 1), key(2))
		}, diag.ValidationFailed, "scope.may[1]"},
		{"kind is not a word", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, `kinds = ["*"]`, `kinds = ["Tool *"]`, 1), key(2))
		}, diag.ValidationFailed, "scope.kinds"},
		{"rooted namespace", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, `["**"]`, `["/**"]`, 1), key(2))
		}, diag.ValidationFailed, "scope.namespaces"},
		{"scope is a list", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, good[:strings.Index(good, "[scope]")]+"[[scope]]\nmay = [\"sign\"]\n", key(2))
		}, diag.ValidationFailed, "scope must be a mapping"},
		{"padded twice", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, strings.Replace(good, `="`, `=="`, 1), key(2)) }, diag.ValidationFailed, "public-key"},
		{"key too short", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, strings.Replace(good, base64.StdEncoding.EncodeToString(key(2).Public()), "AAAA", 1), key(2))
		}, diag.ValidationFailed, "public-key"},
		{"empty owner", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, strings.Replace(good, `"acme"`, `""`, 1), key(2)) }, diag.ValidationFailed, "owner is empty"},
		{"duplicate field", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, "owner = \"me\"\n"+good, key(2)) }, diag.ParsingError, ""},
		{"truncated", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, good[:len(good)-4], key(2)) }, diag.ParsingError, ""},
		{"empty", stem + ".toml", func(*world) []byte { return nil }, diag.ValidationFailed, "is missing"},
		{"BOM", stem + ".toml", func(w *world) []byte { return append([]byte("\xef\xbb\xbf"), w.signed("key", stem, good, key(2))...) }, diag.Encoding, ""},
		{"NUL", stem + ".toml", func(w *world) []byte { return append(w.signed("key", stem, good, key(2)), 0) }, diag.Encoding, ""},
		{"invalid UTF-8", stem + ".toml", func(w *world) []byte { return append(w.signed("key", stem, good, key(2)), '#', 0xff, '\n') }, diag.Encoding, ""},
		{"bidi", stem + ".toml", func(w *world) []byte { return w.signed("key", stem, good+"# \u202e\n", key(2)) }, diag.HiddenChars, ""},
		{"CRLF", stem + ".toml", func(w *world) []byte {
			return bytes.ReplaceAll(w.signed("key", stem, good, key(2)), []byte("\n"), []byte("\r\n"))
		}, diag.SigMalformed, ""},
		{"huge", stem + ".toml", func(w *world) []byte {
			return w.signed("key", stem, good+strings.Repeat("#\n", doc.MaxDocument/2), key(2))
		}, diag.TooLarge, ""},
		{"not TOML", stem + ".toml", func(*world) []byte { return []byte("{\"kind\": \"key\"}\n") }, diag.ParsingError, ""},
	} {
		w := newWorld(t)
		path := w.write(w.sysDir, tc.file, tc.bytes(w))
		s, fs := w.load()
		wantFinding(t, tc.name, fs, tc.code, path, tc.says)
		wantCode(t, tc.name, s.Verify(w.tool(key(2), "a/b", w.now)), diag.KeyUnknown)
	}

	w := newWorld(t) // the same, untouched, counts
	w.write(w.sysDir, stem+".toml", w.signed("key", stem, good, key(2)))
	wantCode(t, "the good document", w.clean().Verify(w.tool(key(2), "a/b", w.now)), "")
}

// All findings of a document are reported, each at its line.
func TestFindingsHavePlaces(t *testing.T) {
	text := "schema = \"rye.trust/v1\"\nkind = \"key\"\nalgorithm = \"rsa\"\npublic-key = \"AAAA\"\nowner = 1\n[validity]\nnot-before = 2026-11-01T00:00:00Z\nnot-after = 2126-11-01T00:00:00Z\n[scope]\nkindz = []\nmay = [\n\"sign\",\n\"rule\"]\n"
	d, fs := doc.Parse("key-x.toml", []byte(text))
	if d != nil {
		t.Error("a bad document was returned")
	}
	lines := map[int]bool{}
	for _, f := range fs {
		lines[f.Line] = true
		if f.Path != "key-x.toml" {
			t.Errorf("no path: %+v", f)
		}
	}
	for _, want := range []int{3, 4, 5, 8, 10, 13} {
		if !lines[want] {
			t.Errorf("no finding on line %d: %v", want, fs)
		}
	}
}

// V46: two documents in one tier for one key.
func TestV46TwoDocuments(t *testing.T) {
	w := newWorld(t)
	other := filepath.Join(t.TempDir(), "etc2")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.p.SystemDirs = append(w.p.SystemDirs, other)
	stem := keyStem(key(2))
	a := w.signed("key", stem, keyText(key(2), "acme"), key(2))
	b := w.signed("key", stem, keyText(key(2), "emca"), key(2))
	pa, in := w.write(w.sysDir, stem+".toml", a), w.tool(key(2), "a/b", w.now)

	w.write(other, stem+".toml", a)
	wantCode(t, "the same bytes twice", w.clean().Verify(in), "")

	w.write(other, stem+".toml", b)
	s, fs := w.load()
	wantFinding(t, "V46", fs, diag.ValidationFailed, pa, "neither is used")
	v := s.Verify(in)
	wantCode(t, "V46", v, diag.KeyUnknown)
	wantReason(t, v, "two different documents")

	w.p.SystemDirs = w.p.SystemDirs[:1]
	w.write(w.sysDir, "key-copy.toml", w.signed("key", "key-copy", keyText(key(2), "emca"), key(2)))
	s, fs = w.load()
	wantFinding(t, "V46 under another name", fs, diag.ValidationFailed, pa, "neither is used")
	wantCode(t, "V46 under another name", s.Verify(in), diag.KeyUnknown)
}

func TestGrants(t *testing.T) {
	setup := func() (*world, []byte, string) {
		w := newWorld(t)
		w.own(key(1), everything)
		name, keyDoc := w.document(key(2), "acme", everything)
		w.write(w.userDir, name, keyDoc)
		return w, keyDoc, name
	}
	item := func(w *world) trust.Input { return w.tool(key(2), "a/b", w.now) }

	w, keyDoc, _ := setup()
	v := w.clean().Verify(item(w))
	wantCode(t, "no grant", v, diag.KeyUnknown)
	wantReason(t, v, "no grant of yours names it")

	gname, g := w.grant(keyDoc, everything, key(1))
	w.write(w.userDir, gname, g)
	wantCode(t, "granted", w.clean().Verify(item(w)), "")

	w.write(w.userDir, gname, bytes.Replace(g, []byte(`"sign"`), []byte(`"endorse"`), 1))
	s, fs := w.load()
	wantFinding(t, "edited grant", fs, diag.HashMismatch, gname, "")
	wantCode(t, "edited grant", s.Verify(item(w)), diag.KeyUnknown)

	_, stranger := w.grant(keyDoc, everything, key(9))
	w.write(w.userDir, gname, stranger)
	s, fs = w.load()
	wantFinding(t, "a stranger's grant", fs, diag.KeyUnknown, gname, "not a key of yours")
	wantCode(t, "a stranger's grant", s.Verify(item(w)), diag.KeyUnknown)

	w, keyDoc, name := setup() // a grant by a granted key is not a grant of the user
	gname, g = w.grant(keyDoc, everything, key(1))
	w.write(w.userDir, gname, g)
	w.add(key(3), "friend of acme", everything, everything, key(2))
	s, fs = w.load()
	wantFinding(t, "a grant of the granted", fs, diag.KeyUnknown, doc.FileName("grant", fp(key(3))), "not a key of yours")
	wantCode(t, "a grant of the granted", s.Verify(w.tool(key(3), "a/b", w.now)), diag.KeyUnknown)

	w.now = w.now.Add(time.Minute) // the document changes after it was granted
	_, renewed := w.document(key(2), "acme inc", everything)
	w.write(w.userDir, name, renewed)
	s, fs = w.load()
	wantFinding(t, "another document", fs, diag.HashMismatch, gname, "not the one that was granted")
	v = s.Verify(item(w))
	wantCode(t, "another document", v, diag.KeyUnknown)
	wantReason(t, v, "changed after it was granted")

	w, keyDoc, _ = setup() // a project's grant, even one the user signed, is no grant
	gname, g = w.grant(keyDoc, everything, key(1))
	w.write(w.project, gname, g)
	s, _ = w.load()
	wantCode(t, "a grant in the project", s.Verify(item(w)), diag.KeyUnknown)
}

func TestGrantFollowsItsGranter(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	in := w.tool(key(2), "a/b", w.now)
	w.revoke(w.userDir, key(1), doc.ReasonRetired, w.now.Add(time.Hour))
	wantCode(t, "the granter retired later", w.clean().Verify(in), "")
	w.revoke(w.userDir, key(1), doc.ReasonCompromised, time.Time{})
	v := w.clean().Verify(in)
	wantCode(t, "the granter was stolen", v, diag.KeyUnknown)
	wantReason(t, v, "is revoked")
}

// A key of narrow scope, such as an agent's, cannot hand out more than it holds.
func TestGranterHandsOutWhatItHolds(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"drafts/**"}, May: []string{"sign"}})
	w.add(key(2), "friend", everything, everything, key(1))
	s := w.clean()
	wantCode(t, "within", s.Verify(w.tool(key(2), "drafts/x", w.now)), "")
	v := s.Verify(w.tool(key(2), "tools/deploy", w.now))
	wantCode(t, "beyond", v, diag.Scope)
	wantReason(t, v, "drafts/**")
	in := w.tool(key(2), "drafts/x", w.now)
	in.Subject.Kind = "knowledge"
	in.Bytes = signAs(t, in.Subject, key(2), w.now)
	wantCode(t, "another kind", s.Verify(in), diag.Scope)
	in = w.tool(key(2), "drafts/x", w.now)
	in.Use = "release"
	wantCode(t, "what the granter may do is another matter", s.Verify(in), "")
}

func TestRevocation(t *testing.T) {
	for _, tc := range []struct {
		name   string
		reason doc.Reason
		cutOff time.Duration
		want   diag.Code
	}{
		{"compromised, whatever the time", doc.ReasonCompromised, 24 * time.Hour, diag.Revoked},
		{"superseded before it signed", doc.ReasonSuperseded, -time.Hour, diag.Revoked},
		{"superseded at that second", doc.ReasonSuperseded, 0, diag.Revoked},
		{"superseded after it signed", doc.ReasonSuperseded, time.Second, ""},
		{"retired after it signed", doc.ReasonRetired, time.Hour, ""},
	} {
		for tier := range 3 {
			w := newWorld(t)
			w.own(key(1), everything)
			w.add(key(2), "acme", everything, everything, key(1))
			dir := []string{w.sysDir, w.userDir, w.project}[tier]
			in := w.tool(key(2), "a/b", w.now)
			w.revoke(dir, key(2), tc.reason, w.now.Add(tc.cutOff))
			v := w.clean().Verify(in)
			wantCode(t, fmt.Sprintf("%s, tier %d", tc.name, tier), v, tc.want)
			wantReason(t, v, string(tc.reason))
		}
	}
}

// V50 in part: a revocation that the key did not sign revokes nothing.
func TestForeignRevocation(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	text := "schema = \"rye.trust/v1\"\nkind = \"revocation\"\nalgorithm = \"ed25519\"\npublic-key = \"" + base64.StdEncoding.EncodeToString(key(1).Public()) + "\"\nreason = \"compromised\"\n"
	stem := "revocation-" + fp(key(1)).String()
	path := w.write(w.project, stem+".toml", w.signed("revocation", stem, text, key(9)))
	s, fs := w.load()
	wantFinding(t, "V50", fs, diag.SigInvalid, path, "")
	wantCode(t, "V50", s.Verify(w.tool(key(1), "a/b", w.now)), "")

	w.write(w.project, stem+".toml", w.signed("revocation", stem, text, key(1)))
	wantCode(t, "the key itself", w.clean().Verify(w.tool(key(1), "a/b", w.now)), diag.Revoked)
}

// What cannot be read may be a revocation: nothing counts.
func TestUnreadableFolderFailsClosed(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.p.Anchors = []trust.Anchor{{Public: key(7).Public(), EmbeddedOnly: true, Scope: everything}}
	in := w.tool(key(1), "a/b", w.now)
	if err := os.Mkdir(filepath.Join(w.sysDir, "key-x.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantFinding(t, "a folder as document", fs, diag.NotRegular, "key-x.toml", "")
	v := s.Verify(in)
	wantCode(t, "blind", v, diag.KeyUnknown)
	wantReason(t, v, "could not be read")
	inside := w.tool(key(7), "rye/x", w.now)
	inside.Embedded = true
	wantCode(t, "the program's own items still run", s.Verify(inside), "")

	w.p.SystemDirs = []string{w.write(t.TempDir(), "file", nil)}
	s, _ = w.load()
	wantCode(t, "a file as folder", s.Verify(in), diag.KeyUnknown)
	w.p.SystemDirs = []string{filepath.Join(t.TempDir(), "absent")}
	wantCode(t, "an absent folder", w.clean().Verify(in), "")
}

func TestLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes need rights here")
	}
	w := newWorld(t)
	name, keyDoc := w.document(key(2), "acme", everything)
	target := w.write(t.TempDir(), name, keyDoc)
	link := filepath.Join(w.project, name)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantFinding(t, "a link in a project", fs, diag.NotRegular, name, "")
	if len(s.Proposals()) != 0 {
		t.Errorf("a link was followed: %+v", s.Proposals())
	}
	if err := os.Rename(link, filepath.Join(w.sysDir, name)); err != nil {
		t.Fatal(err)
	}
	in := w.tool(key(2), "a/b", w.now)
	wantCode(t, "a link the administrator laid", w.clean().Verify(in), "")

	if err := os.Chmod(target, 0o666); err != nil {
		t.Fatal(err)
	}
	s, fs = w.load()
	wantFinding(t, "everybody may write", fs, diag.ConfigError, name, "every account may write")
	wantCode(t, "everybody may write", s.Verify(in), diag.KeyUnknown)
	_ = os.Chmod(target, 0o600)
	if err := os.Chmod(w.userDir, 0o777); err != nil {
		t.Fatal(err)
	}
	s, _ = w.load()
	wantCode(t, "everybody may add keys", s.Verify(in), diag.KeyUnknown)
}

func TestFiles(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.userDir, "new", "trust")
	name, keyDoc := w.document(key(1), "leo", everything)
	gname, g := w.grant(keyDoc, everything, key(1))
	if _, err := trust.AddDocument(dir, gname, g); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("AddDocument made a key the user's own: %v", err)
	}
	if _, err := trust.AddDocument(dir, "key-x.toml", keyDoc); err == nil {
		t.Error("AddDocument took a wrong name")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused document left a folder behind")
	}
	_, foreign := w.grant(keyDoc, everything, key(2))
	if err := trust.CheckOwnKey(trust.File{Name: name, Data: keyDoc}, trust.File{Name: gname, Data: foreign}); err == nil {
		t.Error("CheckOwnKey accepts the grant of another key")
	}
	if err := testkit.AddOwnKey(dir, trust.File{Name: name, Data: keyDoc}, trust.File{Name: gname, Data: g}); err != nil {
		t.Fatal(err)
	}
	w.p.UserDir = dir
	in := w.tool(key(1), "a/b", w.now)
	wantCode(t, "added", w.clean().Verify(in), "")
	removed, err := trust.RemoveKey(dir, fp(key(1)))
	if err != nil || len(removed) != 2 || filepath.Base(removed[0]) != gname {
		t.Errorf("RemoveKey: %v %v", removed, err)
	}
	wantCode(t, "removed", w.clean().Verify(in), diag.KeyUnknown)
	if _, err := trust.RemoveKey(dir, fp(key(1))); diag.CodeOf(err) != diag.KeyUnknown {
		t.Errorf("RemoveKey twice: %v", err)
	}
}
