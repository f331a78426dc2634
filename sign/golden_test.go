package sign

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func TestGoldenVectors(t *testing.T) {
	if got := hex.EncodeToString(pubOf(goldenKey())); got != goldenPub {
		t.Fatalf("public key %s", got)
	}
	if got := FingerprintOf(pubOf(goldenKey())).String(); got != goldenFP {
		t.Fatalf("fingerprint %s", got)
	}
	for _, v := range []struct {
		file, style string
		sub         Subject
		lineNo      int
	}{
		{goldenTool, "#", tool("demo/hello"), 2},
		{goldenDirective, "<!--", Subject{UseItem, "directive", "demo/greet"}, 1},
	} {
		s := style(t, v.style)
		sp, err := SplitFile([]byte(v.file), s)
		if err != nil || !sp.Signed || sp.LineNo != v.lineNo {
			t.Fatalf("SplitFile(%s): %+v, %v", v.sub.ID, sp, err)
		}
		if got := mustSign(t, string(sp.Body()), s, v.sub); got != v.file {
			t.Errorf("signing %s gave\n%s\nwant\n%s", v.sub.ID, got, v.file)
		}
		l, err := Verify([]byte(v.file), s, v.sub, goldenKeys())
		if err != nil || !l.Time.Equal(goldenTime()) || l.Key.String() != goldenFP {
			t.Errorf("Verify(%s) = %+v, %v", v.sub.ID, l, err)
		}
	}
}

func TestGoldenStatement(t *testing.T) {
	sp, err := SplitFile([]byte(goldenTool), style(t, "#"))
	if err != nil {
		t.Fatal(err)
	}
	got := Statement(tool("demo/hello"), sp.Line.Time, sp.Line.Key, sp.Size(), sp.Digest())
	if string(got) != goldenStatement {
		t.Errorf("statement\n%s\nwant\n%s", got, goldenStatement)
	}
}

func TestSignIsIdempotent(t *testing.T) {
	s, sub, later := style(t, "#"), tool("demo/hello"), goldenTime().Add(time.Hour)
	out, changed, err := Sign(context.Background(), []byte(goldenTool), s, sub, golden(), later)
	if err != nil || changed || string(out) != goldenTool {
		t.Errorf("same signer: changed=%v, err=%v", changed, err)
	}
	other := NewFileSigner(otherKey(), "other.pem")
	out, changed, err = Sign(context.Background(), []byte(goldenTool), s, sub, other, later)
	if err != nil || !changed || strings.Count(string(out), mark) != 1 {
		t.Fatalf("other signer: changed=%v, err=%v\n%s", changed, err, out)
	}
	if _, err := Verify(out, s, sub, OnlyKey(other.Public())); err != nil {
		t.Error(err)
	}
	for _, sub := range []Subject{tool("demo/renamed"), {UseItem, "config", "demo/hello"}, {UseManifest, "tool", "demo/hello"}} {
		if _, changed, err = Sign(context.Background(), []byte(goldenTool), s, sub, golden(), later); err != nil || !changed {
			t.Errorf("as %v: changed=%v, err=%v", sub, changed, err)
		}
	}
}

func TestDetached(t *testing.T) {
	ctx, sub := context.Background(), Subject{UseItem, "config", "data"}
	for _, body := range []string{"", "{\"a\": 1}\n", "\x00\xff\xfe binary", "#!no line feed", "#!/bin/sh\nx\n", "{}\r\n"} {
		sig, changed, err := SignDetached(ctx, []byte(body), nil, sub, golden(), goldenTime())
		if err != nil || !changed || !strings.HasPrefix(string(sig), mark) || strings.Count(string(sig), "\n") != 1 {
			t.Fatalf("SignDetached(%q) = %q, %v, %v", body, sig, changed, err)
		}
		if _, err := VerifyDetached([]byte(body), sig, sub, goldenKeys()); err != nil {
			t.Errorf("VerifyDetached(%q): %v", body, err)
		}
		again, changed, err := SignDetached(ctx, []byte(body), sig, sub, golden(), goldenTime().Add(time.Hour))
		if err != nil || changed || string(again) != string(sig) {
			t.Errorf("second SignDetached(%q): %v, %v", body, changed, err)
		}
		_, err = VerifyDetached([]byte(body+"x"), sig, sub, goldenKeys())
		wantCode(t, "changed file", err, diag.HashMismatch)
		for what, c := range map[string]struct {
			sig  string
			code diag.Code
		}{
			"empty":      {"", diag.SigMalformed},
			"two lines":  {string(sig) + string(sig), diag.SigMultiple},
			"trailing":   {string(sig) + "\n", diag.SigMalformed},
			"commented":  {"# " + string(sig), diag.SigMalformed},
			"CRLF":       {strings.ReplaceAll(string(sig), "\n", "\r\n"), diag.SigMalformed},
			"no LF":      {strings.TrimSuffix(string(sig), "\n"), diag.SigMalformed},
			"blank line": {"\n" + string(sig), diag.SigMalformed},
		} {
			_, err := VerifyDetached([]byte(body), []byte(c.sig), sub, goldenKeys())
			wantCode(t, what, err, c.code)
		}
	}
	_, err := VerifyDetached([]byte("x"), nil, sub, goldenKeys())
	wantCode(t, "no signature file", err, diag.Unsigned)
}

