package sign

import (
	"context"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

const toolBody = "print(\"hello\")\n"

func verifyTool(file string) error {
	s, _ := StyleByName("#")
	_, err := Verify([]byte(file), s, tool("demo/hello"), goldenKeys())
	return err
}

func TestV11TwoHeaderLines(t *testing.T) {
	mine := mustSign(t, toolBody, style(t, "#"), tool("demo/hello"))
	line := mine[:strings.Index(mine, "\n")+1]
	attacker, _, err := Sign(context.Background(), []byte(toolBody), style(t, "#"), tool("demo/hello"), NewFileSigner(otherKey(), "x"), goldenTime())
	if err != nil {
		t.Fatal(err)
	}
	theirs := string(attacker[:strings.Index(string(attacker), "\n")+1])
	for _, two := range []string{
		line + theirs, theirs + line, line + line, line + "  " + line, line + "\t#rye:signed:", line + "<!-- rye:signed: -->\n",
		line + "\r" + line, line + "\u2028" + line, line + "# kiwi-mcp:signed:x\n", line + "/* rye:signed:",
	} {
		wantCode(t, "V11 "+two, verifyTool(two+toolBody), diag.SigMultiple)
		_, _, err := Sign(context.Background(), []byte(two+toolBody), style(t, "#"), tool("demo/hello"), golden(), goldenTime())
		wantCode(t, "V11 signing", err, diag.SigMultiple)
	}
	_, err = SplitFile([]byte("#!/bin/sh\n"+line+theirs+toolBody), style(t, "#"))
	wantCode(t, "V11 after #!", err, diag.SigMultiple)
}

func TestV12Position(t *testing.T) {
	line := mustSign(t, toolBody, style(t, "#"), tool("demo/hello"))
	line = line[:strings.Index(line, "\n")+1]
	for what, c := range map[string]struct {
		file string
		code diag.Code
	}{
		"line 3":           {"#!/bin/sh\n\n" + line + toolBody, diag.Unsigned},
		"line 2, no #!":    {"x\n" + line + toolBody, diag.Unsigned},
		"after blank line": {"\n" + line + toolBody, diag.Unsigned},
		"after BOM":        {"\ufeff" + line + toolBody, diag.SigMalformed},
		"indented":         {" " + line + toolBody, diag.SigMalformed},
		"tab":              {"\t" + line + toolBody, diag.SigMalformed},
		"before #!":        {mustSign(t, "#!/bin/sh\n"+toolBody, style(t, "#"), tool("demo/hello"))[len("#!/bin/sh\n"):], diag.HashMismatch},
	} {
		wantCode(t, "V12 "+what, verifyTool(c.file), c.code)
	}
}

// One signed body has one file: the line may not move in front of "#!".
func TestV12LineBeforeShebang(t *testing.T) {
	lines := strings.SplitAfter(goldenTool, "\n")
	moved := lines[1] + lines[0] + lines[2]
	err := verifyTool(moved)
	wantCode(t, "V12", err, diag.SigMalformed)
	if field(err) != "position" {
		t.Errorf("field %v", field(err))
	}
	if got := mustSign(t, moved, style(t, "#"), tool("demo/hello")); got != goldenTool {
		t.Errorf("signing moved it to\n%s", got)
	}
}

func TestV13TrailingText(t *testing.T) {
	for _, tail := range []string{" ", "\t", " coding: utf_7", " -*- vim", "//# sourceMappingURL=x", "//go:build x", "#", ":", "0", "|registry@alice", " -->"} {
		file := strings.Replace(goldenTool, goldenFP+"\n", goldenFP+tail+"\n", 1)
		err := verifyTool(file)
		wantCode(t, "V13 "+tail, err, diag.SigMalformed)
		if want := map[bool]string{false: "close", true: "byte"}[tail == "\t"]; field(err) != want {
			t.Errorf("V13 %q: field %v, want %s", tail, field(err), want)
		}
	}
	body := "# +AAo-print(1)\n"
	signed := mustSign(t, body, style(t, "#"), tool("demo/hello"))
	wantCode(t, "V13 utf_7", verifyTool(strings.Replace(signed, goldenFP, goldenFP+" coding: utf_7", 1)), diag.SigMalformed)
}

func TestV14LineEnds(t *testing.T) {
	for _, name := range []string{"#", "//", "<!--", "--", ";", "/*"} {
		s := style(t, name)
		signed := mustSign(t, toolBody, s, tool("demo/hello"))
		end := strings.Index(signed, "\n")
		for _, c := range []string{"\r", "\v", "\f", "\u0085", "\u2028", "\u2029", "\x00", "\x7f", "\x1b", "\xff", "\u200b", "\u202e"} {
			for what, file := range map[string]string{
				"at the end": signed[:end] + c + signed[end:], "inside": signed[:40] + c + signed[40:],
				"instead of LF": signed[:end] + c + signed[end+1:],
			} {
				_, err := Verify([]byte(file), s, tool("demo/hello"), goldenKeys())
				wantCode(t, "V14 "+name+" "+what, err, diag.SigMalformed)
			}
			_, err := Verify([]byte(signed[:end+1]+c+signed[end+1:]), s, tool("demo/hello"), goldenKeys())
			wantCode(t, "V14 "+name+" after the line", err, diag.HashMismatch)
		}
	}
}

func TestV15Spellings(t *testing.T) {
	const sig = "KKcAFw1svYikWOYv6mvSZJFeefpkINVDfZJwCEl36zQLBUu860IhLULOMU1jtBQbtaDyQgaAZvG3CQCboPwUAw"
	const hash = "c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75"
	type swap struct{ old, new, field string }
	swaps := []swap{
		{hash, strings.ToUpper(hash), "hash"}, {hash, hash[:63], "hash"}, {hash, hash + "0", "hash"},
		{goldenFP, strings.ToUpper(goldenFP), "fingerprint"},
		{sig, sig + "==", "signature"}, {sig, sig[:85], "signature"}, {sig, sig[:85] + "=", "signature"},
		{sig, sig[:40] + "\n" + sig[40:], "end"}, {sig, sig[:40] + "\r" + sig[40:], "byte"},
		{sig, sig[:40] + "_" + sig[41:], "signature"}, {sig, sig[:40] + "-" + sig[41:], "signature"}, {sig, sig[:40] + " " + sig[41:], "signature"},
	}
	// 64 last characters, of which 16 decode to the same bytes; one is right.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	same := 0
	for _, c := range alphabet {
		changed := strings.Replace(goldenTool, sig, sig[:85]+string(c), 1)
		l, err := ParseLine([]byte(strings.SplitAfter(changed, "\n")[1]), style(t, "#"))
		if err == nil && strings.HasPrefix(l.Render(style(t, "#")), sigLine()) {
			same++
		}
		if c != 'w' && verifyTool(changed) == nil {
			t.Errorf("V15 last character %q verified", c)
		}
	}
	if same != 1 {
		t.Errorf("V15 %d spellings of the signature, want 1", same)
	}
	for _, w := range swaps {
		file := strings.Replace(goldenTool, w.old, w.new, 1)
		err := verifyTool(file)
		wantCode(t, "V15 "+w.new, err, diag.SigMalformed)
		if w.field != "end" && field(err) != w.field {
			t.Errorf("V15 %s: field %v, want %s", w.new, field(err), w.field)
		}
	}
}

func TestV16Time(t *testing.T) {
	for _, bad := range []string{
		"2026-02-30T00:27:54Z", "2026-13-01T00:27:54Z", "2026-00-10T00:27:54Z", "2026-02-00T00:27:54Z", "2026-02-14T24:00:00Z",
		"2026-02-14T00:60:54Z", "2026-02-14T00:27:60Z", "2025-02-29T00:00:00Z", "2026-02-14T00:27:54+00:00", "2026-02-14T00:27:54.0Z",
		"2026-02-14t00:27:54Z", "2026-02-14T00:27:54z", "2026-02-14 00:27:54Z", "2026-2-14T00:27:54Z", "02026-02-14T00:27:54Z", "", "-026-02-14T00:27:54Z",
	} {
		err := verifyTool(strings.Replace(goldenTool, "2026-02-14T00:27:54Z", bad, 1))
		wantCode(t, "V16 "+bad, err, diag.SigMalformed)
		if field(err) != "time" {
			t.Errorf("V16 %s: field %v", bad, field(err))
		}
	}
	changed := strings.Replace(goldenTool, "2026-02-14T00:27:54Z", "2024-02-29T23:59:59Z", 1)
	wantCode(t, "V16 a valid time that was not signed", verifyTool(changed), diag.SigInvalid)
}

func TestV17TruncatedFingerprint(t *testing.T) {
	for _, fp := range []string{goldenFP[:16], goldenFP[:63], ""} {
		err := verifyTool(strings.Replace(goldenTool, goldenFP, fp, 1))
		wantCode(t, "V17", err, diag.SigMalformed)
		if field(err) != "fingerprint" {
			t.Errorf("V17: field %v", field(err))
		}
	}
}

func TestV18HTML(t *testing.T) {
	s, sub := style(t, "<!--"), Subject{UseItem, "directive", "demo/greet"}
	for _, w := range [][2]string{
		{" -->", " --> visible"}, {" -->", " --!>"}, {" -->", ""}, {" -->", "-->"}, {" -->", " --> -->"}, {" -->", " --><!-- -->"},
		{"<!-- ", "<!-- <!-- "}, {"<!-- ", "<!--"}, {"<!-- ", "<!--> "}, {"<!-- ", "<!-->"}, {"<!-- ", "<!---> "}, {"<!-- ", "<!--  "},
	} {
		_, err := Verify([]byte(strings.Replace(goldenDirective, w[0], w[1], 1)), s, sub, goldenKeys())
		wantCode(t, "V18 "+w[0]+" as "+w[1], err, diag.SigMalformed)
	}
}

func TestV19OtherStyle(t *testing.T) {
	for _, s := range Styles() {
		file := strings.Replace(goldenTool, sigLine(), s.Open+strings.TrimPrefix(sigLine(), "# ")+s.Close, 1)
		if s.Name == "#" {
			if err := verifyTool(file); err != nil {
				t.Error(err)
			}
			continue
		}
		wantCode(t, "V19 "+s.Name, verifyTool(file), diag.SigMalformed)
	}
}

func TestV20InsideString(t *testing.T) {
	for _, c := range []string{`"""`, `'''`, "cat <<", "<<'", "`", "x = \"", "/* "} {
		file := strings.Replace(goldenTool, sigLine(), c+sigLine(), 1)
		if err := verifyTool(file); err == nil || (diag.CodeOf(err) != diag.SigMalformed && diag.CodeOf(err) != diag.Unsigned) {
			t.Errorf("V20 %s: %v", c, err)
		}
	}
}

func TestV21Shebang(t *testing.T) {
	for what, c := range map[string]struct {
		old, new string
		code     diag.Code
	}{
		"not first byte": {"#!", " #!", diag.Unsigned},
		"two shebangs":   {"#!/usr/bin/env python3\n", "#!/usr/bin/env python3\n#!/bin/sh\n", diag.Unsigned},
		"edited":         {"python3", "python2", diag.HashMismatch},
		"removed":        {"#!/usr/bin/env python3\n", "", diag.HashMismatch},
		"CR LF":          {"python3\n", "python3\r\n", diag.HashMismatch},
		"after the line": {"print", "#!/bin/sh\nprint", diag.HashMismatch},
	} {
		wantCode(t, "V21 "+what, verifyTool(strings.Replace(goldenTool, c.old, c.new, 1)), c.code)
	}
	_, _, err := Sign(context.Background(), []byte("#!/bin/sh"), style(t, "#"), tool("a"), golden(), goldenTime())
	wantCode(t, "V21 without line feed", err, diag.ValidationFailed)
	signed := mustSign(t, "#!a\n#!b\nx", style(t, "#"), tool("demo/hello"))
	if err := verifyTool(signed); err != nil || !strings.HasPrefix(signed, "#!a\n# rye:signed:") {
		t.Errorf("V21 two #! lines: %v\n%s", err, signed)
	}
}

func TestV22Bodies(t *testing.T) {
	fakes := "first\n" + strings.Repeat(sigLine()+"\n", 1000)
	for _, body := range []string{"", "x", "x\n", "\n", "no newline at the end", "#!/bin/sh\n", fakes, strings.TrimSuffix(fakes, "\n"), "\r\n", "\n" + sigLine()} {
		s := style(t, "#")
		signed := mustSign(t, body, s, tool("demo/hello"))
		if err := verifyTool(signed); err != nil {
			t.Errorf("V22 %.20q: %v", body, err)
		}
		again, _, err := Sign(context.Background(), []byte(signed), s, tool("demo/hello"), NewFileSigner(otherKey(), "x"), goldenTime())
		if err != nil {
			t.Fatalf("V22 %.20q: %v", body, err)
		}
		sp, err := SplitFile(again, s)
		if err != nil || string(sp.Body()) != body {
			t.Errorf("V22 %.20q did not survive signing twice: %v", body, err)
		}
	}
	onlyLine := mustSign(t, "", style(t, "#"), tool("demo/hello"))
	wantCode(t, "V22 line without line feed", verifyTool(strings.TrimSuffix(onlyLine, "\n")), diag.SigMalformed)
	wantCode(t, "V22 empty file", verifyTool(""), diag.Unsigned)
}

func TestV23Polyglots(t *testing.T) {
	for _, body := range []string{"<!--\nalert(1)\n//-->\n", "\"\"\":\"\nexec python3 $0\n\"\"\"\n", "#!/bin/sh\n'''exec' python3 \"$0\"\n' '''\n"} {
		signed := mustSign(t, body, style(t, "#"), tool("demo/hello"))
		if err := verifyTool(signed); err != nil {
			t.Errorf("V23 %q: %v", body, err)
		}
		s := style(t, "//")
		_, err := Verify([]byte(signed), s, tool("demo/hello"), goldenKeys())
		wantCode(t, "V23 read as another language", err, diag.SigMalformed)
	}
}

func TestV24Encoding(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, c := range goldenTool {
		utf16 += string(rune(c)) + "\x00"
	}
	for what, body := range map[string]string{"UTF-16": utf16, "UTF-8 BOM": "\ufeffx\n", "UTF-16 BE": "\xfe\xff\x00x", "NUL": "a\x00b", "invalid": "a\xc3(b", "surrogate": "\xed\xa0\x80"} {
		wantCode(t, "V24 "+what, CheckText([]byte(body)), diag.Encoding)
		_, _, err := Sign(context.Background(), []byte(body), style(t, "#"), tool("a"), golden(), goldenTime())
		wantCode(t, "V24 signing "+what, err, diag.Encoding)
		if verifyTool(body) == nil {
			t.Errorf("V24 %s verified", what)
		}
	}
	if err := CheckText([]byte("héllo\n")); err != nil {
		t.Error(err)
	}
}

func TestV29LineEndsOfCheckout(t *testing.T) {
	crlfBody := strings.Replace(goldenTool, "print(\"hello\")\n", "print(\"hello\")\r\n", 1)
	err := verifyTool(crlfBody)
	wantCode(t, "V29 body", err, diag.HashMismatch)
	whole := verifyTool(strings.ReplaceAll(goldenTool, "\n", "\r\n"))
	wantCode(t, "V29 whole file", whole, diag.SigMalformed)
	for _, err := range []error{err, whole} {
		e := err.(*diag.Error)
		if e.Details["crlf"] != true || e.Reason != "signed_crlf" {
			t.Errorf("V29: %+v", e)
		}
	}
	other := verifyTool(strings.Replace(crlfBody, "hello", "hallo", 1)).(*diag.Error)
	if other.Code != diag.HashMismatch || other.Details["crlf"] != nil {
		t.Errorf("V29 an edit besides the line ends: %+v", other)
	}
}

func TestV34Suffix(t *testing.T) {
	for _, suffix := range []string{"|registry@alice", "|rye-registry@leo"} {
		wantCode(t, "V34", verifyTool(strings.Replace(goldenTool, goldenFP, goldenFP+suffix, 1)), diag.SigMalformed)
	}
}

func TestLegacyLines(t *testing.T) {
	hash, sig, key := strings.Repeat("ab", 32), strings.Repeat("A-_z", 21)+"AQ==", "9fbfabe975fa5a7f"
	old := "rye:signed:2026-02-14T00:27:54Z:" + hash + ":" + sig + ":" + key
	for _, file := range []string{
		"# " + old + "\nx\n", "#!/usr/bin/env python3\n# " + old + "\nx\n", "# " + old + "|rye-registry@leo\nx\n", "# " + old + " junk\n",
		"<!-- " + old + " -->\n# T\n", "<!-- " + old + "|a@b -->\n", "<!-- " + old + " -->", "# kiwi-mcp:validated:2025-01-01T00:00:00Z:x\n", "# " + old + "\r\nx\r\n",
	} {
		for _, name := range []string{"#", "<!--"} {
			_, err := Verify([]byte(file), style(t, name), tool("a"), goldenKeys())
			wantCode(t, file, err, diag.Legacy)
		}
	}
	body := "#!/bin/sh\necho\n"
	got, _, err := Sign(context.Background(), []byte("#!/bin/sh\n# "+old+"|a@b\necho\n"), style(t, "#"), tool("a"), golden(), goldenTime())
	if err != nil || string(got) != mustSign(t, body, style(t, "#"), tool("a")) {
		t.Errorf("signing an earlier item: %v\n%s", err, got)
	}
	_, _, err = Sign(context.Background(), []byte("# "+old+" junk\nx"), style(t, "#"), tool("a"), golden(), goldenTime())
	if err != nil {
		t.Errorf("an earlier line with more text in its comment: %v", err)
	}
	today := strings.Replace(goldenTool, goldenFP, goldenFP[:16], 1)
	wantCode(t, "a damaged line of today", verifyTool(today), diag.SigMalformed)
}

// Signing replaces a malformed signature line whatever it claims, and drops no code.
func TestSignReplacesOnlySignatures(t *testing.T) {
	html := strings.SplitAfter(goldenDirective, "\n")[0]
	for _, c := range []struct{ style, line string }{
		{"#", sigLine() + "\r\n"}, {"#", sigLine() + " \n"}, {"#", "# rye:signed:\n"}, {"#", strings.Replace(sigLine(), "2026", "x", 1) + "\n"},
		{"<!--", strings.Replace(html, "2026", "1", 1)}, {"#", sigLine() + "; import os\n"}, {"#", " " + sigLine() + "\n"},
		{"#", "// rye:signed:x\n"}, {"//", "# rye:signed:x y\n"}, {"/*", "/* rye:signed: x */\n"},
	} {
		s := style(t, c.style)
		got := mustSign(t, c.line+"body\n", s, tool("a"))
		if got != mustSign(t, "body\n", s, tool("a")) {
			t.Errorf("%q not replaced:\n%s", c.line, got)
		}
	}
	for _, c := range []struct{ style, file string }{
		{"<!--", strings.Replace(html, " -->", " --> visible", 1)}, {"#", "rye:signed:x\n"}, {"//", "; rye:signed:evil()\n"},
		{"//", "// rye:signed:\u2028evil()\n"}, {"/*", "/* rye:signed:*/ evil() /* */\n"}, {"/*", "/* rye:signed:x */ evil()\n"}, {"/*", "/* rye:signed:x\n*/\n"}, {"#", "\"\"\"# rye:signed:x\n"},
		{"#", sigLine() + "\rprint(1)\r"}, {"//", "// rye:signed:\\\nx\n"}, {"<!--", "<!-- rye:signed:x"},
	} {
		_, _, err := Sign(context.Background(), []byte(c.file+"body\n"), style(t, c.style), tool("a"), golden(), goldenTime())
		wantCode(t, c.file, err, diag.SigMalformed)
	}
}

func TestSignRefusesASecondLine(t *testing.T) {
	for _, file := range []string{
		"# rye:signed:x\n" + sigLine() + "\nx", "# rye:signed:x\n  // rye:signed:\nx", "#!/bin/sh\n# rye:signed:x\n" + sigLine() + "\n",
		sigLine() + "\n#!/bin/sh\n" + sigLine() + "\nx",
	} {
		_, _, err := Sign(context.Background(), []byte(file), style(t, "#"), tool("a"), golden(), goldenTime())
		wantCode(t, file, err, diag.SigMultiple)
	}
}
