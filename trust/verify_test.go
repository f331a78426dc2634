package trust_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func TestZeroTrustsNothing(t *testing.T) {
	w := newWorld(t)
	in := w.tool(key(1), "demo/hello", w.now)
	s, fs := trust.Load(trust.Params{})
	if len(fs) != 0 || len(s.Keys()) != 0 {
		t.Errorf("zero params found something: %v %v", fs, s.Keys())
	}
	wantCode(t, "zero params", s.Verify(in), diag.KeyUnknown)
	wantCode(t, "zero store", new(trust.Store).Verify(in), diag.KeyUnknown)
	if (trust.Verdict{}).OK() {
		t.Error("the zero Verdict must not be trusted")
	}
	if err := (trust.Verdict{}).Err("tool:x"); diag.CodeOf(err) != diag.Internal {
		t.Errorf("the zero Verdict must be an error: %v", err)
	}
}

func TestOwnKey(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	v := s.Verify(w.tool(key(1), "demo/hello", w.now))
	wantCode(t, "own item", v, "")
	if v.Tier != trust.TierUser || v.Owner != "leo" || v.Signer != fp(key(1)) || v.Anchor != "claimed" ||
		!v.Time.Equal(w.now) || !strings.Contains(v.Document, keyStem(key(1))) {
		t.Errorf("wrong verdict: %+v", v)
	}
	if err := v.Err("tool:demo/hello"); err != nil {
		t.Errorf("Err of a trusted verdict: %v", err)
	}
	if k := s.Keys(); len(k) != 1 || !k[0].Own || k[0].State != trust.StateValid {
		t.Errorf("Keys() = %+v", k)
	}
}

// V31: the same body signed again by a key that is not trusted.
func TestV31ForeignKey(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	v := w.clean().Verify(w.tool(key(2), "demo/hello", w.now))
	wantCode(t, "V31", v, diag.KeyUnknown)
	if v.Status != trust.Untrusted || v.Signer != fp(key(2)) {
		t.Errorf("V31: %+v", v)
	}
	wantReason(t, v, "no trust document of yours names key")
	err := v.Err("tool:demo/hello")
	if diag.CodeOf(err) != diag.KeyUnknown || !strings.Contains(err.Error(), "tool:demo/hello") {
		t.Errorf("V31: error %v", err)
	}
}

// V30, V32, V33, V34 seen through the store: a signature is bound to kind, id
// and use, and its line has one spelling.
func TestV30Replay(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	good := w.tool(key(1), "demo/hello", w.now)
	other := w.tool(key(1), "demo/other", w.now.Add(-time.Hour))
	for _, tc := range []struct {
		name string
		edit func(*trust.Input)
		want diag.Code
	}{
		{"untouched", func(*trust.Input) {}, ""},
		{"V30 other id", func(in *trust.Input) { in.Subject.ID = "demo/copy" }, diag.SigInvalid},
		{"V30 other kind", func(in *trust.Input) { in.Subject.Kind = "knowledge" }, diag.SigInvalid},
		{"V30 other use", func(in *trust.Input) { in.Subject.Use = sign.UseTrust }, diag.SigInvalid},
		{"V32 swapped lines", func(in *trust.Input) { in.Bytes = swapLine(in.Bytes, other.Bytes) }, diag.SigInvalid},
		{"V33 case fold", func(in *trust.Input) { in.Subject.ID = "demo/Hello" }, diag.SigInvalid},
		{"V34 suffix", func(in *trust.Input) {
			in.Bytes = bytes.Replace(in.Bytes, []byte(fp(key(1)).String()), []byte(fp(key(1)).String()+"|registry@alice"), 1)
		}, diag.SigMalformed},
		{"one byte of the body", func(in *trust.Input) { in.Bytes = append(bytes.Clone(in.Bytes), '\n') }, diag.HashMismatch},
		{"unsigned", func(in *trust.Input) { in.Bytes = []byte("print(1)\n") }, diag.Unsigned},
		{"BOM", func(in *trust.Input) { in.Bytes = append([]byte("\xef\xbb\xbf"), in.Bytes...) }, diag.Encoding},
		{"NUL", func(in *trust.Input) { in.Bytes = append(bytes.Clone(in.Bytes), 0) }, diag.Encoding},
		{"invalid UTF-8", func(in *trust.Input) { in.Bytes = append(bytes.Clone(in.Bytes), 0xff) }, diag.Encoding},
		{"not text: only the hash speaks", func(in *trust.Input) { in.Text, in.Bytes = false, append(bytes.Clone(in.Bytes), 0) }, diag.HashMismatch},
		{"too large comes first", func(in *trust.Input) { in.MaxSize, in.Bytes = 10, append(bytes.Clone(in.Bytes), 0) }, diag.TooLarge},
		{"at the size limit", func(in *trust.Input) { in.MaxSize = int64(len(in.Bytes)) }, ""},
		{"inline and detached", func(in *trust.Input) { in.Detached = []byte("x\n") }, diag.SigMultiple},
		{"detached only, none there", func(in *trust.Input) { in.DetachedOnly = true }, diag.Unsigned},
		{"a use the key may not", func(in *trust.Input) { in.Use = "provider" }, diag.Scope},
		{"a use the key may", func(in *trust.Input) { in.Use = "release" }, ""},
	} {
		in := good
		tc.edit(&in)
		v := s.Verify(in)
		wantCode(t, tc.name, v, tc.want)
		if lines := s.Explain(v, in); len(lines) < 14 {
			t.Errorf("%s: Explain is too short: %q", tc.name, lines)
		}
	}
}

