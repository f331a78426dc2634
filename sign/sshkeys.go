package sign

import (
	"bytes"
	"crypto/ed25519"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ryeos/rye/diag"
)

// SSHKey is one line of a list of ssh keys, such as ~/.ssh/authorized_keys.
type SSHKey struct {
	Public  ed25519.PublicKey
	Comment string // untrusted text
}

// ReadSSHKeys returns the ssh-ed25519 keys of a list, and the types of the other keys
// in it. A key that is not safe to trust is an error.
func ReadSSHKeys(b []byte) (keys []SSHKey, others []string, err error) {
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		pub, comment, options, rest, err := ssh.ParseAuthorizedKey(line)
		if err != nil || len(options) > 0 || len(rest) > 0 {
			return nil, nil, diag.New(diag.ParsingError, "reading ssh keys: %.60q is not a line of the form: ssh-ed25519 KEY COMMENT", line)
		}
		crypto, isKey := pub.(ssh.CryptoPublicKey)
		if pub.Type() != ssh.KeyAlgoED25519 || !isKey {
			others = append(others, pub.Type())
			continue
		}
		raw, _ := crypto.CryptoPublicKey().(ed25519.PublicKey)
		if err := CheckKey(raw); err != nil {
			return nil, nil, diag.New(diag.KeyWeak, "reading ssh keys: %w", err)
		}
		keys = append(keys, SSHKey{Public: raw, Comment: comment})
	}
	return keys, others, nil
}

// SSHFingerprint returns the fingerprint in the form of ssh, SHA256:…, as ssh-keygen
// -lf and hosts print it.
func SSHFingerprint(pub ed25519.PublicKey) string {
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		return ""
	}
	return ssh.FingerprintSHA256(key)
}

// MatchFingerprint reports whether a text that a person typed is the whole
// fingerprint of a key, in hex or in the form of ssh. Spaces and colons in hex are
// ignored.
func MatchFingerprint(text string, pub ed25519.PublicKey) bool {
	if strings.HasPrefix(text, "SHA256:") {
		return strings.TrimRight(text, "=") == SSHFingerprint(pub)
	}
	return hexOnly(text) == FingerprintOf(pub).String()
}

// hexOnly removes what separates groups of digits.
func hexOnly(text string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", ":", "").Replace(text))
}

// FingerprintGroups returns a fingerprint in groups of eight digits, for comparison by
// a person.
func FingerprintGroups(fp Fingerprint) string {
	text := fp.String()
	var groups []string
	for ; len(text) > 8; text = text[8:] {
		groups = append(groups, text[:8])
	}
	return strings.Join(append(groups, text), " ")
}
