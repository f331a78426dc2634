package privatekey

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf16"
)

const material = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"

func TestKeyLine(t *testing.T) {
	pem := func(label string) string {
		return "-----BEGIN " + label + "-----\n" + material + "\n-----END " + label + "-----\n"
	}
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"PKCS 8", pem("PRIVATE KEY"), 1},
		{"encrypted PKCS 8", pem("ENCRYPTED PRIVATE KEY"), 1},
		{"RSA with headers", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n" + material, 1},
		{"EC", pem("EC PRIVATE KEY"), 1},
		{"sigstore", pem("ENCRYPTED SIGSTORE PRIVATE KEY"), 1},
		{"cosign", pem("ENCRYPTED COSIGN PRIVATE KEY"), 1},
		{"OpenSSH", pem("OPENSSH PRIVATE KEY"), 1},
		{"PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + material, 1},
		{"PuTTY", "PuTTY-User-Key-File-3: ssh-ed25519\n", 1},
		{"CRLF", strings.ReplaceAll(pem("PRIVATE KEY"), "\n", "\r\n"), 1},
		{"indented in YAML", "a: 1\nkey: |\n  -----BEGIN PRIVATE KEY-----\n  " + material, 3},
		{"in a quoted string", `{"key": "-----BEGIN PRIVATE KEY-----\n` + material + `"}`, 1},
		{"after a public one", pem("PUBLIC KEY") + pem("PRIVATE KEY"), 4},
		{"after text about one", "-----BEGIN PRIVATE KEY----- is how it begins.\n" + strings.Repeat("word ", 100) + "\n" + pem("PRIVATE KEY"), 3},
		{"public", pem("PUBLIC KEY"), 0},
		{"certificate", pem("CERTIFICATE"), 0},
		{"text about keys", "A file with -----BEGIN PRIVATE KEY----- is a key.", 0},
		{"header alone", "-----BEGIN PRIVATE KEY-----", 0},
		{"header that does not end", "-----BEGIN PRIVATE KEY" + material, 0},
		{"too long a label", "-----BEGIN " + strings.Repeat("X", 80) + "PRIVATE KEY-----\n" + material, 0},
		{"nothing", "", 0},
	} {
		if got := keyLine([]byte(tc.text)); got != tc.want {
			t.Errorf("%s: line %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestLine finds keys outside of .ai: by their encoding, behind other text, and in files that
// are not text. The source of a test and a page about keys can have one.
func TestLine(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\n" + material + "\n-----END PRIVATE KEY-----\n"
	wide := func(text string, big bool) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune(text)) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return b
	}
	filler := strings.Repeat("a line of a log\n", 8<<10)
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	for _, tc := range []struct {
		name     string
		file     []byte
		anywhere bool
		want     int
	}{
		{"at the beginning", []byte(key), false, 1},
		{"CRLF", []byte(strings.ReplaceAll(key, "\n", "\r\n")), false, 1},
		{"UTF-16 with a mark", append([]byte{0xff, 0xfe}, wide(key, false)...), false, 1},
		{"UTF-16, big-endian, with a mark", append([]byte{0xfe, 0xff}, wide(key, true)...), false, 1},
		{"UTF-16", wide("\n"+key, false), false, 2},
		{"UTF-16, big-endian", wide(key, true), false, 1},
		{"behind a long text", []byte(filler + key), false, 8<<10 + 1},
		{"in a small archive", append(append([]byte("name"), make([]byte, 508)...), key...), false, 1},
		{"in base64", []byte("a: 1\ntls.key: " + encoded + "\n"), false, 2},
		{"in base64 with lines", []byte(encoded[:20] + "\n" + encoded[20:60] + "\n  " + encoded[60:]), false, 1},
		{"in the source of a test", []byte("package p\n\nconst key = `" + key + "`\n"), false, 0},
		{"in the source of a test, below .ai", []byte("x\nconst key = `" + key + "`\n"), true, 2},
		{"begun only, behind a long text", []byte(filler + key[:60]), false, 0},
		{"quoted, behind a long text", []byte(filler + "> " + key), false, 0},
		{"a public key in base64", []byte(base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(key, "PRIVATE", "PUBLIC")))), true, 0},
		{"a certificate", []byte(filler + strings.ReplaceAll(key, "PRIVATE KEY", "CERTIFICATE")), true, 0},
		{"nothing", nil, false, 0},
	} {
		if got := Line(tc.file, tc.anywhere); got != tc.want {
			t.Errorf("%s: line %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestFirstText(t *testing.T) {
	for text, want := range map[string]int{"": 1, "a": 1, "\n\na": 3, " \t\r\na": 2, "\xef\xbb\xbfa": 1} {
		if got := firstText([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// FuzzKeyLine plants a key into any text: it is found, and at its line.
func FuzzKeyLine(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("c"))
	f.Add([]byte("-----BEGIN "), []byte("-----"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----"), []byte{0, 0xff})
	f.Fuzz(func(t *testing.T, before, after []byte) {
		line := keyLine(before)
		if n := 1 + bytes.Count(before, []byte{'\n'}); line < 0 || line > n {
			t.Fatalf("line %d of %d", line, n)
		}
		key := []byte("\n-----BEGIN PRIVATE KEY-----\n" + material + "\n")
		all := append(append(append([]byte{}, before...), key...), after...)
		if got := keyLine(all); got == 0 || line == 0 && got > 2+bytes.Count(before, []byte{'\n'}) {
			t.Errorf("a key after %q: line %d", before, got)
		}
	})
}
