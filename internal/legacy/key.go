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

// Key is a public key of the earlier program.
type Key struct {
	Public ed25519.PublicKey
	Prints []string // fingerprints: 16 digits, over the text of a PEM file
	Owner  string   // from its file, "" for PEM; must be escaped before printing
	Path   string   // of its file
}

// Keys are the public keys that the user accepts.
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

// ParseKey parses a public key file: a PEM file, or TOML with the PEM text inside
// if the path ends in .toml.
func ParseKey(file string, b []byte) (Key, error) {
	if strings.HasSuffix(file, ".toml") {
		return parseTOML(file, b)
	}
	return parsePEM(file, b)
}

// ParseTrusted parses a file of a directory of trusted keys. The earlier program
// ignored files with another name than their fingerprint, except registry.pem.
func ParseTrusted(file string, b []byte) (Key, error) {
	k, err := ParseKey(file, b)
	if err != nil {
		return Key{}, err
	}
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	stem, ext, _ := strings.Cut(name, ".")
	if name != "registry.pem" && !slices.Contains(k.Prints, stem) {
		return Key{}, bad("%s contains the key %s: its name must be %s.%s", name, k.Prints[0], k.Prints[0], ext)
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

// parsePEM parses an Ed25519 key in its only DER form: twelve fixed bytes and the
// key. A fingerprint is over the text, so a file whose line ends were converted
// has two: its own, and the fingerprint of the original text.
func parsePEM(file string, b []byte) (Key, error) {
	block, _ := pem.Decode(b)
	switch {
	case block == nil:
		return Key{}, bad("it has no PEM block")
	case strings.Contains(block.Type, "PRIVATE"):
		return Key{}, bad("it contains a private key; the public key is in public_key.pem")
	case block.Type != "PUBLIC KEY":
		return Key{}, bad("it contains a %s, not a public key", block.Type)
	}
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}
	if len(block.Bytes) != len(prefix)+ed25519.PublicKeySize ||
		!bytes.HasPrefix(block.Bytes, prefix) {
		return Key{}, bad("its key is not an Ed25519 key")
	}
	k := Key{Public: block.Bytes[len(prefix):], Path: file}
	k.Prints = []string{Print(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))}
	if asWritten := Print(b); asWritten != k.Prints[0] {
		k.Prints = append(k.Prints, asWritten)
	}
	return k, nil
}

// Print returns the fingerprint, in the earlier form, of a public key's PEM text.
func Print(pemText []byte) string {
	sum := sha256.Sum256(pemText)
	return hex.EncodeToString(sum[:8])
}

func bad(format string, args ...any) error {
	return diag.New(diag.ParsingError, "reading an earlier public key: "+format, args...)
}
