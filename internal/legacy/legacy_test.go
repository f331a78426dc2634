package legacy

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func seeded(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func pemOf(priv ed25519.PrivateKey) []byte {
	der := append([]byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}, priv.Public().(ed25519.PublicKey)...)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func keysOf(t testing.TB, n ...byte) Keys {
	t.Helper()
	var out Keys
	for _, seed := range n {
		k, err := ParseKey("leo.pem", pemOf(seeded(seed)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

// fieldsOf makes the fields of a line over a hash with the key of seed 6.
func fieldsOf(hash string) string {
	sig := base64.URLEncoding.EncodeToString(ed25519.Sign(seeded(6), []byte(hash)))
	return "rye:signed:2026-02-14T00:27:54Z:" + hash + ":" + sig + ":" + Print(pemOf(seeded(6)))
}

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// over fills in the line of a file: @ is replaced by the fields of a signature
// over content.
func over(file, content string) string {
	return strings.Replace(file, "@", fieldsOf(sumOf(content)), 1)
}

const element1 = "<directive name=\"a\">\n</directive>"

// What each kind's signature covers, with all its corners: SIG-1 to SIG-5 of
// the original are visible here as good results.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, kind, file, content string
		want                      Outcome
		uncovered                 string
	}{
		{"tool", "tool", "# @\nprint(1)\n", "print(1)\n", Good, ""},
		{"tool, no final line feed", "tool", "# @\nprint(1)", "print(1)", Good, ""},
		{"tool, only the line", "tool", "# @\n", "", Good, ""},
		{"tool, the line has no end and so is content", "tool", "# @", "", Altered, ""},
		{"tool, shebang", "tool", "#!/usr/bin/env python3\n# @\nprint(1)\n", "print(1)\n", Good, "1 the first line, #!/usr/bin/env python3"},
		{"tool, shebang after the line", "tool", "# @\n#!/bin/sh\n", "#!/bin/sh\n", Good, ""},
		{"tool, shebang with a blank", "tool", "#! /bin/sh\n# @\nx\n", "x\n", Malformed, ""},
		{"tool, shebang with a blank after the line", "tool", "# @\n#! /bin/sh\n", "#! /bin/sh\n", Good, ""},
		{"tool, CRLF", "tool", "# @\r\nprint(1)\r\nx\r\n", "print(1)\nx\n", Good, ""},
		{"tool, lone CR", "tool", "#!/bin/sh\r# @\rprint(1)\r", "print(1)\n", Good, "1 the first line, #!/bin/sh"},
		{"tool, mixed ends", "tool", "# @\r\r\n\n\rx", "\n\n\nx", Good, ""},
		{"tool, note", "tool", "# @|rye-registry@leo\nx\n", "x\n", Good, "1 the note |rye-registry@leo"},
		{"tool, half a note is junk", "tool", "# @|rye-registry\nx\n", "x\n", Good, "1 the text after the signature on line 1"},
		{"tool, junk", "tool", "#!/bin/sh\n# @ -*- coding: utf_7 -*-\nx\n", "x\n", Good, "2 the text after the signature on line 2; 1 the first line, #!/bin/sh"},
		{"tool, a longer key is junk", "tool", "# @0\nx\n", "x\n", Good, "1 the text after the signature on line 1"},
		{"tool, an older mark below is content", "tool", "# @\n# kiwi-mcp:validated:x\nx\n", "# kiwi-mcp:validated:x\nx\n", Good, ""},
		{"tool, two signatures", "tool", "# @\n# rye:signed:x\nx\n", "# rye:signed:x\nx\n", Good, ""},
		{"tool, changed", "tool", "# @\nprint(2)\n", "print(1)\n", Altered, ""},
		{"tool, strip is not for tools", "tool", "# @\n\nx\n", "x\n", Altered, ""},
		{"tool, byte order mark", "tool", "\ufeff# @\nx\n", "x\n", Malformed, ""},
		{"tool, blank line first", "tool", "\n# @\nx\n", "x\n", Malformed, ""},
		{"tool, indented", "tool", " # @\nx\n", "x\n", Malformed, ""},
		{"tool, not UTF-8", "tool", "# @\n\xff\n", "\xff\n", Malformed, ""},
		{"tool, markup comment", "tool", "<!-- @ -->\nx\n", "x\n", Malformed, ""},
		{"tool, JavaScript of later versions", "tool", "// @\nlet x\n", "let x\n", Good, ""},
		{"tool, JavaScript of earlier versions", "tool", "# @\nlet x\n", "let x\n", Good, ""},
		{"tool, only an older mark", "tool", "# kiwi-mcp:validated:2025-01-01T00:00:00Z:x\nx\n", "x\n", Malformed, ""},
		{"tool, YAML with NUL", "tool", "# @\na: \x00\n", "a: \x00\n", Good, ""},
		{"config is signed as a tool", "config", "# @\na: 1\n", "a: 1\n", Good, ""},

		{"directive", "directive", "<!-- @ -->\n# T\n```xml\n" + element1 + "\n```\nDo it.\n", element1, Good, "2 the text before the XML (line 2); 7 the text after the XML (line 7)"},
		{"directive, nothing beside it", "directive", "<!-- @ -->\n```xml\n" + element1 + "\n```\n", element1, Good, ""},
		{"directive, two spans", "directive", "<!-- @ -->\n" + element1 + "\nx\n" + element1 + "\n", element1 + "\nx\n" + element1, Good, ""},
		{"directive, mentioned in the body", "directive", "<!-- @ -->\n" + element1 + "\nwrite </directive>!\nx", element1 + "\nwrite </directive>", Good, "4 the text after the XML (lines 4 to 5)"},
		{"directive, longer name", "directive", "<!-- @ -->\n<directives>\n</directive>\n", "<directives>\n</directive>", Good, ""},
		{"directive, > in an attribute", "directive", "<!-- @ -->\n<directive a=\"</directive>\">x</directive>", "<directive a=\"</directive>\">x</directive>", Good, ""},
		{"directive, prose changed", "directive", "<!-- @ -->\n# Other\n" + element1 + "\nDelete everything.\n", element1, Good, "2 the text before the XML (line 2); 5 the text after the XML (line 5)"},
		{"directive, on the line", "directive", "<!-- @ --> # T " + element1, element1, Good, "1 the text before the XML (line 1)"},
		{"directive, CRLF", "directive", "<!-- @ -->\r\n<directive>\r\n</directive>\r\n", "<directive>\n</directive>", Good, ""},
		{"directive, note", "directive", "<!-- @|a@b -->\n" + element1, element1, Good, "1 the note |a@b"},
		{"directive, junk", "directive", "<!-- @ junk -->\n" + element1, element1, Malformed, ""},
		{"directive, no element", "directive", "<!-- @ -->\n# T\n", "", Malformed, ""},
		{"directive, never opened", "directive", "<!-- @ -->\n<directive </directive\n", "", Malformed, ""},
		{"directive, changed", "directive", "<!-- @ -->\n" + element1 + "\n", element1 + "\n", Altered, ""},
		{"directive, behind #", "directive", "# @\n" + element1, element1, Malformed, ""},

		{"knowledge, yaml fence", "knowledge", "<!-- @ -->\n```yaml\nid: a\n```\n\ntext\n", "```yaml\nid: a\n```\n\ntext\n", Good, ""},
		{"knowledge, front matter", "knowledge", "<!-- @ -->\n---\nid: a\n---\n\ntext\n\n", "text", Good, "2 the front matter (lines 2 to 4)"},
		{"knowledge, front matter changed", "knowledge", "<!-- @ -->\n---\nid: evil\ntitle: x\n---\ntext", "text", Good, "2 the front matter (lines 2 to 5)"},
		{"knowledge, dashes inside front matter", "knowledge", "<!-- @ -->\n---\ntitle: a --- b\n---\ntext\n", "b\n---\ntext", Good, "2 the front matter (lines 2 to 3)"},
		{"knowledge, four dashes", "knowledge", "<!-- @ -->\n----\na\n---\ntext\n", "text", Good, "2 the front matter (lines 2 to 4)"},
		{"knowledge, six dashes", "knowledge", "<!-- @ -->\n------ a ", "a", Good, "2 the front matter (line 2)"},
		{"knowledge, front matter never closed", "knowledge", "<!-- @ -->\n---\ntext\n", "---\ntext\n", Good, ""},
		{"knowledge, Python strips separators", "knowledge", "<!-- @ -->\n---\n---\x1c\x1d\x1e\x1f\u0085\u00a0\u2028\u3000\v\f t \u1680\x1f\n", "t", Good, "2 the front matter (lines 2 to 3)"},
		{"knowledge, but no zero width", "knowledge", "<!-- @ -->\n---\n---\u200bt", "t", Altered, ""},
		{"knowledge, separators inside stay", "knowledge", "<!-- @ -->\n---\n---\na\x1fb", "a\x1fb", Good, "2 the front matter (lines 2 to 3)"},
		{"knowledge, blank line before front matter", "knowledge", "<!-- @ -->\n\n---\na: 1\n---\nt\n", "\n---\na: 1\n---\nt\n", Good, ""},
		{"knowledge, YAML file", "knowledge", "<!-- @ -->\nid: a\n", "id: a\n", Good, ""},
		{"knowledge, YAML file behind #", "knowledge", "# @\nid: a\n", "id: a\n", Malformed, ""},
		{"knowledge, text behind the comment", "knowledge", "<!-- @ --> x\ntext", "", Altered, ""},
		{"knowledge, no end of line", "knowledge", "<!-- @ -->", "", Altered, ""},
		{"knowledge, CRLF", "knowledge", "<!-- @ -->\r\n---\r\na: 1\r\n---\r\ntext\r\n", "text", Good, "2 the front matter (lines 2 to 4)"},
	} {
		file := []byte(over(c.file, c.content))
		v := Check(c.kind, file, keysOf(t, 5, 6))
		if v.Outcome != c.want || v.Reason == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Outcome, v.Reason, c.want)
		}
		var parts []string
		for _, p := range v.Uncovered {
			parts = append(parts, fmt.Sprintf("%d %s", p.Line, p.What))
		}
		if got := strings.Join(parts, "; "); c.want == Good && got != c.uncovered {
			t.Errorf("%s: not covered: %q, want %q", c.name, got, c.uncovered)
		}
		if c.want == Good {
			if v := Check(c.kind, file, keysOf(t, 5)); v.Outcome != UnknownKey {
				t.Errorf("%s without the key: %s", c.name, v.Outcome)
			}
		}
	}
}

// SIG-4: ids, dates and notes were never signed, so other ones are good too;
// a forged signature is not.
func TestCheckSignature(t *testing.T) {
	file := over("# @\nx\n", "x\n")
	for _, c := range []struct {
		name, from, to string
		want           Outcome
	}{
		{"another date", "2026-02-14", "1999-12-31", Good},
		{"a date of other digits", "2026-02-14", "\u0662\u0660\u0662\u0666-02-14", Good},
		{"a date that is none", "2026-02-14", "2026-13-99", Good},
		{"a note", "\nx", "|registry@root\nx", Good},
		{"another signature", base64.URLEncoding.EncodeToString(ed25519.Sign(seeded(6), []byte(sumOf("x\n")))), base64.URLEncoding.EncodeToString(ed25519.Sign(seeded(5), []byte(sumOf("x\n")))), Altered},
		{"no padding, as in the last versions", "==:", ":", Good},
		{"a short signature", "==:", "A:", Altered},
		{"no signature", "54Z:" + sumOf("x\n") + ":", "54Z:" + sumOf("x\n") + "::", Malformed},
		{"an upper-case hash", sumOf("x\n"), strings.ToUpper(sumOf("x\n")), Malformed},
		{"another key's name", Print(pemOf(seeded(6))), Print(pemOf(seeded(5))), Altered},
		{"a key nobody has", Print(pemOf(seeded(6))), strings.Repeat("0", 16), UnknownKey},
	} {
		changed := strings.Replace(file, c.from, c.to, 1)
		if changed == file {
			t.Fatalf("%s changed nothing", c.name)
		}
		if v := Check("tool", []byte(changed), keysOf(t, 5, 6)); v.Outcome != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Outcome, v.Reason, c.want)
		}
	}
}