// swapLine puts the signature line of b into a.
func swapLine(a, b []byte) []byte {
	la, lb := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	la[1] = lb[1]
	return bytes.Join(la, nil)
}

func TestDetached(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	sub := sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "data/x"}
	file := []byte("{\"a\": 1}\n")
	sig, _, err := sign.SignDetached(context.Background(), file, nil, sub, key(1), w.now)
	if err != nil {
		t.Fatal(err)
	}
	in := trust.Input{Bytes: file, Detached: sig, DetachedOnly: true, Subject: sub}
	wantCode(t, "detached", s.Verify(in), "")
	in.Bytes = append(bytes.Clone(file), ' ')
	wantCode(t, "detached, changed", s.Verify(in), diag.HashMismatch)
}

func TestScopeIntersects(t *testing.T) {
	tools := doc.Scope{Kinds: []string{"tool", "directive"}, Namespaces: []string{"acme/**", "shared/*"}, May: []string{"sign", "provider"}}
	grant := doc.Scope{Kinds: []string{"tool", "knowledge"}, Namespaces: []string{"acme/x/**", "other/**"}, May: []string{"sign", "release"}}
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", tools, grant, key(1))
	s := w.clean()
	for _, tc := range []struct {
		kind, id, use string
		want          diag.Code
	}{
		{"tool", "acme/x/y", "", ""},
		{"tool", "acme/x/y/z", "sign", ""},
		{"tool", "acme/y", "", diag.Scope},           // the grant is narrower
		{"tool", "other/y", "", diag.Scope},          // the grant cannot widen
		{"tool", "shared/y", "", diag.Scope},         // not granted
		{"directive", "acme/x/y", "", diag.Scope},    // only the document
		{"knowledge", "acme/x/y", "", diag.Scope},    // only the grant
		{"tool", "acme/x/y", "provider", diag.Scope}, // only the document
		{"tool", "acme/x/y", "release", diag.Scope},  // only the grant
	} {
		in := w.tool(key(2), tc.id, w.now)
		in.Subject.Kind, in.Use = tc.kind, tc.use
		in.Bytes = signAs(t, in.Subject, key(2), w.now)
		wantCode(t, fmt.Sprintf("%s:%s %s", tc.kind, tc.id, tc.use), s.Verify(in), tc.want)
	}
	info, ok := s.Key(fp(key(2)))
	if !ok || info.Own || len(info.Scope) != 2 {
		t.Fatalf("Key() = %+v", info)
	}
	if got := info.Scope.String(); got != "kinds tool, namespaces acme/** shared/* within acme/x/** other/**, may sign" {
		t.Errorf("effective scope: %s", got)
	}
}

