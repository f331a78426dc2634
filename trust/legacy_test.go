package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/sign"
)

func oldPEM(seed byte) []byte {
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return oldPEMOf(priv.Public().(ed25519.PublicKey))
}

func oldPEMOf(pub ed25519.PublicKey) []byte {
	der, _ := hex.DecodeString("302a300506032b6570032100")
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(der, pub...)})
}

func oldLine(seed byte, content string) string {
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return "# rye:signed:2026-02-14T00:27:54Z:" + hash + ":" + base64.URLEncoding.EncodeToString(ed25519.Sign(priv, []byte(hash))) + ":" + legacy.Print(oldPEM(seed)) + "\n"
}

// SIG-4: an earlier signature that is valid by its own rules is LEGACY too, and
// the verdict has the result of those rules.
func TestLegacyVerdicts(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string][]byte{
		legacy.Print(oldPEM(6)) + ".pem":  oldPEM(6),
		legacy.Print(oldPEM(7)) + ".toml": []byte("owner = \"l\\u001beo\"\n[public_key]\npem = \"\"\"\n" + string(oldPEM(7)) + "\"\"\"\n"),
		"0123456789abcdef.pem":            oldPEM(8), // under a wrong name
		legacy.Print(oldPEM(9)) + ".txt":  oldPEM(9),
		"broken.toml":                     []byte("="),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	weak := append([]byte{1}, make([]byte, 31)...)
	if err := os.WriteFile(filepath.Join(dir, legacy.Print(oldPEMOf(weak))+".pem"), oldPEMOf(weak), 0o600); err != nil {
		t.Fatal(err)
	}
	s, fs := Load(Params{LegacyDir: dir})
	if len(fs) != 0 || len(s.LegacyKeys()) != 2 {
		t.Fatalf("%d keys, %v", len(s.LegacyKeys()), fs)
	}
	for _, c := range []struct {
		name, file, earlier, reason string
		line                        int
	}{
		{"good, PEM", oldLine(6, "x\n") + "x\n", "legacy-good", " signed", 1},
		{"good, TOML", oldLine(7, "x\n") + "x\n", "legacy-good", " of l\\u{1b}eo signed", 1},
		{"good, shebang", "#!/bin/sh\n" + oldLine(6, "x\n") + "x\n", "legacy-good", "did not cover the first line, #!/bin/sh", 2},
		{"good, CRLF", strings.ReplaceAll(oldLine(6, "x\n")+"x\n", "\n", "\r\n"), "legacy-good", "signed", 1},
		{"good, lone CR behind a shebang", "#!/bin/sh\r" + strings.ReplaceAll(oldLine(6, "x\n")+"x\n", "\n", "\r"), "legacy-good", "signed", 2},
		{"altered", oldLine(6, "x\n") + "y\n", "legacy-altered", "changed", 1},
		{"the key of another", strings.Replace(oldLine(6, "x\n"), legacy.Print(oldPEM(6)), legacy.Print(oldPEM(7)), 1) + "x\n", "legacy-altered", "did not make", 1},
		{"a key under a wrong name", oldLine(8, "x\n") + "x\n", "legacy-unknown-key", "no public key", 1},
		{"a key in another file", oldLine(9, "x\n") + "x\n", "legacy-unknown-key", "no public key", 1},
		{"an older mark", "# kiwi-mcp:validated:x\nx\n", "malformed", "nothing was signed", 1},
		{"a directive's line", strings.Replace(strings.Replace(oldLine(6, "x\n"), "# ", "<!-- ", 1), "\n", " -->\n", 1) + "x\n", "malformed", "after #", 1},
	} {
		style := sign.Hash()
		v := s.Verify(Input{Path: "p.sh", Bytes: []byte(c.file), Style: style, Subject: sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "a/b"}, Text: true})
		if v.Code != diag.Legacy || v.Status != Legacy || v.OK() || v.Earlier != c.earlier || !strings.Contains(strings.Join(v.Reasons, "; "), c.reason) {
			t.Errorf("%s: %s %s %q", c.name, v.Code, v.Earlier, v.Reasons)
		}
		if len(v.Findings) != 1 || v.Findings[0].Line != c.line || v.Findings[0].Reason == "" || strings.ContainsRune(strings.Join(v.Reasons, ""), 0x1b) {
			t.Errorf("%s: %+v", c.name, v)
		}
		if (c.earlier == "legacy-altered" && strings.Contains(c.reason, "changed")) != (v.Found != "") {
			t.Errorf("%s: found %q", c.name, v.Found)
		}
	}
	style := sign.Hash()
	v := s.Verify(Input{Bytes: []byte("#!/bin/sh\rx\n"), Style: style, Subject: sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "a"}, Text: true})
	if v.Code != diag.Unsigned {
		t.Errorf("an unsigned file with a lone CR: %s", v.Code)
	}
}

// A folder of earlier keys that everybody may write holds none.
func TestLegacyKeysOfAnOpenFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, legacy.Print(oldPEM(6))+".pem"), oldPEM(6), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]int{0o755: 1, 0o777: 0} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if s, _ := Load(Params{LegacyDir: dir}); len(s.LegacyKeys()) != want {
			t.Errorf("mode %o: %d keys, want %d", mode, len(s.LegacyKeys()), want)
		}
	}
}