func TestInlineAndDetachedTogether(t *testing.T) {
	ctx, sub, s := context.Background(), tool("demo/hello"), style(t, "#")
	body := "#!/usr/bin/env python3\nprint(\"hello\")\n"
	sig, _, err := SignDetached(ctx, []byte(body), nil, sub, golden(), goldenTime())
	if err != nil {
		t.Fatal(err)
	}
	_, err = VerifyBoth([]byte(goldenTool), sig, s, sub, goldenKeys(), nil)
	wantCode(t, "inline style, both", err, diag.SigMultiple)
	_, err = VerifyBoth([]byte(goldenTool), []byte("junk"), s, sub, goldenKeys(), nil)
	wantCode(t, "inline style, junk next to it", err, diag.SigMultiple)
	_, err = VerifyBoth([]byte(body), sig, s, sub, goldenKeys(), nil)
	wantCode(t, "inline style, detached alone", err, diag.Unsigned)
	_, err = VerifyBoth([]byte(goldenTool), sig, style(t, "bare"), sub, goldenKeys(), nil)
	wantCode(t, "bare style, both", err, diag.SigMultiple)
	_, _, err = SignDetached(ctx, []byte(goldenTool), nil, sub, golden(), goldenTime())
	wantCode(t, "signing a signed file detached", err, diag.SigMultiple)
	if _, err = VerifyBoth([]byte(body), sig, style(t, "bare"), sub, goldenKeys(), nil); err != nil {
		t.Error(err)
	}
	if _, err = VerifyBoth([]byte(goldenTool), nil, s, sub, goldenKeys(), nil); err != nil {
		t.Error(err)
	}
}

func TestSubjectCheck(t *testing.T) {
	for _, bad := range []Subject{
		{}, {"rye.dev/sig/v2", "tool", "a"}, {UseItem, "", "a"}, {UseItem, "tool", ""},
		{UseItem, "tool", "a\nkey 00"}, {UseItem, "tool x", "a"}, {UseItem, "tool", "a b"},
		{UseItem, "tool", "a\r"}, {UseItem, "tool", "\u202ea"}, {UseItem, "tool", strings.Repeat("a", 256)},
	} {
		if err := bad.Check(); err == nil {
			t.Errorf("%q passed", bad)
		}
		if _, err := Verify([]byte(goldenTool), style(t, "#"), bad, goldenKeys()); err == nil {
			t.Errorf("%q verified", bad)
		}
	}
	if err := tool("demo/hello").Check(); err != nil {
		t.Error(err)
	}
}

func TestStylesAreClosed(t *testing.T) {
	for _, s := range Styles() {
		if got, ok := StyleByName(s.Name); !ok || got != s || s.check() != nil {
			t.Errorf("StyleByName(%q) = %+v, %v", s.Name, got, ok)
		}
	}
	for _, s := range []Style{{}, {"#", "#", ""}, {"%", "% ", ""}, {"#", "# ", " "}} {
		if _, err := SplitFile([]byte("x"), s); err == nil {
			t.Errorf("style %+v accepted", s)
		}
		if _, _, err := Sign(context.Background(), []byte("x"), s, tool("a"), golden(), goldenTime()); err == nil {
			t.Errorf("signed with style %+v", s)
		}
	}
}

func TestFingerprintText(t *testing.T) {
	fp, err := ParseFingerprint(goldenFP)
	if err != nil || fp.String() != goldenFP || fp.Short() != goldenFP[:16] {
		t.Fatalf("%v, %v", fp, err)
	}
	text, _ := fp.MarshalText()
	var back Fingerprint
	if err := back.UnmarshalText(text); err != nil || back != fp {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{"", goldenFP[:16], goldenFP + "0", strings.ToUpper(goldenFP), goldenFP[:63] + "g", goldenFP[:63] + " ", "0x" + goldenFP[2:]} {
		if _, err := ParseFingerprint(bad); err == nil {
			t.Errorf("ParseFingerprint(%q) passed", bad)
		}
	}
}