func signAs(t *testing.T, sub sign.Subject, k sign.Signer, when time.Time) []byte {
	t.Helper()
	b, _, err := sign.Sign(context.Background(), []byte("x = 1\n"), style, sub, k, when)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEmptyScopeIsNothing(t *testing.T) {
	for name, sc := range map[string]doc.Scope{
		"nothing":       {},
		"no kinds":      {Namespaces: []string{"**"}, May: []string{"sign"}},
		"no namespaces": {Kinds: []string{"*"}, May: []string{"sign"}},
		"no may":        {Kinds: []string{"*"}, Namespaces: []string{"**"}},
	} {
		w := newWorld(t)
		w.own(key(1), everything)
		w.add(key(2), "acme", everything, sc, key(1))
		w.add(key(3), "acme", sc, everything, key(1))
		s := w.clean()
		wantCode(t, "grant: "+name, s.Verify(w.tool(key(2), "a/b", w.now)), diag.Scope)
		wantCode(t, "document: "+name, s.Verify(w.tool(key(3), "a/b", w.now)), diag.Scope)
	}
}

// T8: a stolen key that has expired, and a claimed time inside its window.
func TestT8Backdating(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	claimed := w.now.AddDate(0, 6, 0)
	theirs, mine := w.tool(key(2), "a/b", claimed), w.tool(key(1), "a/b", claimed)
	end := w.now.AddDate(1, 0, 0)
	s := w.clean()

	for _, tc := range []struct {
		name         string
		now          time.Time
		theirs, mine diag.Code
	}{
		{"inside", end.Add(-time.Second), "", ""},
		{"at the end", end, "", ""},
		{"just after", end.Add(time.Second), diag.Expired, ""},
		{"own grace, last day", end.Add(trust.OwnGrace), diag.Expired, ""},
		{"own grace is over", end.Add(trust.OwnGrace + time.Second), diag.Expired, diag.Expired},
	} {
		w.now = tc.now
		wantCode(t, "T8 theirs, "+tc.name, s.Verify(theirs), tc.theirs)
		v := s.Verify(mine)
		wantCode(t, "T8 mine, "+tc.name, v, tc.mine)
		if tc.mine == "" && tc.now.After(end) {
			wantReason(t, v, "by grace")
		}
	}
	w.now = end.Add(time.Hour)
	wantCode(t, "own grace does not cover new signatures", s.Verify(w.tool(key(1), "a/b", w.now)), diag.Expired)
}

func TestWindow(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	for _, tc := range []struct {
		name    string
		claimed time.Time
		want    diag.Code
	}{
		{"before the window", w.now.Add(-time.Hour), diag.NotYetValid},
		{"its first second", w.now, ""},
		{"within the skew", w.now.Add(trust.ClockSkew), ""},
		{"in the future", w.now.Add(trust.ClockSkew + time.Second), diag.NotYetValid},
		{"after the window", w.now.AddDate(2, 0, 0), diag.NotYetValid},
	} {
		wantCode(t, tc.name, s.Verify(w.tool(key(1), "a/b", tc.claimed)), tc.want)
	}
}

// T19: a clock set back two years does not bring an expired key back.
func TestT19ClockSetBack(t *testing.T) {
	w := newWorld(t)
	w.now = at("2024-11-20T10:00:00Z")
	name, old := w.document(key(3), "old corp", everything) // a system anchor of 2024, expired 2025
	w.write(w.sysDir, name, old)
	item := w.tool(key(3), "a/b", w.now)
	w.now = at("2026-11-20T10:00:00Z")
	w.own(key(1), everything)
	s := w.clean()
	wantCode(t, "T19 today", s.Verify(item), diag.Expired)

	w.now = at("2024-12-01T00:00:00Z")
	v := s.Verify(item)
	wantCode(t, "T19 clock set back", v, diag.NotYetValid)
	wantReason(t, v, "this machine's clock")

	w.p.UserDir, w.p.Floor = "", at("2026-01-01T00:00:00Z")
	s, _ = w.load()
	wantCode(t, "T19 the program's own age", s.Verify(item), diag.NotYetValid)
}

// T20: a remembered signature is not trust: the same line is judged again, and a
// new revocation applies.
func TestT20TrustIsReevaluated(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, everything, key(1))
	in := w.tool(key(2), "a/b", w.now)
	sp, err := sign.SplitFile(in.Bytes, style)
	if err != nil || !sp.Signed {
		t.Fatal("the item is not signed", err)
	}
	s := w.clean()
	wantCode(t, "warm", s.Judge(in, sp.Line), "")
	w.revoke(w.userDir, key(2), doc.ReasonCompromised, time.Time{})
	s = w.clean()
	wantCode(t, "T20 warm line", s.Judge(in, sp.Line), diag.Revoked)
	wantCode(t, "T20 cold", s.Verify(in), diag.Revoked)

	outside := in
	outside.Subject.Kind = ""
	wantCode(t, "a warm line has no scope of its own", s.Judge(outside, sp.Line), diag.Scope)
	foreign := sp.Line
	foreign.Key = fp(key(9))
	wantCode(t, "a warm line of a stranger", s.Judge(in, foreign), diag.KeyUnknown)
}

