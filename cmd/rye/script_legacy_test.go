package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/sign"
)

// oldPublic returns the public key file of the original and its fingerprint.
func oldPublic(ts *testscript.TestScript, seed string) (pemText []byte, print string) {
	_, priv := seededKey(ts, seed)
	der := append([]byte("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"), priv.Public().(ed25519.PublicKey)...)
	pemText = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	sum := sha256.Sum256(pemText)
	return pemText, hex.EncodeToString(sum[:8])
}

// cmdOldKey writes what the original knew of the key with that seed into a
// folder: public_key.pem, FINGERPRINT.pem and FINGERPRINT.toml. It sets the
// variable OLDKEY to the fingerprint.
func cmdOldKey(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "oldkey DIR SEED")
	text, print := oldPublic(ts, args[1])
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	toml := "fingerprint = \"" + print + "\"\nowner = \"local\"\nattestation = \"\"\n\n[public_key]\npem = \"\"\"\n" + string(text) + "\"\"\"\n"
	for name, b := range map[string][]byte{"public_key.pem": text, print + ".pem": text, print + ".toml": []byte(toml)} {
		ts.Check(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	ts.Setenv("OLDKEY", print)
}

// cmdOldSign signs files as the original did, with the key of a seed: kind
// decides what is hashed and how the line is written. note= stands behind the
// key, junk= behind all, prefix= is the comment sign.
func cmdOldSign(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 3, "oldsign SEED KIND FILE… [note= junk= prefix=]")
	files, rest := args[2:], []string(nil)
	for len(files) > 0 && strings.Contains(files[len(files)-1], "=") {
		files, rest = files[:len(files)-1], append(rest, files[len(files)-1])
	}
	set := settings(ts, rest, "note junk prefix")
	_, priv := seededKey(ts, args[0])
	_, print := oldPublic(ts, args[0])
	for _, file := range files {
		path := ts.MkAbs(file)
		b, err := os.ReadFile(path)
		ts.Check(err)
		head, content := oldContent(args[1], strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b)))
		sum := sha256.Sum256([]byte(content))
		hash := hex.EncodeToString(sum[:])
		line := "rye:signed:2026-02-14T00:27:54Z:" + hash + ":" + base64.URLEncoding.EncodeToString(ed25519.Sign(priv, []byte(hash))) + ":" + print
		if set["note"] != "" {
			line += "|" + set["note"]
		}
		rewrite(ts, path, oldFile(b, head, oldComment(args[1], set["prefix"], line)+set["junk"]))
	}
}

func oldComment(kind, prefix, line string) string {
	switch {
	case kind == "directive" || kind == "knowledge":
		return "<!-- " + line + " -->"
	case prefix == "":
		prefix = "#"
	}
	return prefix + " " + line
}

// oldContent returns how many lines stand before the signature, and what it
// covers.
func oldContent(kind, text string) (head int, content string) {
	switch kind {
	case "directive":
		return 0, strings.TrimSpace(regexp.MustCompile(`(?s)<directive[^>]*>.*</directive>`).FindString(text))
	case "knowledge":
		if m := regexp.MustCompile(`(?s)^---.*?---(.*)$`).FindStringSubmatch(text); m != nil {
			return 0, strings.TrimSpace(m[1])
		}
		return 0, text
	}
	if m := regexp.MustCompile(`^#!/[^\n]*\n`).FindString(text); m != "" {
		return 1, text[len(m):]
	}
	return 0, text
}

// oldFile puts the line where it belongs, with the line end of the file.
func oldFile(b []byte, head int, line string) []byte {
	end := "\n"
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 && b[i] == '\r' {
		end = "\r"
		if bytes.HasPrefix(b[i:], []byte("\r\n")) {
			end = "\r\n"
		}
	}
	at := 0
	if head > 0 {
		at = bytes.Index(b, []byte(end)) + len(end)
	}
	return bytes.Join([][]byte{b[:at], []byte(line + end), b[at:]}, nil)
}

// cmdSameBody demands that a signed file is, without its signature line, the
// other file byte for byte.
func cmdSameBody(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "samebody SIGNED FILE")
	signed, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	want, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	sp, err := sign.SplitFile(signed, scriptStyle(ts, args[0], ""))
	ts.Check(err)
	if !sp.Signed || !bytes.Equal(sp.Body(), want) {
		ts.Fatalf("%s without its signature is %q, want %q", args[0], sp.Body(), want)
	}
}