func TestParseKey(t *testing.T) {
	text := string(pemOf(seeded(6)))
	print := Print([]byte(text))
	if len(text) != 113 {
		t.Fatalf("the PEM text has %d bytes, 113 were documented", len(text))
	}
	toml := "# rye:signed:whatever\nfingerprint = \"" + print + "\"\nowner = \"leo\"\nattestation = \"\"\n\n[public_key]\npem = \"\"\"\n" + text + "\"\"\"\n"
	private := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct{ name, file, text, prints, owner, fault string }{
		{"PEM", "/k/leo.pem", text, print, "", ""},
		{"PEM with CRLF has two names", "leo.pem", strings.ReplaceAll(text, "\n", "\r\n"), print + " " + Print([]byte(strings.ReplaceAll(text, "\n", "\r\n"))), "", ""},
		{"TOML", "x.toml", toml, print, "leo", ""},
		{"TOML with blanks around", "x.toml", strings.Replace(toml, "\"\"\"\n"+text, "\"\"\"\n\n  "+text+"\n", 1), print, "leo", ""},
		{"private", "private_key.pem", private, "", "", "private key"},
		{"certificate", "x.pem", strings.ReplaceAll(text, "PUBLIC KEY", "CERTIFICATE"), "", "", "not a public key"},
		{"another algorithm", "x.pem", strings.Replace(text, "MCowBQYDK2Vw", "MCowBQYDK2Vx", 1), "", "", "not an Ed25519 key"},
		{"nothing", "x.pem", "", "", "", "no PEM block"},
		{"no TOML", "x.toml", text, "", "", "not TOML"},
		{"TOML without a key", "x.toml", "owner = \"leo\"\n", "", "", "no public_key.pem"},
		{"TOML with a number", "x.toml", "[public_key]\npem = 1\n", "", "", "no public_key.pem"},
	} {
		k, err := ParseKey(c.file, []byte(c.text))
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || diag.CodeOf(err) != diag.ParsingError {
				t.Errorf("%s: %v, want %q", c.name, err, c.fault)
			}
			continue
		}
		if err != nil || strings.Join(k.Prints, " ") != c.prints || k.Owner != c.owner || !k.Public.Equal(seeded(6).Public()) {
			t.Errorf("%s: %+v %v", c.name, k, err)
		}
	}
	for file, ok := range map[string]bool{
		print + ".pem": true, "registry.pem": true, `C:\keys\` + print + ".pem": true, "0000000000000000.pem": false, "leo.pem": false,
	} {
		if _, err := ParseTrusted(file, []byte(text)); (err == nil) != ok {
			t.Errorf("ParseTrusted(%s): %v", file, err)
		}
	}
	if _, err := ParseTrusted("registry.toml", []byte(toml)); err == nil {
		t.Error("TOML under another name than its fingerprint was read")
	}
}

// Without removes the signature line only, whatever ends the lines.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ kind, file, want string }{
		{"tool", "# @\nx\n", "x\n"},
		{"tool", "#!/bin/sh\n# @\nx\n", "#!/bin/sh\nx\n"},
		{"tool", "#!/bin/sh\r\n# @ junk\r\nx\r\n", "#!/bin/sh\r\nx\r\n"},
		{"tool", "# @\rx\ry\r", "x\ry\r"},
		{"tool", "// @", ""},
		{"knowledge", "<!-- @ -->\r\n---\na", "---\na"},
		{"directive", "<!-- @ --># Title\n" + element1, "# Title\n" + element1},
	} {
		file := over(c.file, "any")
		l := Check(c.kind, []byte(file), nil).Line
		if got := Without(c.kind, []byte(file), l); string(got) != c.want {
			t.Errorf("%s %q: got %q, want %q", c.kind, c.file, got, c.want)
		}
	}
	parts := Uncovered("directive", []byte("# T\n"+element1+"\nb\n"))
	if len(parts) != 2 || parts[0].Line != 1 || parts[1].Line != 4 {
		t.Errorf("Uncovered = %+v", parts)
	}
}