// T23, V66: an owner label with escape sequences.
func TestT23EscInOwner(t *testing.T) {
	w := newWorld(t)
	evil := "leo\x1b]8;;http://evil\x07\u202e\nok"
	w.own(key(1), everything)
	w.add(key(2), evil, everything, everything, key(1))
	s := w.clean()
	in := w.tool(key(2), "a/b", w.now)
	v := s.Verify(in)
	wantCode(t, "T23", v, "")
	info, _ := s.Key(fp(key(2)))
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	in.Use = "endorse"
	refused := s.Verify(in)
	seen := []string{v.Owner, info.Owner, string(js), refused.Err("tool:a/b").Error(), fmt.Sprint(refused.Err("tool:a/b").(*diag.Error).Details)}
	seen = append(append(seen, s.Explain(v, in)...), refused.Reasons...)
	for _, text := range seen {
		if strings.ContainsAny(text, "\x1b\x07\u202e\n") {
			t.Errorf("T23: not escaped: %q", text)
		}
	}
	if !strings.Contains(v.Owner, "leo") {
		t.Errorf("T23: the owner is gone: %q", v.Owner)
	}
}

func TestHiddenCharacters(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	sub := sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "a/b"}
	for _, tc := range []struct {
		name, body string
		want       diag.Code
		findings   bool
	}{
		{"plain", "x = 1\n", "", false},
		{"bidi", "x = 1 # \u202e\n", diag.HiddenChars, true},
		{"tags", "x = 1 # \U000e0041\U000e0042\n", diag.HiddenChars, true},
		{"zero width", "x = 1 # a \u200b b\n", "", true},
		{"zero width in a word", "x = 1 # a\u200bb\n", diag.HiddenChars, true},
	} {
		b, _, err := sign.Sign(context.Background(), []byte(tc.body), style, sub, key(1), w.now)
		if err != nil {
			t.Fatal(err)
		}
		in := trust.Input{Path: "a/b.py", Bytes: b, Style: style, Subject: sub, Text: true}
		v := s.Verify(in)
		wantCode(t, tc.name, v, tc.want)
		if (len(v.Findings) > 0) != tc.findings {
			t.Errorf("%s: findings %v", tc.name, v.Findings)
		}
		for _, f := range v.Findings {
			if f.Path != "a/b.py" || f.Line != 2 {
				t.Errorf("%s: finding without its position: %+v", tc.name, f)
			}
		}
		in.Text = false
		wantCode(t, tc.name+", not text", s.Verify(in), "")
	}
}

