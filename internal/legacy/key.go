package legacy

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tomlx"
)

// Key is a public key as the earlier program knew it.
type Key struct {
	Public ed25519.PublicKey
	Prints []string // fingerprints: 16 digits, over the text of a PEM file
	Owner  string   // as its file labels it, "" for PEM; not safe to print
	Path   string   // of its file
}

// Keys are the keys that a person holds for good.
type Keys []Key

func (ks Keys) find(print string) []Key {
	var out []Key
	for _, k := range ks {
		if slices.Contains(k.Prints, print) {
			out = append(out, k)
		}
	}
	return out
}

func (k Key) label() string {
	if k.Owner == "" {
		return ""
	}
	return " of " + k.Owner
}

// ParseKey reads a public key file of either layout: a PEM file, or TOML with
// the PEM text inside, by the ending of its path.
func ParseKey(file string, b []byte) (Key, error) {
	if strings.HasSuffix(file, ".toml") {
		return parseTOML(file, b)
	}
	return parsePEM(file, b)
}

// ParseTrusted reads a file of a folder of trusted keys. There the name counted:
// TOML under another name than its fingerprint, and PEM under another one than
// that or registry.pem, were passed over.
func ParseTrusted(file string, b []byte) (Key, error) {
	k, err := ParseKey(file, b)
	if err != nil {
		return Key{}, err
	}
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	stem, ext, _ := strings.Cut(name, ".")
	if name != "registry.pem" && !slices.Contains(k.Prints, stem) {
		return Key{}, bad("%s holds the key %s: its name must be %s.%s", name, k.Prints[0], k.Prints[0], ext)
	}
	return k, nil
}

func parseTOML(file string, b []byte) (Key, error) {
	doc, fs := tomlx.Parse(b)
	if doc == nil || diag.Failed(fs) {
		return Key{}, bad("it is not TOML")
	}
	table, _ := doc.Root["public_key"].(map[string]any)
	text, _ := table["pem"].(string)
	if text == "" {
		return Key{}, bad("it has no public_key.pem")
	}
	k, err := parsePEM(file, []byte(strip(text)+"\n"))
	if err != nil {
		return Key{}, err
	}
	k.Owner, _ = doc.Root["owner"].(string)
	return k, nil
}

// parsePEM reads an Ed25519 key in its one DER form: twelve fixed bytes and the
// key. A fingerprint is over the text, so that a file whose line ends changed
// on the way has two: its own, and that of the text as it was written.
func parsePEM(file string, b []byte) (Key, error) {
	block, _ := pem.Decode(b)
	switch {
	case block == nil:
		return Key{}, bad("it holds no PEM block")
	case strings.Contains(block.Type, "PRIVATE"):
		return Key{}, bad("it holds a private key; name the file of the public one, public_key.pem")
	case block.Type != "PUBLIC KEY":
		return Key{}, bad("it holds a %s, not a public key", block.Type)
	}
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}
	if len(block.Bytes) != len(prefix)+ed25519.PublicKeySize || !bytes.HasPrefix(block.Bytes, prefix) {
		return Key{}, bad("it holds a key of another algorithm than Ed25519")
	}
	k := Key{Public: block.Bytes[len(prefix):], Path: file}
	k.Prints = []string{Print(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))}
	if own := Print(b); own != k.Prints[0] {
		k.Prints = append(k.Prints, own)
	}
	return k, nil
}

// Print returns the earlier fingerprint of a public key's PEM text.
func Print(pemText []byte) string {
	sum := sha256.Sum256(pemText)
	return hex.EncodeToString(sum[:8])
}

func bad(format string, args ...any) error {
	return diag.New(diag.ParsingError, "reading an earlier public key: "+format, args...)
}