// TestCovered: what a trusted manifest covers is not computed again, and everything
// else about the signature and the key is judged.
func TestCovered(t *testing.T) {
	w := newWorld(t)
	own, other := key(1), key(2)
	w.own(own, everything)
	w.own(other, everything)
	in := w.tool(own, "demo/hello", w.now)
	i := bytes.Index(in.Bytes, []byte(fp(own).String())) - 30 // in the signature
	broken := bytes.Clone(in.Bytes)
	if broken[i]++; broken[i] == '[' || broken[i] == '{' || broken[i] == ':' || broken[i] == '0'-4 {
		broken[i] = 'A'
	}
	with := func(b []byte, by sign.Fingerprint) trust.Input {
		in := in
		in.Bytes, in.Covered = b, by
		return in
	}
	s := w.clean()
	wantCode(t, "a broken signature", s.Verify(with(broken, sign.Fingerprint{})), diag.SigInvalid)
	wantCode(t, "the same, covered by another key", s.Verify(with(broken, fp(other))), diag.SigInvalid)
	wantCode(t, "the same, covered by its key", s.Verify(with(broken, fp(own))), "")
	wantCode(t, "other bytes", s.Verify(with(append(bytes.Clone(in.Bytes), 'x'), fp(own))), diag.HashMismatch)
	in.Subject.ID = "Not An ID"
	if s.Verify(with(in.Bytes, fp(own))).OK() {
		t.Error("an id that cannot be signed is trusted")
	}
	in.Subject.ID = "demo/hello"
	w.revoke(w.project, own, doc.ReasonCompromised, w.now)
	s, _ = w.load()
	wantCode(t, "a revoked key", s.Verify(with(in.Bytes, fp(own))), diag.Revoked)
}

func TestEmbeddedOnly(t *testing.T) {
	w := newWorld(t)
	w.p.Anchors = []trust.Anchor{
		{Public: key(7).Public(), Owner: "rye development", EmbeddedOnly: true, Scope: everything},
		{Public: key(8).Public(), Owner: "rye", Scope: doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"rye/**"}, May: []string{"sign"}}},
	}
	w.own(key(1), everything)
	s := w.clean()
	in := w.tool(key(7), "rye/core/x", w.now.AddDate(-9, 0, 0))
	v := s.Verify(in)
	wantCode(t, "development key elsewhere", v, diag.KeyUnknown)
	wantReason(t, v, "development key")
	in.Embedded = true
	v = s.Verify(in)
	wantCode(t, "development key inside", v, "")
	if v.Tier != trust.TierEmbedded || v.Document != "compiled in" {
		t.Errorf("verdict %+v", v)
	}
	wantCode(t, "release anchor", s.Verify(w.tool(key(8), "rye/core/x", w.now)), "")
	wantCode(t, "release anchor, other id", s.Verify(w.tool(key(8), "acme/x", w.now)), diag.Scope)

	// A document about the public key in the trust directory has no effect.
	w.own(key(7), everything)
	w.add(key(2), "evil", everything, everything, key(7))
	w.revoke(w.project, key(7), doc.ReasonCompromised, time.Time{})
	s, _ = w.load()
	wantCode(t, "development key with a document", s.Verify(w.tool(key(7), "rye/core/x", w.now)), diag.KeyUnknown)
	wantCode(t, "granted by the development key", s.Verify(w.tool(key(2), "a/b", w.now)), diag.KeyUnknown)
	wantCode(t, "a project cannot revoke what everybody can sign", s.Verify(in), "")
}

func TestConcurrent(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	good, bad := w.tool(key(1), "a/b", w.now), w.tool(key(2), "a/b", w.now)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if !s.Verify(good).OK() || s.Verify(bad).OK() {
					t.Error("verdict changed under concurrency")
				}
			}
		})
	}
	wg.Wait()
}

func TestVerifyTouchesNoDisk(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	s := w.clean()
	in := w.tool(key(1), "a/b", w.now)
	if err := os.RemoveAll(w.userDir); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "after the folder is gone", s.Verify(in), "")
}

func BenchmarkVerify(b *testing.B) {
	w := newWorld(b)
	w.own(key(1), everything)
	w.add(key(2), "acme", everything, doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"other/**", "acme/**"}, May: []string{"sign"}}, key(1))
	s := w.clean()
	in := w.tool(key(2), "acme/x/y", w.now)
	sp, _ := sign.SplitFile(in.Bytes, style)
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !s.Verify(in).OK() {
				b.Fatal("not trusted")
			}
		}
	})
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !s.Judge(in, sp.Line).OK() {
				b.Fatal("not trusted")
			}
		}
	})
	b.Run("sign alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sign.Verify(in.Bytes, style, in.Subject, sign.OnlyKey(key(2).Public())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
